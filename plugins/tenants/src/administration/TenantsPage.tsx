import { Route, Routes } from 'react-router-dom';
import { TenantList } from './list/TenantList';
import { TenantPage } from './tenant/TenantPage';

/** The administration: the list of tenants, and a page for each. */
export function TenantsPage() {
  return (
    <Routes>
      <Route path="/" element={<TenantList />} />
      <Route path="/:slug/*" element={<TenantPage />} />
    </Routes>
  );
}
