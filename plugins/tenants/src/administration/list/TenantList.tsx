import { ErrorPanel, Progress } from '@backstage/core-components';
import { useApi, useTranslationRef } from '@backstage/frontend-plugin-api';
import { Container, Header, Link } from '@backstage/ui';
import useAsync from 'react-use/esm/useAsync';
import { tenantsApiRef } from '../../api';
import { tenantsTranslationRef } from '../../translation';

/** All tenants of the portal. */
export function TenantList() {
  const tenantsApi = useApi(tenantsApiRef);
  const { t } = useTranslationRef(tenantsTranslationRef);
  const { value, error, loading } = useAsync(
    () => tenantsApi.listTenants(),
    [tenantsApi],
  );
  return (
    <>
      <Header title={t('list.title')} />
      <Container>
        {loading && <Progress />}
        {error && <ErrorPanel error={error} />}
        <ul>
          {value?.items.map(tenant => (
            <li key={tenant.tenant_slug}>
              <Link href={tenant.tenant_slug}>{tenant.tenant_name}</Link>
            </li>
          ))}
        </ul>
      </Container>
    </>
  );
}
