import { useApi, useTranslationRef } from '@backstage/frontend-plugin-api';
import { useEntity } from '@backstage/plugin-catalog-react';
import { Flex } from '@backstage/ui';
import { Alert, EmptyState, Loaded, useRead } from '@internal/pages';
import { mockupApiRef } from '../api';
import { LayoutThumbnail } from '../components/LayoutThumbnail';
import { MockupCard, MockupCards } from '../components/MockupCard';
import { mockupTranslationRef } from '../translation';
import { mockupIdsOf, MOCKUPS_ANNOTATION } from './annotation';

/** Each is a request. */
const MOST = 24;

/** The mockups that the entity of the page names. */
export function EntityMockups() {
  const { t } = useTranslationRef(mockupTranslationRef);
  const { entity } = useEntity();
  const ids = mockupIdsOf(entity);
  if (ids.length === 0) {
    return (
      <EmptyState text={t('entity.none', { annotation: MOCKUPS_ANNOTATION })} />
    );
  }
  return (
    <Flex direction="column" gap="4">
      {ids.length > MOST && (
        <Alert
          status="info"
          icon
          description={t('entity.more', {
            named: String(ids.length),
            shown: String(MOST),
          })}
        />
      )}
      <MockupCards label={t('entity.title')}>
        {ids.slice(0, MOST).map(id => (
          <NamedMockup key={id} id={id} />
        ))}
      </MockupCards>
    </Flex>
  );
}

function NamedMockup({ id }: { id: string }) {
  const { t } = useTranslationRef(mockupTranslationRef);
  const mockupApi = useApi(mockupApiRef);
  const found = useRead(
    async () => (await mockupApi.getMockup(id))?.mockup ?? null,
    [mockupApi, id],
  );
  if (found.value) {
    return (
      <MockupCard
        mockup={found.value}
        thumbnail={
          <LayoutThumbnail
            items={found.value.latestVersion?.layoutData ?? []}
          />
        }
      />
    );
  }
  return (
    <li>
      <Loaded state={found} failed={t('entity.failed', { id })}>
        {() => (
          <Alert
            status="warning"
            icon
            description={t('entity.missing', { id })}
          />
        )}
      </Loaded>
    </li>
  );
}
