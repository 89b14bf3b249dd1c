import { useApi } from '@backstage/frontend-plugin-api';
import {
  Content,
  ErrorPanel,
  Header,
  Link,
  Page,
  Progress,
} from '@backstage/core-components';
import { useTranslationRef } from '@backstage/frontend-plugin-api';
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
    <Page themeId="tool">
      <Header title={t('list.title')} />
      <Content>
        {loading && <Progress />}
        {error && <ErrorPanel error={error} />}
        <ul>
          {value?.items.map(tenant => (
            <li key={tenant.tenant_slug}>
              <Link to={tenant.tenant_slug}>{tenant.tenant_name}</Link>
            </li>
          ))}
        </ul>
      </Content>
    </Page>
  );
}
