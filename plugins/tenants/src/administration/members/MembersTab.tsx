import { ErrorPanel, Progress } from '@backstage/core-components';
import { useApi } from '@backstage/frontend-plugin-api';
import useAsync from 'react-use/esm/useAsync';
import { tenantsApiRef } from '../../api';

/** Who may enter a tenant. */
export function MembersTab({ slug }: { slug: string }) {
  const tenantsApi = useApi(tenantsApiRef);
  const { value, error, loading } = useAsync(
    () => tenantsApi.listMembers(slug),
    [tenantsApi, slug],
  );
  if (loading) {
    return <Progress />;
  }
  return error ? (
    <ErrorPanel error={error} />
  ) : (
    <ul>
      {value?.items.map(({ principal }) => (
        <li key={principal}>{principal}</li>
      ))}
    </ul>
  );
}
