import {
  type BackendFeature,
  coreServices,
  createServiceFactory,
} from '@backstage/backend-plugin-api';
import { mockServices } from '@backstage/backend-test-utils';
import { AuthorizeResult } from '@backstage/plugin-permission-common';
import type { JsonObject } from '@backstage/types';
import { createTestDatabases } from '@internal/postgres/testUtils';
import type { Caller } from '@internal/catalog-testing/caller';
import {
  ADMIN,
  ALICE,
  allowAll,
  CI,
  engines,
  startTenantsBackend,
  type TenantsBackend,
} from '../__testUtils__/startTenantsBackend';
import { TenancyDatabase } from '../__testUtils__/TenancyDatabase';

const databases = createTestDatabases({ versions: 'newest' });

const JANE = 'user:default/jane';
const JOHN = 'user:default/john';
const TEAM = 'group:default/team';
const DEPLOY = 'external:deploy';
const PROVIDER = {
  issuer: 'https://id.example.com/acme',
  client_id: 'portal',
  client_secret: '${ACME_SIGN_IN}',
};
const NO_SHARE = '/shares/00000000-0000-4000-8000-000000000099';

interface Operation {
  permission: string;
  send(caller: Caller, slug?: string): ReturnType<Caller['get']>;
}

/** Of administrators of all tenants. */
const OPERATIONS: Record<string, Operation> = {
  'GET /': {
    permission: 'tenancy.tenant.read',
    send: caller => caller.get(''),
  },
  'POST /': {
    permission: 'tenancy.tenant.create',
    send: caller => caller.post('', { tenant_slug: 'b', tenant_name: 'x' }),
  },
  'GET /:slug': {
    permission: 'tenancy.tenant.read',
    send: caller => caller.get('/acme'),
  },
  'PATCH /:slug': {
    permission: 'tenancy.tenant.update',
    send: caller => caller.patch('/acme', { tenant_name: 'x' }),
  },
  'GET /:slug/usage': {
    permission: 'tenancy.tenant.read',
    send: caller => caller.get('/acme/usage'),
  },
  'DELETE /:slug': {
    permission: 'tenancy.tenant.delete',
    send: caller => caller.delete('/acme'),
  },
  'POST /:slug/restore': {
    permission: 'tenancy.tenant.delete',
    send: caller => caller.post('/acme/restore'),
  },
  'PUT /:slug/engine/pause': {
    permission: 'tenancy.tenant.update',
    send: caller => caller.put('/acme/engine/pause'),
  },
  'DELETE /:slug/engine/pause': {
    permission: 'tenancy.tenant.update',
    send: caller => caller.delete('/acme/engine/pause'),
  },
  'POST /:slug/shares': {
    permission: 'tenancy.share.update',
    send: caller =>
      caller.post('/acme/shares', { targets: 'all', filter: ['kind=api'] }),
  },
  'PATCH /:slug/shares/:share': {
    permission: 'tenancy.share.update',
    send: caller => caller.patch(`/acme${NO_SHARE}`, { position: 1 }),
  },
  'DELETE /:slug/shares/:share': {
    permission: 'tenancy.share.update',
    send: caller => caller.delete(`/acme${NO_SHARE}`),
  },
};

/** Of the admins of a tenant, by the permission that a policy can take from them. */
const OF_TENANT_ADMINS: Record<string, Record<string, Operation['send']>> = {
  'tenancy.member.read': {
    'GET members': (caller, slug) => caller.get(`/${slug}/members`),
    'GET a member': (caller, slug) => caller.get(`/${slug}/members/ci`),
    'GET invitations': (caller, slug) => caller.get(`/${slug}/invitations`),
    'GET sign-in': (caller, slug) => caller.get(`/${slug}/sign-in`),
  },
  'tenancy.member.update': {
    'PUT a member': (caller, slug) =>
      caller.put(`/${slug}/members/ci`, { role: 'member' }),
    'DELETE a member': (caller, slug) => caller.delete(`/${slug}/members/ci`),
    'GET principals': (caller, slug) => caller.get(`/${slug}/principals`),
    'POST an invitation': (caller, slug) =>
      caller.post(`/${slug}/invitations`, { role: 'admin' }),
    'DELETE an invitation': (caller, slug) =>
      caller.delete(`/${slug}/invitations/none`),
    'PUT sign-in': (caller, slug) => caller.put(`/${slug}/sign-in`, PROVIDER),
    'DELETE sign-in': (caller, slug) => caller.delete(`/${slug}/sign-in`),
  },
  'tenancy.tenant.config.read': {
    'GET status': (caller, slug) => caller.get(`/${slug}/status`),
    'GET config': (caller, slug) => caller.get(`/${slug}/catalog-config`),
  },
  'tenancy.tenant.config.update': {
    'PUT config': (caller, slug) => caller.put(`/${slug}/catalog-config`, {}),
  },
  'tenancy.share.read': {
    'GET shares': (caller, slug) => caller.get(`/${slug}/shares`),
  },
  'tenancy.audit.read': {
    'GET audit': (caller, slug) => caller.get(`/${slug}/audit`),
  },
  'tenancy.tenant.read': {
    'GET usage': (caller, slug) => caller.get(`/${slug}/usage`),
  },
};

const BY_POLICY = {
  permission: { enabled: true },
  tenancy: { adminsByPermission: true },
};

// One version of PostgreSQL: no test here depends on it.
describe.each(databases.eachSupportedId().slice(-1))(
  'who may administer tenants, on %s',
  id => {
    let database: TenancyDatabase;

    beforeAll(async () => {
      database = await TenancyDatabase.create(databases, id);
    });
    afterAll(() => database.close());

    beforeEach(async () => {
      await database.empty();
      await database.client.query(
        `insert into tenants (tenant_slug, tenant_name) values ('acme', 'Acme')`,
      );
    });

    const start = (config?: JsonObject, features?: BackendFeature[]) =>
      startTenantsBackend({ pool: database.createPool(), config, features });

    const tenants = async () => {
      const { rows } = await database.client.query(
        'select tenant_slug, tenant_name, deleted_at from tenants order by 1',
      );
      return rows;
    };

    /** The statuses of all operations, one after the other. */
    const statuses = async (caller: Caller) => {
      const found: Record<string, number> = {};
      for (const [name, { send }] of Object.entries(OPERATIONS)) {
        found[name] = (await send(caller)).status;
      }
      return found;
    };
    const all = (status: number) =>
      Object.fromEntries(Object.keys(OPERATIONS).map(name => [name, status]));
    const ALLOWED = {
      ...all(200),
      'POST /': 201,
      'DELETE /:slug': 204,
      'PUT /:slug/engine/pause': 204,
      'DELETE /:slug/engine/pause': 204,
      'POST /:slug/shares': 201,
      'PATCH /:slug/shares/:share': 404,
      'DELETE /:slug/shares/:share': 404,
    };

    it('nobody without credentials, and no stranger: 401', async () => {
      const backend = await start();
      const before = await tenants();
      const stranger = backend.as('Bearer of.no.backstage');
      await expect(statuses(backend.anonymous)).resolves.toEqual(all(401));
      await expect(statuses(stranger)).resolves.toEqual(all(401));
      await expect(tenants()).resolves.toEqual(before);
    });

    it('nobody who is not listed, where Backstage allows everything: 403', async () => {
      const backend = await start();
      const before = await tenants();
      for (const caller of [
        backend.alice,
        backend.service('plugin:catalog'),
        backend.service('tenant:acme'),
        // A service does not become a user by its subject, nor a user a service.
        backend.service(ADMIN),
        backend.user('user:external/ci'),
      ]) {
        await expect(statuses(caller)).resolves.toEqual(all(403));
      }
      await expect(tenants()).resolves.toEqual(before);
    });

    it('nobody at all by default', async () => {
      const backend = await start({});
      await expect(statuses(backend.admin)).resolves.toEqual(all(403));
    });

    it('says what would let the caller, before it looks at the request', async () => {
      const backend = await start();
      const response = await backend.alice.post('', 'not JSON');
      expect(response.status).toBe(403);
      expect(response.body.error).toEqual({
        name: 'NotAllowedError',
        message:
          'You may not create tenants: only administrators in tenancy.admins may',
      });
    });

    it('users that are listed, however they are spelled', async () => {
      const backend = await start({
        tenancy: { admins: ['User:Default/Admin'] },
      });
      const caller = backend.user('user:DEFAULT/admin');
      await expect(statuses(caller)).resolves.toEqual(ALLOWED);
    });

    it('services that are listed', async () => {
      const backend = await start();
      await expect(statuses(backend.service(CI))).resolves.toEqual(ALLOWED);
    });

    describe('by permission, where the configuration says so', () => {
      const authorize = jest.fn();
      const { factory } = mockServices.permissions.mock({ authorize });

      const decide = (allowed: (name: string) => boolean) =>
        authorize.mockImplementation(async requests =>
          requests.map(({ permission }: { permission: { name: string } }) => ({
            result: allowed(permission.name)
              ? AuthorizeResult.ALLOW
              : AuthorizeResult.DENY,
          })),
        );

      it.each([...new Set(Object.values(OPERATIONS).map(o => o.permission))])(
        '%s allows its operations, and no others',
        async permission => {
          const backend = await start(BY_POLICY, [factory]);
          decide(name => name === permission);
          const expected = Object.fromEntries(
            Object.entries(OPERATIONS).map(([name, operation]) => [
              name,
              operation.permission === permission
                ? ALLOWED[name as keyof typeof ALLOWED]
                : 403,
            ]),
          );
          await expect(statuses(backend.alice)).resolves.toEqual(expected);
        },
      );

      it('no service, to which Backstage allows everything', async () => {
        const backend = await start(BY_POLICY, [factory]);
        decide(() => true);
        for (const subject of ['tenant:acme', 'plugin:catalog', CI]) {
          const caller = backend.service(subject);
          await expect(statuses(caller)).resolves.toEqual(all(403));
        }
      });

      it('the policy is not asked otherwise', async () => {
        decide(() => true);
        const backend = await start({ permission: { enabled: true } }, [
          factory,
        ]);
        await expect(statuses(backend.alice)).resolves.toEqual(all(403));
      });

      it.each([{}, { permission: { enabled: false } }])(
        'not while permissions are disabled, as in %j',
        async config => {
          await expect(
            start({ ...config, tenancy: { adminsByPermission: true } }),
          ).rejects.toThrow(
            'Invalid tenancy.adminsByPermission: got true while permission.enabled is not',
          );
        },
      );
    });

    describe('in one tenant', () => {
      const authorize = jest.fn();
      const { factory } = mockServices.permissions.mock({ authorize });
      /** Of John's, whose group is the only one. */
      const userInfo = createServiceFactory({
        service: coreServices.userInfo,
        deps: {},
        factory: () => ({
          async getUserInfo({ principal }: any) {
            const { userEntityRef } = principal;
            const groups = userEntityRef === JOHN ? [TEAM] : [];
            return {
              userEntityRef,
              ownershipEntityRefs: [userEntityRef, ...groups],
            };
          },
        }),
      });
      let backend: TenantsBackend;
      beforeAll(async () => {
        backend = await start(undefined, [factory, userInfo, engines()]);
      });
      beforeEach(async () => {
        authorize.mockImplementation(allowAll);
        await database.fill({
          acme: {
            [JANE]: 'admin',
            [TEAM]: 'admin',
            [DEPLOY]: 'admin',
            [ALICE]: 'member',
          },
          globex: { [ALICE]: 'admin' },
          gone: { [ALICE]: 'admin' },
        });
      });

      /** What each operation answers, by its permission and name. */
      async function answers(caller: Caller, slug: string) {
        const found: Record<string, [number, unknown]> = {};
        for (const operations of Object.values(OF_TENANT_ADMINS)) {
          for (const [name, send] of Object.entries(operations)) {
            const { status, body } = await send(caller, slug);
            found[name] = [status, body?.error];
          }
        }
        return found;
      }
      async function allowed(caller: Caller, slug = 'acme') {
        return Object.entries(await answers(caller, slug))
          .filter(([, [status]]) => ![401, 403].includes(status))
          .map(([name]) => name);
      }
      const EVERYTHING = Object.values(OF_TENANT_ADMINS).flatMap(Object.keys);

      it('its admins, and administrators of all', async () => {
        const jane = backend.user(JANE);
        for (const caller of [jane, backend.user(JOHN), backend.admin]) {
          await expect(allowed(caller)).resolves.toEqual(EVERYTHING);
        }
        // Backstage asks no catalog on behalf of services.
        await expect(allowed(backend.service(DEPLOY))).resolves.toEqual(
          EVERYTHING.filter(name => name !== 'GET principals'),
        );
        // Of the operations of administrators it is the only one.
        await expect(statuses(jane)).resolves.toEqual({
          ...all(403),
          'GET /:slug/usage': 200,
        });
      });

      it.each(Object.keys(OF_TENANT_ADMINS))(
        'its admins no more than the policy allows: %s',
        async permission => {
          authorize.mockImplementation(async requests =>
            requests.map((each: { permission: { name: string } }) => ({
              result:
                each.permission.name === permission
                  ? AuthorizeResult.ALLOW
                  : AuthorizeResult.DENY,
            })),
          );
          await expect(allowed(backend.user(JANE))).resolves.toEqual(
            Object.keys(OF_TENANT_ADMINS[permission]),
          );
          await expect(allowed(backend.alice)).resolves.toEqual([]);
          // The policy is not asked about administrators of all.
          await expect(allowed(backend.admin)).resolves.toEqual(EVERYTHING);
        },
      );

      it('nobody else, who learns nothing of whether there is such a tenant', async () => {
        const { alice, anonymous } = backend;
        const refused = await answers(alice, 'none');
        await expect(allowed(alice, 'none')).resolves.toEqual([]);
        for (const slug of ['acme', 'gone', 'No%20Slug']) {
          await expect(answers(alice, slug)).resolves.toEqual(refused);
        }
        await expect(allowed(alice, 'globex')).resolves.toEqual(EVERYTHING);
        for (const subject of [
          ...['external:other', 'plugin:catalog', 'tenant:acme'],
          // A service does not become a user by its subject.
          JANE,
        ]) {
          await expect(allowed(backend.service(subject))).resolves.toEqual([]);
        }
        await expect(allowed(anonymous)).resolves.toEqual([]);
        expect(
          Object.values(await answers(anonymous, 'acme')).map(([code]) => code),
        ).toEqual(EVERYTHING.map(() => 401));
      });

      it('administrators, who are told that a tenant is deleted, or never was', async () => {
        const found = async (slug: string) =>
          Object.entries(await answers(backend.admin, slug))
            .filter(([, [status]]) => status !== 404)
            .map(([name]) => name);
        await expect(found('none')).resolves.toEqual([]);
        // What it did, and what it holds, stays.
        const kept = ['GET audit', 'GET usage'];
        await expect(found('gone')).resolves.toEqual(kept);
      });
    });

    it.each(['group:default/admins', 'user:alice', 'user:a/b/c', 'a b', ''])(
      'is not configured as %j',
      async entry => {
        await expect(
          start({ tenancy: { admins: [ALICE, entry] } }),
        ).rejects.toThrow(/tenancy\.admins/);
      },
    );
  },
);
