import { mockCredentials, mockServices } from '@backstage/backend-test-utils';
import { AuthorizeResult } from '@backstage/plugin-permission-common';
import { createTestDatabases } from '@internal/postgres/testUtils';
import { carryTenant } from 'backstage-plugin-catalog-tenancy-node';
import { mockupReadPermission } from 'backstage-plugin-mockup-common';
import { ALICE } from '../__testUtils__/startMockupBackend';
import { MockupDecisions } from '../authorization/MockupDecisions';
import {
  openMockupStores,
  type OpenStores,
} from '../database/openMockupStores';
import { AuthorizedReview } from './AuthorizedReview';

const databases = createTestDatabases({ versions: 'newest' });

const ACME = {
  tenantId: '00000000-0000-4000-8000-00000000000a',
  tenantSlug: 'acme',
};

type Role = 'viewer' | 'member' | 'admin';

describe.each(databases.eachSupportedId())('reviews of roles on %s', id => {
  let stores: OpenStores;
  let mockupId: string;

  beforeAll(async () => {
    const knex = await databases.init(id);
    stores = await openMockupStores({
      database: mockServices.database({ knex }),
      logger: mockServices.logger.mock(),
      multiTenant: true,
    });
    const { mockup } = await stores
      .forTenant(ACME.tenantId)
      .create({ name: 'Start' }, { owner: ALICE });
    mockupId = mockup.id;
  });

  /** The review for a user whom the policy lets read mockups alone. */
  function reviewOf(role: Role) {
    const credentials = mockCredentials.user(`user:default/${role}`);
    carryTenant(credentials, ACME, async () => role);
    return new AuthorizedReview({
      credentials,
      store: stores.reviewsOf(ACME.tenantId),
      decisions: new MockupDecisions({
        credentials,
        permissions: mockServices.permissions.mock({
          authorizeConditional: async requests =>
            requests.map(({ permission }) => ({
              result:
                permission.name === mockupReadPermission.name
                  ? AuthorizeResult.ALLOW
                  : AuthorizeResult.DENY,
            })),
        }),
        // No decision has conditions.
        ruleset: undefined as never,
      }),
    });
  }

  it('have comments of viewers, which admins of the tenant may delete, and members may not', async () => {
    const said = await reviewOf('viewer').createComment(
      mockupId,
      { text: 'Too wide' },
      'user:default/viewer',
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
