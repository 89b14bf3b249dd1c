import {
  useApi,
  useRouteRef,
  useTranslationRef,
} from '@backstage/frontend-plugin-api';
import { ButtonLink, Container, Link, Text } from '@backstage/ui';
import {
  Alert,
  EmptyState,
  Failure,
  Loading,
  PageHeader,
} from '@internal/pages';
import { Route, Routes, useParams } from 'react-router-dom';
import useAsyncRetry from 'react-use/esm/useAsyncRetry';
import { mockupApiRef } from '../api';
import { pageRouteRef, pagesRouteRef, rootRouteRef } from '../routes';
import { mockupTranslationRef } from '../translation';
import { ReviewSetting } from '../review/ReviewSetting';
import { PageContent } from './PageContent';
import styles from './pages.module.css';

/** The published pages that there are for the user, and each of them. */
export function PagesPage() {
  return (
    <Routes>
      <Route path="/" element={<PageList />} />
      <Route path="/:path" element={<PublishedPage />} />
      <Route path="/:path/:kind/:namespace/:name" element={<PublishedPage />} />
    </Routes>
  );
}

function PageList() {
  const { t } = useTranslationRef(mockupTranslationRef);
  const api = useApi(mockupApiRef);
  const toPage = useRouteRef(pageRouteRef);
  const mockupsHref = useRouteRef(rootRouteRef)?.() ?? '';
  const {
    value: pages,
    error,
    loading,
    retry,
  } = useAsyncRetry(() => api.listPages(), [api]);
  return (
    <>
      <PageHeader title={t('pages.title')} />
      <Container>
        {loading && <Loading />}
        {error && !loading && (
          <Failure
            title={t('pages.listFailed')}
            error={error}
            onRetry={retry}
          />
        )}
        {pages?.length === 0 && (
          <EmptyState
            text={t('pages.none')}
            action={
              <ButtonLink href={mockupsHref}>{t('pages.toMockups')}</ButtonLink>
            }
          />
        )}
        {pages && pages.length > 0 && (
          <ul className={styles.list} aria-label={t('pages.title')}>
            {pages.map(({ path, title }) => (
              <li key={path}>
                <Link href={toPage?.({ path }) ?? ''} weight="bold">
                  {title}
                </Link>
                <Text as="p" variant="body-small" color="secondary">
                  {toPage?.({ path })}
                </Text>
              </li>
            ))}
          </ul>
        )}
        <ReviewSetting />
      </Container>
    </>
  );
}

function PublishedPage() {
  const { path = '' } = useParams();
  const { t } = useTranslationRef(mockupTranslationRef);
  const api = useApi(mockupApiRef);
  const listHref = useRouteRef(pagesRouteRef)?.() ?? '';
  const {
    value: page,
    error,
    loading,
    retry,
  } = useAsyncRetry(() => api.getPage(path), [api, path]);
  if (page && !loading && !error) {
    return <PageContent key={path} page={page} />;
  }
  return (
    <>
      <PageHeader title={t('pages.title')} isLoading={loading} />
      <Container>
        {loading && <Loading />}
        {error && !loading && (
          <Failure title={t('pages.failed')} error={error} onRetry={retry} />
        )}
        {!error && !loading && (
          <Alert
            role="alert"
            status="warning"
            icon
            title={t('pages.missing')}
            customActions={
              <ButtonLink size="small" href={listHref}>
                {t('pages.toList')}
              </ButtonLink>
            }
          />
        )}
      </Container>
    </>
  );
}
