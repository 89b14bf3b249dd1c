import type { CatalogApi } from '@backstage/catalog-client';
import { parseEntityRef, stringifyEntityRef } from '@backstage/catalog-model';
import { ApiProvider } from '@backstage/core-app-api';
import {
  type ApiHolder,
  type ApiRef,
  type IdentityApi,
  identityApiRef,
  useApi,
  useApiHolder,
} from '@backstage/frontend-plugin-api';
import { catalogApiRef } from '@backstage/plugin-catalog-react';
import type { OpenTenant } from 'backstage-plugin-tenants-common';
import { type ReactNode, useMemo } from 'react';

const NOTHING: ApiHolder = { get: () => undefined };

/**
 * Has all parts of a page learn what the user owns in the open tenant, and whether the user is in
 * its catalog. What the sign-in says of groups is of the default tenant.
 */
export function TenantIdentity(props: {
  tenant: OpenTenant;
  children: ReactNode;
}) {
  const { tenant, children } = props;
  const identityApi = useApi(identityApiRef);
  const parent = useApiHolder();
  const apis = useMemo(
    () =>
      tenant.enabled && tenant.tenant_slug !== 'default'
        ? apisIn(tenant, { identityApi, parent })
        : NOTHING,
    [tenant, identityApi, parent],
  );
  return <ApiProvider apis={apis}>{children}</ApiProvider>;
}

function apisIn(
  tenant: OpenTenant,
  options: { identityApi: IdentityApi; parent: ApiHolder },
): ApiHolder {
  const { identityApi, parent } = options;
  const ofTenant = identityIn(tenant, identityApi);
  // An app need not have a catalog.
  const catalogApi = parent.get(catalogApiRef);
  const catalog = catalogApi && catalogFor(identityApi, catalogApi);
  return {
    get: <T,>({ id }: ApiRef<T>) => {
      switch (id) {
        case identityApiRef.id:
          return ofTenant as T;
        case catalogApiRef.id:
          return catalog as T | undefined;
        default:
          return undefined;
      }
    },
  };
}

function identityIn(tenant: OpenTenant, identityApi: IdentityApi): IdentityApi {
  return replaced(identityApi, {
    getBackstageIdentity: async () => ({
      ...(await identityApi.getBackstageIdentity()),
      // A page may remember a tenant from before there was this.
      ownershipEntityRefs: tenant.ownership_entity_refs ?? [],
    }),
  });
}

/**
 * Backstage asks for the user's own entity on each page. An administrator of all tenants is in the
 * catalog of none, and a new member not at once: asked for in this way, that is no error.
 */
function catalogFor(
  identityApi: IdentityApi,
  catalogApi: CatalogApi,
): CatalogApi {
  return replaced(catalogApi, {
    async getEntityByRef(ref, options) {
      const entityRef = stringifyEntityRef(
        typeof ref === 'string' ? parseEntityRef(ref) : ref,
      );
      const { userEntityRef } = await identityApi.getBackstageIdentity();
      if (entityRef !== userEntityRef.toLocaleLowerCase('en-US')) {
        return catalogApi.getEntityByRef(ref, options);
      }
      const { items } = await catalogApi.getEntitiesByRefs(
        { entityRefs: [entityRef] },
        options,
      );
      return items[0];
    },
  });
}

/** An API with other methods in place of some. */
function replaced<T extends object>(api: T, methods: Partial<T>): T {
  return new Proxy(api, {
    get(target, key) {
      const value = Reflect.get(key in methods ? methods : target, key);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
