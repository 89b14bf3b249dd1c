import { AuthorizeResult } from '@backstage/plugin-permission-common';
import { createTenancyDatabase } from '@internal/catalog-testing/tenancyDatabase';
import { createTestDatabases } from '@internal/postgres/testUtils';
import { tenantOfPolicyUser } from 'backstage-plugin-catalog-tenancy-node';
import request from 'supertest';
import { sign } from '../resolution/__testUtils__/tokens';
import { limitedToken } from '../resolution/__testUtils__/userTokens';
import {
  CI_TOKEN,
  startPeopleBackend,
} from './__testUtils__/startPeopleBackend';

const databases = createTestDatabases({ versions: 'newest' });

const READ = permission('catalog.entity.read', 'read');
const CREATE = permission('catalog.location.create', 'create');
const EXECUTE = permission('scaffolder.action.execute');
const MEMBERS = permission('tenancy.member.update', 'update');
const REGISTRY = permission('tenancy.tenant.create', 'create');
const HOME = permission('mockup.page.home', 'update');
const REVIEWS = permission('mockup.review.require', 'update');
const ASKED = [READ, CREATE, EXECUTE, MEMBERS, REGISTRY, HOME, REVIEWS];

function permission(name: string, action?: string) {
  return { type: 'basic', name, attributes: { action } };
}

/** What a backend allows, in the order of {@link ASKED}. */
const ALL = ASKED.map(() => 'ALLOW');
const OF_MEMBER = ['ALLOW', 'ALLOW', 'ALLOW', 'DENY', 'ALLOW', 'DENY', 'DENY'];
const OF_VIEWER = ['ALLOW', 'DENY', 'DENY', 'DENY', 'ALLOW', 'DENY', 'DENY'];

describe.each(databases.eachSupportedId())('roles in a tenant on %s', id => {
  type Backend = Awaited<ReturnType<typeof startPeopleBackend>>;
  let backend: Backend;
  let withoutPermissions: Backend;
  let policySays: AuthorizeResult.ALLOW | AuthorizeResult.DENY;
  /** What the policy was asked, and in which tenant with which role. */
  const heard: string[] = [];

  beforeAll(async () => {
    const options = {
      connection: await createTenancyDatabase(databases, id),
      identities: {
        viewer: ['group:default/viewers'],
        'viewer-and-more': ['group:default/members'],
        member: [],
        admin: [],
        root: [],
        nobody: [],
        rising: [],
      },
      policy: {
        handle: async ({ permission: asked }, user) => {
          const { tenantSlug, role } = await tenantOfPolicyUser(user);
          heard.push(`${asked.name} ${tenantSlug} ${role}`);
          return { result: policySays };
        },
      },
    } satisfies Parameters<typeof startPeopleBackend>[0];
    backend = await startPeopleBackend(options);
    await backend.createTenant('acme', {
      'user:default/viewer': 'viewer',
      'user:default/viewer-and-more': 'viewer',
      'user:default/member': 'member',
      'user:default/admin': 'admin',
      'group:default/members': 'member',
      ci: 'viewer',
    });
    withoutPermissions = await startPeopleBackend({
      ...options,
      permissionsEnabled: false,
    });
  });
  beforeEach(() => {
    heard.length = 0;
    policySays = AuthorizeResult.ALLOW;
  });

  const may = async (
    caller: { as?: string; token?: string; tenant: string },
    { plugin = 'aware', of = backend } = {},
  ) => {
    const { status, body } = await of.send(
      'post',
      `${plugin}/may`,
      caller,
      ASKED.map(each => ({ permission: each })),
    );
    return status === 200 ? body : status;
  };

  it.each([
    ['viewer', OF_VIEWER],
    ['member', OF_MEMBER],
    ['admin', ALL],
    ['root', ALL],
    ['viewer-and-more', OF_MEMBER],
    ['nobody', 403],
  ])('bound what the policy allows to %s', async (as, allowed) => {
    await expect(may({ as, tenant: 'acme' })).resolves.toEqual(allowed);
    await expect(
      may({ as, tenant: 'acme' }, { of: withoutPermissions }),
    ).resolves.toEqual(allowed);
    // There everything is as the policy says.
    await expect(may({ as, tenant: 'default' })).resolves.toEqual(ALL);
  });

  it('bound what services do', async () => {
    await expect(may({ token: CI_TOKEN, tenant: 'acme' })).resolves.toEqual(
      OF_VIEWER,
    );
    const token = sign({ tenantSlug: 'acme' });
    await expect(may({ token, tenant: 'acme' })).resolves.toEqual(OF_MEMBER);
  });

  it('bound what users do by their cookie, where the policy decides in the tenant too', async () => {
    const token = limitedToken('user:default/viewer');
    for (const [name, value] of [
      ['Cookie', `backstage-auth=${token}`],
      ['Authorization', `Bearer ${token}`],
    ]) {
      heard.length = 0;
      const { body } = await request(backend.server)
        .post('/api/aware/cookie/may')
        .set(name, value)
        .set('X-Tenant-Slug', 'acme')
        .send([{ permission: CREATE }, { permission: READ }]);
      expect(body).toEqual(['DENY', 'ALLOW']);
      expect(heard).toEqual([`${READ.name} acme viewer`]);
    }
  });

  it('change with the next request', async () => {
    const caller = { as: 'rising', tenant: 'acme' };
    const put = (role: 'viewer' | 'admin') =>
      backend.members.put(
        'acme',
        { principal: 'user:default/rising', role },
        { by: 'x' },
      );
    await put('viewer');
    await expect(may(caller)).resolves.toEqual(OF_VIEWER);
    await put('admin');
    await expect(may(caller)).resolves.toEqual(ALL);
    await put('viewer');
    await expect(may(caller)).resolves.toEqual(OF_VIEWER);
  });

  it('are nothing to a plugin that belongs to no tenant', async () => {
    const caller = { as: 'viewer', tenant: 'acme' };
    await expect(may(caller, { plugin: 'news' })).resolves.toEqual(ALL);
    expect(heard).toEqual(ASKED.map(({ name }) => `${name} default undefined`));
  });

  it('give nothing that the policy denies, which is asked for the rest alone', async () => {
    policySays = AuthorizeResult.DENY;
    await expect(may({ as: 'admin', tenant: 'acme' })).resolves.toEqual(
      ALL.map(() => 'DENY'),
    );
    heard.length = 0;
    await may({ as: 'viewer', tenant: 'acme' });
    expect(heard).toEqual([
      `${READ.name} acme viewer`,
      `${REGISTRY.name} acme viewer`,
    ]);
  });

  it('bound what pages learn from the plugin permission', async () => {
    const items = [CREATE, READ].map((each, index) => ({
      id: `${index}`,
      permission: each,
    }));
    const { body } = await backend.send(
      'post',
      'permission/authorize',
      { as: 'viewer', tenant: 'acme' },
      { items },
    );
    expect(body.items).toEqual([
      { id: '1', result: 'ALLOW' },
      { id: '0', result: 'DENY' },
    ]);
    expect(heard).toEqual([`${READ.name} acme viewer`]);
  });
});
