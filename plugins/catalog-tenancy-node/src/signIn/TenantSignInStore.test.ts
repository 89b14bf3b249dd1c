import { createTestDatabases } from '@internal/postgres/testUtils';
import { Registry } from '../tenants/__testUtils__/registry';
import { TenantSignInStore } from './TenantSignInStore';

const databases = createTestDatabases({ versions: 'newest' });

describe.each(databases.eachSupportedId())('sign-ins on %s', id => {
  it('are none of the namespace of other users, however they have come to be there', async () => {
    const registry = await Registry.create(databases, id);
    const { admin, database } = registry;
    try {
      await registry.createTenant('acme');
      await registry.createTenant('development');
      const provider = {
        issuer: 'https://id.example.com',
        client_id: 'portal',
        client_secret: '${SIGN_IN}',
      };
      // As an import of a tenant does.
      await database.client.query(
        `insert into tenancy.tenant_sign_in (tenant_id, provider, updated_by)
         select tenant_id, $1, 'x' from tenancy.tenants`,
        [provider],
      );
      const store = new TenantSignInStore({ admin, pool: database.pool });
      expect((await store.find('acme'))?.provider).toEqual(provider);
      expect(await store.find('development')).toBeUndefined();
    } finally {
      await database.close();
    }
  });
});
