import type { JsonObject } from '@backstage/types';
import type { TenantEngineRecord } from 'backstage-plugin-catalog-tenancy-node';

/** The configuration of a tenant's engine in the registry, as JSON. */
export const fingerprintOf = fingerprint(config => config ?? null);

/** What the instances of plugins have of it: a new source of the catalog changes none of them. */
export const instanceFingerprintOf = fingerprint(
  ({ integrations, plugins } = {}) => [integrations, plugins],
);

/**
 * The engines and each plugin with instances compare those of all tenants after each change, of
 * one list that they share.
 */
function fingerprint(partOf: (config?: JsonObject) => unknown) {
  const known = new WeakMap<JsonObject, string>();
  return ({ catalogConfig }: TenantEngineRecord): string => {
    const found = catalogConfig && known.get(catalogConfig);
    const text = found ?? JSON.stringify(partOf(catalogConfig));
    if (catalogConfig) {
      known.set(catalogConfig, text);
    }
    return text;
  };
}
