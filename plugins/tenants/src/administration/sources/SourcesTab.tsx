import { ErrorPanel, Progress } from '@backstage/core-components';
import { useApi } from '@backstage/frontend-plugin-api';
import useAsync from 'react-use/esm/useAsync';
import { tenantsApiRef } from '../../api';

/** What feeds a tenant's catalog. */
export function SourcesTab({ slug }: { slug: string }) {
  const tenantsApi = useApi(tenantsApiRef);
  const { value, error, loading } = useAsync(
    () => tenantsApi.getCatalogConfig(slug),
    [tenantsApi, slug],
  );
  if (loading) {
    return <Progress />;
  }
  return error ? (
    <ErrorPanel error={error} />
  ) : (
    <pre>{JSON.stringify(value?.catalog, null, 2)}</pre>
  );
}
