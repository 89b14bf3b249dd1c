import type { BackendFeature } from '@backstage/backend-plugin-api';
import { mockServices } from '@backstage/backend-test-utils';
import { AuthorizeResult } from '@backstage/plugin-permission-common';
import type { JsonObject } from '@backstage/types';
import { createTestDatabases } from '@internal/postgres/testUtils';
import type { Caller } from '@internal/catalog-testing/caller';
import {
  ADMIN,
  ALICE,
  CI,
  startTenantsBackend,
} from '../__testUtils__/startTenantsBackend';
import { TenancyDatabase } from '../__testUtils__/TenancyDatabase';

const databases = createTestDatabases({ versions: 'newest' });

interface Operation {
  permission: string;
  send(caller: Caller): ReturnType<Caller['get']>;
}

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
