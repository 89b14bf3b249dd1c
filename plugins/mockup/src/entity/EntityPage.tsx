import { stringifyEntityRef } from '@backstage/catalog-model';
import { useApi, useTranslationRef } from '@backstage/frontend-plugin-api';
import { useEntity } from '@backstage/plugin-catalog-react';
import { EmptyState, Loaded, useRead } from '@internal/pages';
import { useMemo } from 'react';
import { mockupApiRef } from '../api';
import { fillIn } from '../components/live/parameters';
import { LayoutView } from '../components/LayoutView';
import { mockupTranslationRef } from '../translation';

/** The published page of the kind of the entity, filled in with the entity. */
export function EntityPage() {
  const { t } = useTranslationRef(mockupTranslationRef);
  const mockupApi = useApi(mockupApiRef);
  const { entity } = useEntity();
  const path = entity.kind.toLocaleLowerCase('en-US');
  const ref = stringifyEntityRef(entity);
  const found = useRead(
    async () => (await mockupApi.getPage(path)) ?? null,
    [mockupApi, path],
  );
  const page = found.value;
  const items = useMemo(
    () => fillIn(page?.layoutData ?? [], new URLSearchParams({ entity: ref })),
    [page, ref],
  );
  return (
    <Loaded state={found} failed={t('pages.failed')}>
      {there =>
        there ? (
          <LayoutView items={items} isStacked />
        ) : (
          <EmptyState text={t('entity.noPage', { path })} />
        )
      }
    </Loaded>
  );
}
