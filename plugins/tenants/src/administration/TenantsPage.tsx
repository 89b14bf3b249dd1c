import { useContent } from '@backstage/core-components';
import { Route, Routes } from 'react-router-dom';
import { TenantList } from './list/TenantList';
import { TenantPage } from './tenant/TenantPage';

/** The administration: the list of tenants, and a page for each. */
export function TenantsPage() {
  const { contentRef } = useContent();
  return (
    <main ref={contentRef} tabIndex={-1}>
      <Routes>
        <Route path="/" element={<TenantList />} />
        <Route path="/:slug/*" element={<TenantPage />} />
      </Routes>
    </main>
  );
}
