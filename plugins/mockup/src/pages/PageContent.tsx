import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { ButtonLink, Container, Flex, Text } from '@backstage/ui';
import { Moment, PageHeader, TextLink } from '@internal/pages';
import type {
  PagePublication,
  PublishedPageWithLayout,
} from 'backstage-plugin-mockup-common';
import { type ReactNode, useMemo, useRef } from 'react';
import { useParams, useSearchParams } from 'react-router-dom';
import { fillIn } from '../components/live/parameters';
import { LayoutView } from '../components/LayoutView';
import { Person } from '../components/Person';
import { PngButton } from '../components/PngButton';
import { usePaths } from '../routes';
import { mockupTranslationRef } from '../translation';
import { Audience } from './Audience';

/** A page of the portal, as its readers see it. */
export function PageContent({ page }: { page: PublishedPageWithLayout }) {
  const { title, layoutData, publication } = page;
  const { t } = useTranslationRef(mockupTranslationRef);
  const parameters = useParameters();
  const items = useMemo(
    () => fillIn(layoutData, parameters),
    [layoutData, parameters],
  );
  const drawing = useRef<HTMLDivElement>(null);
  const png = layoutData.length > 0 && <PngButton of={drawing} name={title} />;
  return (
    <>
      {publication ? (
        <HeaderOfPublisher title={title} publication={publication}>
          {png}
        </HeaderOfPublisher>
      ) : (
        <PageHeader title={title} customActions={png} />
      )}
      <Container>
        {layoutData.length > 0 ? (
          <div ref={drawing}>
            <LayoutView items={items} isStacked />
          </div>
        ) : (
          <Text as="p" color="secondary">
            {t('pages.empty')}
          </Text>
        )}
      </Container>
    </>
  );
}

/** What the address says: `?name=value`, and an entity as `/kind/namespace/name`. */
function useParameters(): URLSearchParams {
  const [search] = useSearchParams();
  const { kind, namespace, name } = useParams();
  return useMemo(() => {
    const parameters = new URLSearchParams(search);
    if (kind && namespace && name) {
      parameters.set('entity', `${kind}:${namespace}/${name}`);
    }
    return parameters;
  }, [search, kind, namespace, name]);
}

/** Says where the page comes from to those who may change that. */
function HeaderOfPublisher(props: {
  title: string;
  publication: PagePublication;
  /** More buttons. */
  children: ReactNode;
}) {
  const { title, publication, children } = props;
  const { mockupId, versionId, versionTag, audience } = publication;
  const { t } = useTranslationRef(mockupTranslationRef);
  const paths = usePaths();
  return (
    <PageHeader
      title={title}
      metadata={[
        {
          label: t('pages.by'),
          value: <Person entityRef={publication.publishedBy} />,
        },
        {
          label: t('pages.at'),
          value: <Moment at={publication.publishedAt} />,
        },
        { label: t('pages.for'), value: <Audience of={audience} /> },
        {
          label: t('pages.from'),
          value: (
            <TextLink href={paths.version(mockupId, versionId)}>
              {versionTag?.trim() || t('history.look')}
            </TextLink>
          ),
        },
      ]}
      customActions={
        <Flex gap="2" style={{ flexWrap: 'wrap' }}>
          {children}
          <ButtonLink variant="secondary" href={paths.versions(mockupId)}>
            {t('pages.edit')}
          </ButtonLink>
        </Flex>
      }
    />
  );
}
