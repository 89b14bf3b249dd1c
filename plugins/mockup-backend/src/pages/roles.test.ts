import { mockCredentials, mockServices } from '@backstage/backend-test-utils';
import { AuthorizeResult } from '@backstage/plugin-permission-common';
import { createTestDatabases } from '@internal/postgres/testUtils';
import { carryTenant } from 'backstage-plugin-catalog-tenancy-node';
import type { PublishPageRequest } from 'backstage-plugin-mockup-common';
import type { Knex } from 'knex';
import { ALICE } from '../__testUtils__/startMockupBackend';
import { MockupDecisions } from '../authorization/MockupDecisions';
import {
  openMockupStores,
  type OpenStores,
} from '../database/openMockupStores';
import { AuthorizedPages } from './AuthorizedPages';

const databases = createTestDatabases({ versions: 'newest' });

const ACME = {
  tenantId: '00000000-0000-4000-8000-00000000000a',
  tenantSlug: 'acme',
};

type Role = 'viewer' | 'member' | 'admin';

describe.each(databases.eachSupportedId())('pages of roles on %s', id => {
  let knex: Knex;
  let stores: OpenStores;
  let request: Omit<PublishPageRequest, 'audience'>;
  let mayChooseHome = true;

  beforeAll(async () => {
    knex = await databases.init(id);
    stores = await openMockupStores({
      database: mockServices.database({ knex }),
      logger: mockServices.logger.mock(),
      multiTenant: true,
    });
  });

  beforeEach(async () => {
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

  /** The pages for a user of the tenant who may do all that the policy decides on. */
  function pagesOf(role: Role | undefined) {
    const credentials = mockCredentials.user(`user:default/${role ?? 'guest'}`);
    carryTenant(credentials, ACME, async () => role);
    const { ALLOW, DENY } = AuthorizeResult;
    const allow = { result: ALLOW } as const;
    return new AuthorizedPages({
      credentials,
      store: stores.pagesOf(ACME.tenantId),
      userInfo: mockServices.userInfo.mock({
        getUserInfo: async () => ({
          userEntityRef: credentials.principal.userEntityRef,
          ownershipEntityRefs: [],
        }),
      }),
      decisions: new MockupDecisions({
        credentials,
        permissions: mockServices.permissions.mock({
          authorize: async () => [{ result: mayChooseHome ? ALLOW : DENY }],
          authorizeConditional: async requests => requests.map(() => allow),
        }),
        // No decision has conditions.
        ruleset: undefined as never,
      }),
    });
  }

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
    'those of %s are for that role and higher ones',
    async (role, expected) => {
      await pagesOf('admin').publish(
        'start',
        { ...request, audience: `role:${role}` },
        ALICE,
      );
      await expect(readers('start')).resolves.toEqual(expected);
    },
  );

  it('are made a home by those whom the policy lets, and stay it for others', async () => {
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
});
