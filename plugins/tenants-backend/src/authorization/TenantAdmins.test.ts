import { mockCredentials, mockServices } from '@backstage/backend-test-utils';
import {
  tenantMemberReadPermission,
  tenantMemberUpdatePermission,
} from 'backstage-plugin-catalog-tenancy-node';
import { Administrators } from './Administrators';
import { TenantAdmins } from './TenantAdmins';

const permissions = mockServices.permissions();

const admins = new TenantAdmins({
  administrators: new Administrators({
    config: mockServices.rootConfig({
      data: { tenancy: { admins: ['external:ci'] } },
    }),
    permissions,
  }),
  directory: {
    findActive: async tenantSlug => ({ tenantId: 'a', tenantSlug }),
  },
  logger: mockServices.logger.mock(),
  members: {
    roleOf: async (_, principals) =>
      principals.includes('external:deploy') ? 'admin' : undefined,
  },
  permissions,
  userInfo: mockServices.userInfo.mock(),
});

describe('the token of a service that is restricted', () => {
  it.each([
    ['external:ci', { permissionNames: ['tenancy.member.read'] }],
    ['external:deploy', { permissionNames: ['tenancy.member.read'] }],
    [
      'external:deploy',
      { permissionAttributes: { action: ['read' as const] } },
    ],
  ])('lets %s do no more than %j', async (subject, restriction) => {
    const credentials = mockCredentials.service(subject, restriction);
    await admins.assertMay(
      credentials,
      tenantMemberReadPermission,
      'acme',
      'the members',
    );
    await expect(
      admins.assertMay(
        credentials,
        tenantMemberUpdatePermission,
        'acme',
        'the members',
      ),
    ).rejects.toMatchObject({ name: 'NotAllowedError' });
  });

  it('has to keep an admin as an admin of one tenant, and not as one of all', async () => {
    const keepsAdmin = async (subject: string) =>
      (
        await admins.assertMay(
          mockCredentials.service(subject),
          tenantMemberUpdatePermission,
          'acme',
          'the members',
        )
      ).keepAdmin;
    await expect(keepsAdmin('external:deploy')).resolves.toBe(true);
    await expect(keepsAdmin('external:ci')).resolves.toBe(false);
  });
});
