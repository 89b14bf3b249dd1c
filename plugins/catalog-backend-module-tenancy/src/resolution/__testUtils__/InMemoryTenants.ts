import {
  type ActiveTenant,
  DEFAULT_TENANT_ID,
  type TenantDirectory,
} from 'backstage-plugin-catalog-tenancy-node';

export const TENANT_IDS: Record<string, string> = {
  default: DEFAULT_TENANT_ID,
  acme: '00000000-0000-4000-8000-00000000000a',
  globex: '00000000-0000-4000-8000-00000000000b',
  initech: '00000000-0000-4000-8000-00000000000c',
};

/** A directory of these tenants, which remembers what it was asked for. */
export class InMemoryTenants implements TenantDirectory {
  lookups: string[] = [];
  failure: Error | undefined;

  async findActive(tenantSlug: string): Promise<ActiveTenant | undefined> {
    this.lookups.push(tenantSlug);
    if (this.failure) {
      throw this.failure;
    }
    const tenantId = TENANT_IDS[tenantSlug];
    return tenantId === undefined ? undefined : { tenantId, tenantSlug };
  }

  // There is nothing to forget.
  forget(): void {}
}
