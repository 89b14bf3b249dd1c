import {
  createServiceFactory,
  coreServices,
} from '@backstage/backend-plugin-api';
import { createTestDatabases } from '@internal/postgres/testUtils';
import type { Caller } from '@internal/catalog-testing/caller';
import {
  ADMIN,
  CI,
  startTenantsBackend,
  type TenantsBackend,
} from '../__testUtils__/startTenantsBackend';
import { TenancyDatabase } from '../__testUtils__/TenancyDatabase';

const databases = createTestDatabases({ versions: 'newest' });

const JANE = 'user:default/jane';
const JOHN = 'user:default/john';
const TEAM = 'group:default/team';
/** Whose groups cannot be read. */
const NOBODY = 'user:default/nobody';
const PROVIDER = {
  issuer: 'https://id.example.com/acme',
  client_id: 'portal',
  client_secret: '${ACME_SIGN_IN}',
};
const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

const memberPath = (slug: string, principal: string) =>
  `/${slug}/members/${encodeURIComponent(principal)}`;

// One version of PostgreSQL: the tests of the store run on both.
describe.each(databases.eachSupportedId().slice(-1))('members on %s', id => {
  let database: TenancyDatabase;
  let backend: TenantsBackend;

  /** Of John's, whose group is the only one. */
  const userInfo = createServiceFactory({
    service: coreServices.userInfo,
    deps: {},
    factory: () => ({
      async getUserInfo(credentials: any) {
        const userEntityRef: string = credentials.principal.userEntityRef;
        if (userEntityRef === NOBODY) {
          throw new Error('request to http://auth.internal:7007 failed');
        }
        return {
          userEntityRef,
          ownershipEntityRefs:
            userEntityRef === JOHN ? [JOHN, TEAM] : [userEntityRef],
        };
      },
    }),
  });

  const user = (ref: string): Caller => backend.user(ref);
  const service = (subject: string): Caller => backend.service(subject);

  beforeAll(async () => {
    database = await TenancyDatabase.create(databases, id);
    backend = await startTenantsBackend({
      pool: database.createPool(),
      config: { tenancy: { enabled: true, admins: [ADMIN, CI] } },
      features: [userInfo],
    });
  });
  afterAll(() => database.close());

  beforeEach(() => database.fill());

  const add = async (slug: string, principal: string, role = 'member') => {
    const { status } = await backend.admin.put(memberPath(slug, principal), {
      role,
    });
    expect(status).toBe(201);
  };

  describe('PUT', () => {
    it('adds a member: 201, Location, and what it is', async () => {
      const { status, headers, body } = await backend.admin.put(
        memberPath('acme', 'User:Default/Jane'),
        { role: 'admin' },
      );
      expect([status, headers.location, body]).toEqual([
        201,
        '/api/tenants/acme/members/user%3Adefault%2Fjane',
        {
          principal: JANE,
          role: 'admin',
          created_by: ADMIN,
          created_at: expect.stringMatching(ISO_TIME),
        },
      ]);
      const found = await backend.admin.get(
        '/acme/members/user%3Adefault%2Fjane',
      );
      expect([found.status, found.body]).toEqual([200, body]);
    });

    it('answers 412 where If-Match names an entity tag, which a member has none of, or any member where there is none', async () => {
      const put = (tag: string) =>
        backend.admin
          .put(memberPath('acme', JANE), { role: 'member' })
          .set('If-Match', tag);
      expect((await put('*')).status).toBe(412);
      await add('acme', JANE, 'admin');
      expect((await put('"1"')).status).toBe(412);
      const path = memberPath('acme', JANE);
      expect((await backend.admin.get(path)).body.role).toBe('admin');
      expect((await put('*')).status).toBe(200);
      const again = await backend.admin
        .put(path, { role: 'viewer' })
        .set('If-None-Match', '*');
      expect(again.status).toBe(412);
      expect((await put('*').set('If-None-Match', '*')).status).toBe(412);
    });

    it.each([
      ['a member', memberPath('acme', JANE), { role: 'member' }, 201],
      ['a sign-in', '/acme/sign-in', PROVIDER, 200],
    ])(
      'makes %s once where five demand at once that there is none',
      async (_what, path, body, made) => {
        const answers = await Promise.all(
          Array.from({ length: 5 }, () =>
            backend.admin.put(path, body).set('If-None-Match', '*'),
          ),
        );
        expect(answers.map(({ status }) => status).sort()).toEqual([
          made,
          ...Array(4).fill(412),
        ]);
      },
    );

    it.each(['user:jane', 'component:default/x', 'plugin:catalog', 'a b'])(
      'refuses the principal %j with 400 that names it and the forms',
      async principal => {
        for (const { status, body } of [
          await backend.admin.put(memberPath('acme', principal), {
            role: 'member',
          }),
          await backend.admin.get(memberPath('acme', principal)),
          await backend.admin.delete(memberPath('acme', principal)),
        ]) {
          expect([status, body.error.message]).toEqual([
            400,
            expect.stringMatching(
              `^Invalid principal: got ${JSON.stringify(
                principal,
              )}, expected a user as user:<namespace>/<name>`,
            ),
          ]);
        }
      },
    );
  });

  it('DELETE removes a member with 204, and then finds none', async () => {
    await add('acme', CI);
    const statuses = [];
    for (const send of [
      () => backend.admin.delete(memberPath('acme', CI)),
      () => backend.admin.delete(memberPath('acme', CI)),
      () => backend.admin.get(memberPath('acme', CI)),
    ]) {
      statuses.push((await send()).status);
    }
    expect(statuses).toEqual([204, 404, 404]);
  });

  it('the last admin is kept from removing itself, but not from tenancy.admins', async () => {
    await add('acme', JANE, 'admin');
    for (const { status, body } of [
      await user(JANE).delete(memberPath('acme', JANE)),
      await user(JANE).put(memberPath('acme', JANE), { role: 'member' }),
    ]) {
      expect([status, body.error.message]).toEqual([
        409,
        expect.stringMatching(
          /^"user:default\/jane" is the last admin of the tenant 'acme': make another/,
        ),
      ]);
    }
    const removed = await backend.admin.delete(memberPath('acme', JANE));
    expect(removed.status).toBe(204);
  });

  describe('GET /mine', () => {
    const mine = async (caller: Caller, query = '') => {
      const { status, body } = await caller.get(`/mine${query}`);
      expect(status).toBe(200);
      return body.map((each: any) => `${each.tenant_slug}: ${each.role}`);
    };

    it('has what the caller enters, with the role there', async () => {
      await add('acme', JANE, 'admin');
      await add('acme', TEAM);
      await add('globex', JOHN);
      await add('globex', 'external:deploy');
      expect((await user(JANE).get('/mine')).body).toEqual([
        { tenant_slug: 'acme', tenant_name: 'Acme', role: 'admin' },
        {
          tenant_slug: 'default',
          tenant_name: 'Default tenant',
          role: 'member',
        },
      ]);
      expect(await mine(user(JOHN))).toEqual([
        'acme: member',
        'default: member',
        'globex: member',
      ]);
      expect(await mine(service('external:deploy'))).toEqual([
        'default: member',
        'globex: member',
      ]);
      expect(await mine(user('user:development/guest'))).toEqual([
        'default: member',
      ]);
    });

    it('does not say why the groups of its caller cannot be read', async () => {
      for (const path of ['/mine', '/acme/members']) {
        const { status, body } = await user(NOBODY).get(path);
        expect([status, body.error.message]).toEqual([
          503,
          'The groups of the user cannot be read at the moment',
        ]);
      }
    });

    it('has the default tenant for plugins, and its tenant for a token of one', async () => {
      expect(await mine(service('plugin:search'))).toEqual(['default: member']);
      expect(await mine(service('tenant:acme'))).toEqual(['acme: member']);
      expect(await mine(service('tenant:gone'))).toEqual([]);
      expect(await mine(service('tenant:acme'), '?offset=1')).toEqual([]);
    });
  });
});
