import { useContent } from '@backstage/core-components';
import { Main } from '@internal/pages';
import { Route, Routes } from 'react-router-dom';
import { TenantList } from './list/TenantList';
import { TenantPage } from './tenant/TenantPage';

/** The administration: the list of tenants, and a page for each. */
export function TenantsPage() {
  const { contentRef } = useContent();
  return (
    <Main ref={contentRef}>
      <Routes>
        <Route path="/" element={<TenantList />} />
        <Route path="/:slug/*" element={<TenantPage />} />
      </Routes>
    </Main>
  );
}
