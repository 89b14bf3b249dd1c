import { ErrorPanel, Progress } from '@backstage/core-components';
import { useApi } from '@backstage/frontend-plugin-api';
import useAsync from 'react-use/esm/useAsync';
import { tenantsApiRef } from '../../api';

/** What a tenant is, and what its engine does. */
export function OverviewTab({ slug }: { slug: string }) {
  const tenantsApi = useApi(tenantsApiRef);
  const { value, error, loading } = useAsync(
    () => tenantsApi.getTenant(slug),
    [tenantsApi, slug],
  );
  if (loading) {
    return <Progress />;
  }
  return error ? <ErrorPanel error={error} /> : <>{value?.tenant_name}</>;
}
