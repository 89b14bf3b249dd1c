import { mockCredentials, mockServices } from '@backstage/backend-test-utils';
import { AuthorizeResult } from '@backstage/plugin-permission-common';
import { createTestDatabases } from '@internal/postgres/testUtils';
import { carryTenant } from 'backstage-plugin-catalog-tenancy-node';
import {
  mockupReadPermission,
  type PublishPageRequest,
} from 'backstage-plugin-mockup-common';
import type { Knex } from 'knex';
import { ALICE } from '../__testUtils__/startMockupBackend';
import type { OpenStores } from '../database/openMockupStores';
import { storesOpener } from '../__testUtils__/mockupStores';
import { AuthorizedPages } from '../pages/AuthorizedPages';
import { AuthorizedReview } from '../review/AuthorizedReview';
import { MockupDecisions } from './MockupDecisions';

const databases = createTestDatabases({ versions: 'newest' });

const ACME = {
  tenantId: '00000000-0000-4000-8000-00000000000a',
  tenantSlug: 'acme',
};
const { ALLOW, DENY } = AuthorizeResult;

type Role = 'viewer' | 'member' | 'admin';

describe.each(databases.eachSupportedId())('roles in a tenant on %s', id => {
  const open = storesOpener();
  let knex: Knex;
  let stores: OpenStores;
  let request: Omit<PublishPageRequest, 'audience'>;
  /** What the policy allows to everybody, by the names of permissions; without it, everything. */
  let allowed: string[] | undefined;
  let mayChooseHome: boolean;

  beforeAll(async () => {
    knex = await databases.init(id);
    stores = await open(knex);
  });

  beforeEach(async () => {
    allowed = undefined;
    mayChooseHome = true;
    await knex('mockups').delete();
    const store = stores.forTenant(ACME.tenantId);
    const { mockup } = await store.create({ name: 'Start' }, { owner: ALICE });
    const saved = await store.saveVersion(
      mockup.id,
      { layoutData: [] },
      { createdBy: ALICE },
    );
    request = { mockupId: mockup.id, versionId: saved!.version.id };
  });

  function callerOf(role: Role | undefined) {
    const credentials = mockCredentials.user(`user:default/${role ?? 'guest'}`);
    carryTenant(credentials, ACME, async () => role);
    const decisions = new MockupDecisions({
      credentials,
      permissions: mockServices.permissions.mock({
        authorize: async () => [{ result: mayChooseHome ? ALLOW : DENY }],
        authorizeConditional: async requests =>
          requests.map(({ permission: { name } }) => ({
            result: allowed?.includes(name) ?? true ? ALLOW : DENY,
          })),
      }),
      // No decision has conditions.
      ruleset: undefined as never,
    });
    return { credentials, decisions };
  }

  function pagesOf(role: Role | undefined) {
    const caller = callerOf(role);
    const { userEntityRef } = caller.credentials.principal;
    return new AuthorizedPages({
      ...caller,
      store: stores.pagesOf(ACME.tenantId),
      userInfo: mockServices.userInfo.mock({
        getUserInfo: async () => ({
          userEntityRef,
          ownershipEntityRefs: ['group:default/a', 'group:default/b'],
        }),
      }),
    });
  }

  const reviewOf = (role: Role) =>
    new AuthorizedReview({
      ...callerOf(role),
      store: stores.reviewsOf(ACME.tenantId),
    });

  const readers = async (path: string) => {
    const seen = [];
    for (const role of ['viewer', 'member', 'admin', undefined] as const) {
      seen.push((await pagesOf(role).get(path)) !== undefined);
    }
    return seen;
  };

  it.each<[Role, boolean[]]>([
    ['viewer', [true, true, true, false]],
    ['member', [false, true, true, false]],
    ['admin', [false, false, true, false]],
  ])(
    'pages of %s are for that role and higher ones',
    async (role, expected) => {
      await pagesOf('admin').publish(
        'start',
        { ...request, audience: `role:${role}` },
        ALICE,
      );
      await expect(readers('start')).resolves.toEqual(expected);
    },
  );

  it('pages are taken back by those who may publish them, refused to those who may see page or mockup, and missing to others', async () => {
    const publish = (audience: PublishPageRequest['audience']) =>
      pagesOf('admin').publish('start', { ...request, audience }, ALICE);
    const takeBack = () => pagesOf('viewer').takeBack('start');
    const refused = { name: 'NotAllowedError' };
    await publish('role:admin');
    allowed = [];
    await expect(takeBack()).resolves.toBe(false);
    allowed = [mockupReadPermission.name];
    await expect(takeBack()).rejects.toMatchObject(refused);
    // Nor do they learn who has published it, and for whom.
    await expect(pagesOf('viewer').listOf(request.mockupId)).resolves.toEqual([
      { path: 'start', title: 'Start' },
    ]);
    allowed = undefined;
    await publish('role:viewer');
    allowed = [];
    await expect(takeBack()).rejects.toMatchObject(refused);
    allowed = undefined;
    await expect(takeBack()).resolves.toBe(true);
  });

  it('pages are made a home by those whom the policy lets, and stay it for others', async () => {
    const publish = (home = true) =>
      pagesOf('member').publish(
        'start',
        { ...request, audience: 'everybody', home },
        ALICE,
      );
    const refused = {
      name: 'NotAllowedError',
      message: expect.stringContaining('You may not choose the home page'),
    };
    mayChooseHome = false;
    await expect(publish()).rejects.toMatchObject(refused);
    await expect(pagesOf('viewer').getHome()).resolves.toBeUndefined();
    mayChooseHome = true;
    await publish();
    mayChooseHome = false;
    await expect(pagesOf('viewer').getHome()).resolves.toMatchObject({
      path: 'start',
    });
    // With another version or not.
    await publish();
    await publish(false);
    await expect(publish()).rejects.toMatchObject(refused);
  });

  it('the home of a group comes before that of a role, and that before the one for all; of two, the last', async () => {
    const admin = pagesOf('admin');
    const audiences = ['group:default/b', 'group:default/a'] as const;
    for (const audience of [
      ...audiences,
      'role:viewer',
      'everybody',
    ] as const) {
      const path = audience.replace(/\W/g, '-');
      await admin.publish(path, { ...request, audience, home: true }, ALICE);
    }
    const homes = [];
    for (let page = await admin.getHome(); page; page = await admin.getHome()) {
      homes.push(page.path);
      await admin.takeBack(page.path);
    }
    expect(homes).toEqual([
      'group-default-a',
      'group-default-b',
      'role-viewer',
      'everybody',
    ]);
  });

  it('viewers comment, and admins of the tenant may delete that, and members may not', async () => {
    allowed = [mockupReadPermission.name];
    const { mockupId } = request;
    const said = await reviewOf('viewer').createComment(
      mockupId,
      { text: 'Too wide' },
      { author: 'user:default/viewer' },
    );
    const comment = { mockupId, id: said!.id };
    await expect(
      reviewOf('member').deleteComment(comment, 'user:default/member'),
    ).rejects.toMatchObject({ name: 'NotAllowedError' });
    await expect(
      reviewOf('admin').deleteComment(comment, 'user:default/admin'),
    ).resolves.toBe(true);
  });
});
