import type { CatalogApi } from '@backstage/catalog-client';
import { parseEntityRef, stringifyEntityRef } from '@backstage/catalog-model';
import { ApiProvider, ConfigReader } from '@backstage/core-app-api';
import {
  type ApiHolder,
  type ApiRef,
  type ConfigApi,
  configApiRef,
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
 * Has all parts of a page call the organization by the name of the open tenant, and learn what the
 * user owns there, and whether the user is in its catalog. What the sign-in says of groups is of the
 * default tenant.
 */
export function TenantApis(props: { tenant: OpenTenant; children: ReactNode }) {
  const { tenant, children } = props;
  const configApi = useApi(configApiRef);
  const identityApi = useApi(identityApiRef);
  const parent = useApiHolder();
  const apis = useMemo(
    () =>
      tenant.enabled && tenant.tenant_slug !== 'default'
        ? apisIn(tenant, { configApi, identityApi, parent })
        : NOTHING,
    [tenant, configApi, identityApi, parent],
  );
  return <ApiProvider apis={apis}>{children}</ApiProvider>;
}

function apisIn(
  tenant: OpenTenant,
  options: {
    configApi: ConfigApi;
    identityApi: IdentityApi;
    parent: ApiHolder;
  },
): ApiHolder {
  const { configApi, identityApi, parent } = options;
  // An app need not have a catalog.
  const catalogApi = parent.get(catalogApiRef);
  const apis = new Map<string, unknown>([
    [configApiRef.id, configIn(tenant, configApi)],
    [identityApiRef.id, identityIn(tenant, identityApi)],
    [catalogApiRef.id, catalogApi && catalogFor(identityApi, catalogApi)],
  ]);
  return {
    get: <T,>({ id }: ApiRef<T>) => apis.get(id) as T | undefined,
  };
}

function configIn(tenant: OpenTenant, configApi: ConfigApi): ConfigApi {
  return ConfigReader.fromConfigs([
    { context: 'app', data: configApi.get() },
    {
      context: 'tenant',
      data: { organization: { name: tenant.tenant_name } },
    },
  ]);
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
