import type { JsonObject } from '@backstage/types';
import type { TenantEngineRecord } from 'backstage-plugin-catalog-tenancy-node';

const known = new WeakMap<JsonObject, string>();

/**
 * The configuration of a tenant's engine in the registry, as JSON. The engines and each plugin
 * with instances compare those of all tenants after each change, of one list that they share.
 */
export function fingerprintOf({ catalogConfig }: TenantEngineRecord): string {
  if (!catalogConfig) {
    return 'null';
  }
  const fingerprint = known.get(catalogConfig) ?? JSON.stringify(catalogConfig);
  known.set(catalogConfig, fingerprint);
  return fingerprint;
}
