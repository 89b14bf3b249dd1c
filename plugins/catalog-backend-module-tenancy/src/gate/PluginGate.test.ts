import { mockServices } from '@backstage/backend-test-utils';
import type { ActiveTenant } from 'backstage-plugin-catalog-tenancy-node';
import type { Request } from 'express';
import { PluginGate } from './PluginGate';

describe('a gate that is asked for what stays open', () => {
  const acme = { tenantId: 'id of acme', tenantSlug: 'acme' };

  it.each<[string, ActiveTenant | undefined, boolean, boolean]>([
    ['keeps a member in', acme, true, true],
    ['keeps nobody in who is no member any more', acme, false, false],
    ['keeps nobody in a tenant that is deleted', undefined, true, false],
    [
      'keeps nobody in a tenant whose slug another has by now',
      { ...acme, tenantId: 'id of another' },
      true,
      false,
    ],
  ])('%s', async (_, active, isMember, expected) => {
    const gate = new PluginGate({
      pluginId: 'aware',
      isShared: false,
      logger: mockServices.logger.mock(),
      admission: {
        admits: async () => isMember,
        credentialsOf: async () => undefined,
        roleOf: async () => undefined,
      },
      directory: { findActive: async () => active },
      resolve: (_req, _res, next) => next(),
    });
    expect(await gate.stillAdmits({} as Request, acme)).toBe(expected);
  });
});
