import type { Membership, TenantsApi } from 'backstage-plugin-tenants-common';

/** The most that the backend gives at once. */
const MOST = 500;

/** The tenants that the user may enter, all that were read so far after each page. */
export async function* ownTenants(tenantsApi: TenantsApi) {
  let tenants: Membership[] = [];
  for (;;) {
    const { items, totalItems } = await tenantsApi.listOwnTenants({
      limit: MOST,
      offset: tenants.length,
    });
    tenants = [...tenants, ...items];
    yield { tenants, totalItems };
    if (items.length === 0 || tenants.length >= totalItems) {
      return;
    }
  }
}
