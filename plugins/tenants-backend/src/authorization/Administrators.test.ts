import { mockCredentials, mockServices } from '@backstage/backend-test-utils';
import {
  tenantCreatePermission,
  tenantReadPermission,
} from 'backstage-plugin-catalog-tenancy-node';
import { Administrators } from './Administrators';

const CI = 'external:ci';

const administrators = new Administrators({
  config: mockServices.rootConfig({ data: { tenancy: { admins: [CI] } } }),
  permissions: mockServices.permissions(),
});

describe('a service that is listed', () => {
  it('may do everything', async () => {
    const credentials = mockCredentials.service(CI);
    await expect(
      administrators.assertMay(credentials, tenantCreatePermission),
    ).resolves.toBeUndefined();
  });

  it.each([
    { permissionNames: ['tenancy.tenant.read'] },
    { permissionAttributes: { action: ['read' as const] } },
  ])(
    'may do no more than its token is restricted to: %j',
    async restriction => {
      const credentials = mockCredentials.service(CI, restriction);
      await administrators.assertMay(credentials, tenantReadPermission);
      await expect(
        administrators.assertMay(credentials, tenantCreatePermission),
      ).rejects.toMatchObject({ name: 'NotAllowedError' });
    },
  );
});
