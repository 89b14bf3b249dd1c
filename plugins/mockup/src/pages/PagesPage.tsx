import { useContent } from '@backstage/core-components';
import {
  NotFoundErrorPage,
  useApi,
  useTranslationRef,
} from '@backstage/frontend-plugin-api';
import { ButtonLink, Container, Link, Text } from '@backstage/ui';
import {
  EmptyState,
  Loaded,
  Main,
  PageHeader,
  UnreadPage,
  useRead,
} from '@internal/pages';
import { Route, Routes, useParams } from 'react-router-dom';
import { mockupApiRef } from '../api';
import { usePaths } from '../routes';
import { mockupTranslationRef } from '../translation';
import { ReviewSetting } from '../review/ReviewSetting';
import { PageContent } from './PageContent';
import styles from './pages.module.css';

/** The published pages that there are for the user, and each of them. */
export function PagesPage() {
  const { contentRef } = useContent();
  return (
    <Main ref={contentRef}>
      <Routes>
        <Route path="/" element={<PageList />} />
        <Route path="/:path" element={<PublishedPage />} />
        <Route
          path="/:path/:kind/:namespace/:name"
          element={<PublishedPage />}
        />
        <Route path="*" element={<NotFoundErrorPage />} />
      </Routes>
    </Main>
  );
}

function PageList() {
  const { t } = useTranslationRef(mockupTranslationRef);
  const api = useApi(mockupApiRef);
  const paths = usePaths();
  const read = useRead(() => api.listPages(), [api]);
  return (
    <>
      <PageHeader title={t('pages.title')} />
      <Container>
        <Loaded state={read} failed={t('pages.listFailed')}>
          {pages =>
            pages.length > 0 ? (
              <ul className={styles.list} aria-label={t('pages.title')}>
                {pages.map(({ path, title }) => (
                  <li key={path}>
                    <Link href={paths.page(path)} weight="bold">
                      {title}
                    </Link>
                    <Text as="p" variant="body-small" color="secondary">
                      {paths.page(path)}
                    </Text>
                  </li>
                ))}
              </ul>
            ) : (
              <EmptyState
                text={t('pages.none')}
                action={
                  <ButtonLink href={paths.list}>
                    {t('pages.toMockups')}
                  </ButtonLink>
                }
              />
            )
          }
        </Loaded>
        <ReviewSetting />
      </Container>
    </>
  );
}

function PublishedPage() {
  const { path = '' } = useParams();
  const { t } = useTranslationRef(mockupTranslationRef);
  const api = useApi(mockupApiRef);
  const paths = usePaths();
  const read = useRead(() => api.getPage(path), [api, path]);
  if (read.value && !read.loading && !read.error) {
    return <PageContent key={path} page={read.value} />;
  }
  return (
    <UnreadPage
      title={t('pages.title')}
      state={read}
      failed={t('pages.failed')}
      missing={{
        title: t('pages.missing'),
        href: paths.pages,
        link: t('pages.toList'),
      }}
    />
  );
}
