import {
  coreServices,
  createServiceFactory,
} from '@backstage/backend-plugin-api';
import { mockCredentials, mockServices } from '@backstage/backend-test-utils';
import { AuthorizeResult } from '@backstage/plugin-permission-common';
import type { JsonObject } from '@backstage/types';
import { createTestDatabases } from '@internal/postgres/testUtils';
import {
  assignTenant,
  tenantDirectoryServiceRef,
  tenantGateServiceRef,
  tenantGatesServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';
import type { Caller } from '@internal/catalog-testing/caller';
import {
  ADMIN,
  allowAll,
  engines,
  startTenantsBackend,
  type TenantsBackend,
} from '../__testUtils__/startTenantsBackend';
import { TenancyDatabase } from '../__testUtils__/TenancyDatabase';

const databases = createTestDatabases({ versions: 'newest' });

const JANE = 'user:default/jane';
const MALLORY = 'user:default/mallory';
const OPERATOR = 'user:default/operator';
const GONE = '00000000-0000-4000-8000-000000000099';

/** Takes every header for that of a tenant that the caller may enter. */
const gate = createServiceFactory({
  service: tenantGateServiceRef,
  initialization: 'always',
  deps: {
    directory: tenantDirectoryServiceRef,
    httpRouter: coreServices.httpRouter,
  },
  factory({ directory, httpRouter }) {
    httpRouter.use((req, _res, next) => {
      const slug = req.headers['x-tenant-slug'];
      directory
        .findActive(String(slug ?? 'default'))
        .then(tenant => {
          // One that is deleted meanwhile has been let in.
          const gone = { tenantId: GONE, tenantSlug: String(slug) };
          assignTenant(req, tenant ?? gone, slug ? 'header' : 'default');
          next();
        })
        .catch(next);
    });
    return { declareTenantAware: () => {}, stillAdmits: async () => true };
  },
});

const gates = createServiceFactory({
  service: tenantGatesServiceRef,
  deps: {},
  factory: () => ({
    add: () => {},
    closedPlugins: () => ['scaffolder', 'search'],
  }),
});

describe.each(databases.eachSupportedId().slice(-1))(
  'GET /mine/current on %s',
  id => {
    let database: TenancyDatabase;
    let backend: TenantsBackend;
    const authorize = jest.fn();

    const start = (tenancy: JsonObject = {}, hasEngines = true) =>
      startTenantsBackend({
        pool: database.createPool(),
        config: {
          permission: { enabled: true },
          tenancy: { enabled: true, admins: [ADMIN], ...tenancy },
        },
        features: [
          gate,
          engines({ isAvailable: hasEngines }),
          gates,
          mockServices.permissions.mock({ authorize }).factory,
        ],
      });

    const get = async (
      caller: Caller,
      slug?: string,
    ): Promise<{ status: number; text: string; body: any; headers: any }> => {
      const request = caller.get('/mine/current');
      return slug === undefined ? request : request.set('X-Tenant-Slug', slug);
    };
    const user = (ref: string, of = backend): Caller => of.user(ref);

    beforeAll(async () => {
      database = await TenancyDatabase.create(databases, id);
      await database.fill({ acme: { [JANE]: 'admin' } });
      backend = await start();
    });
    afterAll(() => database.close());
    beforeEach(() => {
      authorize.mockImplementation(allowAll);
    });

    it('says what the tenant is to a member, and what works in it', async () => {
      const { status, headers, body } = await get(user(JANE), 'acme');
      expect([status, headers['cache-control'], body]).toEqual([
        200,
        'no-store',
        {
          tenant_slug: 'acme',
          tenant_name: 'Acme',
          role: 'admin',
          ownership_entity_refs: [JANE, 'group:default/team-of-acme'],
          administers_tenants: false,
          named_by: 'header',
          base_domain: null,
          takes_locations: true,
          closed_plugins: ['scaffolder', 'search'],
          own_tenants: {
            items: [
              { tenant_slug: 'acme', tenant_name: 'Acme', role: 'admin' },
              {
                tenant_slug: 'default',
                tenant_name: expect.any(String),
                role: 'member',
              },
            ],
            totalItems: 2,
          },
          enabled: true,
        },
      ]);
    });

    it('closes nothing to the default tenant, which everybody may enter', async () => {
      const { status, body } = await get(user(MALLORY));
      expect([status, body]).toMatchObject([
        200,
        {
          tenant_slug: 'default',
          role: null,
          ownership_entity_refs: [],
          named_by: 'default',
          takes_locations: true,
          closed_plugins: [],
        },
      ]);
    });

    it('has all tenants open to administrators in tenancy.admins, as their admins', async () => {
      const { body } = await get(backend.admin, 'globex');
      expect(body).toMatchObject({
        role: 'admin',
        own_tenants: {
          items: ['acme', 'default', 'globex'].map(tenant_slug => ({
            tenant_slug,
            role: 'admin',
          })),
          totalItems: 3,
        },
      });
      // The gate has let these in.
      for (const slug of [undefined, 'acme']) {
        const caller = backend.service(slug ? `tenant:${slug}` : 'plugin:a');
        expect((await get(caller, slug)).body).toMatchObject({
          role: 'member',
          ownership_entity_refs: [],
        });
      }
    });

    it('takes locations in the default tenant alone where tenants have no engines', async () => {
      const without = await start({}, false);
      const takes = async (slug?: string) =>
        (await get(user(JANE, without), slug)).body.takes_locations;
      expect([await takes('acme'), await takes()]).toEqual([false, true]);
    });

    it('counts an administrator by permission', async () => {
      const byPermission = await start({ adminsByPermission: true });
      const { body } = await get(user(OPERATOR, byPermission));
      expect(body.administers_tenants).toBe(true);
      authorize.mockImplementation(async requests =>
        requests.map(() => ({ result: AuthorizeResult.DENY })),
      );
      const denied = await get(user(OPERATOR, byPermission));
      expect(denied.body.administers_tenants).toBe(false);
    });

    it('refuses as the gate does who is no member of a default tenant that is for members', async () => {
      const members = await start({
        membershipOfDefault: 'members',
        baseDomains: ['portal.example', 'other.example'],
      });
      const refused = await get(user(MALLORY, members));
      expect([refused.status, refused.text]).toEqual([
        403,
        '{"error":"Invalid tenant"}',
      ]);
      const { body } = await get(user(JANE, members), 'acme');
      expect(body.base_domain).toBe('portal.example');
    });

    it.each(['gone', 'none'])(
      'refuses the tenant %s as the gate does, also to administrators',
      async slug => {
        const { status, text } = await get(backend.admin, slug);
        expect([status, text]).toEqual([403, '{"error":"Invalid tenant"}']);
      },
    );

    it('is open to all but the default tenant where that alone is for members', async () => {
      const members = await start({
        membership: 'open',
        membershipOfDefault: 'members',
      });
      const refused = await get(user(MALLORY, members));
      expect([refused.status, refused.text]).toEqual([
        403,
        '{"error":"Invalid tenant"}',
      ]);
      const { body } = await get(user(MALLORY, members), 'acme');
      expect(body.own_tenants).toEqual({
        items: [
          { tenant_slug: 'acme', tenant_name: 'Acme', role: 'member' },
          { tenant_slug: 'globex', tenant_name: 'Globex', role: 'member' },
        ],
        totalItems: 2,
      });
    });

    it('is in the typed client, for the tenant that the caller names', async () => {
      const { client } = backend;
      const token = mockCredentials.user.token(JANE);
      await expect(
        client.getOpenTenant({ token, tenantSlug: 'acme' }),
      ).resolves.toMatchObject({ tenant_slug: 'acme', role: 'admin' });
      await expect(client.getOpenTenant({ token })).resolves.toMatchObject({
        tenant_slug: 'default',
      });
    });

    it('needs no tables where multi-tenancy is off', async () => {
      const empty = await TenancyDatabase.create(databases, id, 0);
      try {
        const { as } = await startTenantsBackend({
          pool: empty.createPool({
            login: {
              user: empty.connection.user,
              password: empty.connection.password as string,
            },
          }),
          config: { tenancy: { enabled: false, admins: [ADMIN] } },
        });
        const answer = await as(mockCredentials.user.header(MALLORY)).get(
          '/mine/current',
        );
        expect([answer.status, answer.body]).toEqual([
          200,
          {
            tenant_slug: 'default',
            tenant_name: 'Default tenant',
            role: null,
            ownership_entity_refs: [],
            administers_tenants: false,
            named_by: 'default',
            base_domain: null,
            takes_locations: true,
            closed_plugins: [],
            own_tenants: { items: [], totalItems: 0 },
            enabled: false,
          },
        ]);
      } finally {
        await empty.close();
      }
    });
  },
);
