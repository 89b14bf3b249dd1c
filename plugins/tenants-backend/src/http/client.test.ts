import { mockCredentials } from '@backstage/backend-test-utils';
import { createTestDatabases } from '@internal/postgres/testUtils';
import type { TenantsApi } from 'backstage-plugin-tenants-common';
import {
  ADMIN,
  engines,
  startTenantsBackend,
} from '../__testUtils__/startTenantsBackend';
import { TenancyDatabase } from '../__testUtils__/TenancyDatabase';

const databases = createTestDatabases({ versions: 'newest' });

const JANE = 'user:default/jane';

describe.each(databases.eachSupportedId().slice(-1))(
  'the client of tenants on %s',
  id => {
    let database: TenancyDatabase;
    let client: TenantsApi;

    beforeAll(async () => {
      database = await TenancyDatabase.create(databases, id);
      ({ client } = await startTenantsBackend({
        pool: database.createPool(),
        config: { tenancy: { enabled: true, admins: [ADMIN] } },
        features: [
          engines({
            reports: async ids =>
              new Map(ids.map(each => [each, { state: 'running', faults: 0 }])),
            countSourceErrors: async ids => new Map(ids.map(each => [each, 2])),
          }),
        ],
      }));
    });
    afterAll(() => database.close());
    beforeEach(() => database.empty());

    const asAdmin = { token: mockCredentials.user.token(ADMIN) };
    const asJane = { token: mockCredentials.user.token(JANE) };

    it('takes a tenant through its life', async () => {
      const { engine_state, ...created } = await client.createTenant(
        { tenant_slug: 'acme', tenant_name: 'Acme' },
        asAdmin,
      );
      expect(engine_state).toBe('starting');
      await expect(client.getTenant('acme', asAdmin)).resolves.toEqual(created);
      await expect(client.getTenant('none', asAdmin)).resolves.toBeUndefined();
      await expect(
        client.updateTenant('acme', { tenant_name: 'New' }, asAdmin),
      ).resolves.toMatchObject({ tenant_name: 'New' });
      await expect(
        client.getTenantUsage('acme', asAdmin),
      ).resolves.toMatchObject({ live_entities: 0 });
      await expect(
        client.listTenantSummaries({ search: 'acme' }, asAdmin),
      ).resolves.toMatchObject({
        items: [
          {
            tenant_slug: 'acme',
            state: 'running',
            source_error_count: 2,
            entities: 0,
          },
        ],
        totalItems: 1,
      });
      await client.deleteTenant('acme', asAdmin);
      await expect(
        client.listTenants({ deleted: true, limit: 1, search: 'ACM' }, asAdmin),
      ).resolves.toMatchObject({
        items: [{ tenant_slug: 'acme' }],
        totalItems: 1,
      });
      await expect(
        client.restoreTenant('acme', asAdmin),
      ).resolves.toMatchObject({ deleted_at: null });
    });

    it('configures the engine of a tenant, and pauses it', async () => {
      await client.createTenant(
        { tenant_slug: 'acme', tenant_name: 'Acme' },
        asAdmin,
      );
      const config = await client.putCatalogConfig(
        'acme',
        { catalog: { rules: [] } },
        asAdmin,
      );
      expect(config.catalog).toEqual({ rules: [] });
      await expect(client.getCatalogConfig('acme', asAdmin)).resolves.toEqual(
        config,
      );
      const ifMatch = config.etag;
      await client.putCatalogConfig('acme', {}, { ...asAdmin, ifMatch });
      await expect(
        client.putCatalogConfig('acme', {}, { ...asAdmin, ifMatch }),
      ).rejects.toMatchObject({ name: 'ResponseError', statusCode: 412 });
      await client.pauseEngine('acme', asAdmin);
      await expect(
        client.getTenantStatus('acme', asAdmin),
      ).resolves.toMatchObject({
        state: 'paused',
        paused_by: ADMIN,
        entities: 0,
      });
      await client.resumeEngine('acme', asAdmin);
      await expect(
        client.getTenantStatus('acme', asAdmin),
      ).resolves.toMatchObject({ state: 'running' });
    });

    it('lets a member in, and out', async () => {
      await client.createTenant(
        { tenant_slug: 'acme', tenant_name: 'Acme' },
        asAdmin,
      );
      const member = await client.putMember(
        'acme',
        JANE,
        { role: 'admin' },
        asAdmin,
      );
      await expect(client.getMember('acme', JANE, asJane)).resolves.toEqual(
        member,
      );
      await expect(client.listMembers('acme', {}, asJane)).resolves.toEqual({
        items: [member],
        totalItems: 1,
      });
      await expect(client.listOwnTenants({}, asJane)).resolves.toMatchObject({
        items: [{ tenant_slug: 'acme', role: 'admin' }, {}],
        totalItems: 2,
      });
      await client.removeMember('acme', JANE, asAdmin);
      await expect(
        client.getMember('acme', JANE, asAdmin),
      ).resolves.toBeUndefined();
      await expect(
        client.listMembers('acme', {}, asJane),
      ).rejects.toMatchObject({ name: 'ResponseError', statusCode: 403 });
    });
  },
);
