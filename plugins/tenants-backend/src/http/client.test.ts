import { mockCredentials } from '@backstage/backend-test-utils';
import type { Caller } from '@internal/catalog-testing/caller';
import { describedRoutes } from '@internal/catalog-testing/describedFetch';
import { createTestDatabases } from '@internal/postgres/testUtils';
import type { TenantsApi } from 'backstage-plugin-tenants-common';
import type { Test } from 'supertest';
import {
  ADMIN,
  engines,
  startTenantsBackend,
  type TenantsBackend,
} from '../__testUtils__/startTenantsBackend';
import { TenancyDatabase } from '../__testUtils__/TenancyDatabase';
import { createOpenApiDocument } from '../openapi/createOpenApiDocument';

const databases = createTestDatabases({ versions: 'newest' });

describe.each(databases.eachSupportedId().slice(-1))(
  'the HTTP interface of tenants, and its client, on %s',
  id => {
    let database: TenancyDatabase;
    let client: TenantsApi;
    let backend: TenantsBackend;

    beforeAll(async () => {
      database = await TenancyDatabase.create(databases, id);
      backend = await startTenantsBackend({
        pool: database.createPool(),
        config: { tenancy: { enabled: true, admins: [ADMIN] } },
        features: [
          engines({
            reports: async ids =>
              new Map(ids.map(each => [each, { state: 'running', faults: 0 }])),
            countSourceErrors: async ids => new Map(ids.map(each => [each, 2])),
          }),
        ],
      });
      ({ client } = backend);
    });
    afterAll(() => database.close());
    beforeEach(() => database.empty());

    const asAdmin = { token: mockCredentials.user.token(ADMIN) };

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

    const routes = describedRoutes(createOpenApiDocument());

    /** The statuses of routes, of which all names are `acme`. */
    async function statusesOf(
      sent: string[],
      send: (test: Test) => Test,
    ): Promise<number[]> {
      const statuses = new Set<number>();
      for (const route of sent) {
        const [method, path] = route.split(' ');
        const call = backend.admin[method as keyof Caller];
        const { status } = await send(
          call(path.replace(/\{\w+\}/g, 'acme')).type('json'),
        );
        statuses.add(status);
      }
      return [...statuses];
    }

    it.each([
      ['"1"', 412],
      ['1', 400],
    ])('answers a write with If-Match: %s with %d', async (tag, expected) => {
      await database.fill();
      await expect(
        statusesOf(
          routes.filter(route => !route.startsWith('get ')),
          test => test.set('If-Match', tag).send('{}'),
        ),
      ).resolves.toEqual([expected]);
    });

    it.each(['', 'null', '[]', '"x"', '{"x":1}', '{'])(
      'answers the body %j with 400 wherever it is read',
      async body => {
        const { paths } = createOpenApiDocument() as any;
        await expect(
          statusesOf(
            routes.filter(route => {
              const [method, path] = route.split(' ');
              return paths[path][method].requestBody;
            }),
            test => test.send(body),
          ),
        ).resolves.toEqual([400]);
      },
    );

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
  },
);
