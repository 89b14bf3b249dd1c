import { ApiProvider } from '@backstage/core-app-api';
import {
  type ApiHolder,
  type ApiRef,
  type IdentityApi,
  identityApiRef,
  useApi,
} from '@backstage/frontend-plugin-api';
import type { OpenTenant } from 'backstage-plugin-tenants-common';
import { type ReactNode, useMemo } from 'react';

/**
 * Has all parts of a page learn what the user owns in the open tenant. What the sign-in says of
 * groups is of the default tenant.
 */
export function TenantIdentity(props: {
  tenant: OpenTenant;
  children: ReactNode;
}) {
  const { tenant, children } = props;
  const identityApi = useApi(identityApiRef);
  const apis = useMemo<ApiHolder>(() => {
    const ofTenant = identityIn(tenant, identityApi);
    return {
      get: <T,>({ id }: ApiRef<T>) =>
        id === identityApiRef.id ? (ofTenant as T) : undefined,
    };
  }, [tenant, identityApi]);
  return <ApiProvider apis={apis}>{children}</ApiProvider>;
}

function identityIn(tenant: OpenTenant, identityApi: IdentityApi): IdentityApi {
  if (!tenant.enabled || tenant.tenant_slug === 'default') {
    return identityApi;
  }
  return new Proxy(identityApi, {
    get(target, key) {
      if (key === 'getBackstageIdentity') {
        return async () => ({
          ...(await target.getBackstageIdentity()),
          // A page may remember a tenant from before there was this.
          ownershipEntityRefs: tenant.ownership_entity_refs ?? [],
        });
      }
      const value = Reflect.get(target, key);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
