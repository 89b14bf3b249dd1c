import { ApiProvider, ConfigReader } from '@backstage/core-app-api';
import {
  type ApiHolder,
  type ApiRef,
  type ConfigApi,
  configApiRef,
  useApi,
} from '@backstage/frontend-plugin-api';
import type { OpenTenant } from 'backstage-plugin-tenants-common';
import { type ReactNode, useMemo } from 'react';

/** Has all parts of a page call the organization by the name of the open tenant. */
export function TenantOrganization(props: {
  tenant: OpenTenant;
  children: ReactNode;
}) {
  const { tenant, children } = props;
  const configApi = useApi(configApiRef);
  const apis = useMemo<ApiHolder>(() => {
    const ofTenant = configIn(tenant, configApi);
    return {
      get: <T,>({ id }: ApiRef<T>) =>
        id === configApiRef.id ? (ofTenant as T) : undefined,
    };
  }, [tenant, configApi]);
  return <ApiProvider apis={apis}>{children}</ApiProvider>;
}

function configIn(tenant: OpenTenant, configApi: ConfigApi): ConfigApi {
  if (!tenant.enabled || tenant.tenant_slug === 'default') {
    return configApi;
  }
  return ConfigReader.fromConfigs([
    { context: 'app', data: configApi.get() },
    {
      context: 'tenant',
      data: { organization: { name: tenant.tenant_name } },
    },
  ]);
}
