import { authServiceFactory } from '@backstage/backend-defaults/auth';
import { httpAuthServiceFactory } from '@backstage/backend-defaults/httpAuth';
import { permissionsServiceFactory } from '@backstage/backend-defaults/permissions';
import { userInfoServiceFactory } from '@backstage/backend-defaults/userInfo';
import { createBackendModule } from '@backstage/backend-plugin-api';
import permissionBackend from '@backstage/plugin-permission-backend';
import type { PermissionPolicy } from '@backstage/plugin-permission-node';
import { policyExtensionPoint } from '@backstage/plugin-permission-node/alpha';
import { startCatalogBackend } from '@internal/catalog-testing/startCatalogBackend';
import { takeServices } from '@internal/catalog-testing/takeServices';
import {
  tenantMemberStoreServiceRef,
  type TenantRole,
} from 'backstage-plugin-catalog-tenancy-node';
import type { ClientConfig } from 'pg';
import request from 'supertest';
import { SECRET } from '../../resolution/__testUtils__/tokens';
import { userToken } from '../../resolution/__testUtils__/userTokens';
import { askingPlugin } from './askingPlugin';
import { IdentityProvider } from '../../resolution/__testUtils__/identityProvider';

/** The token of the external service `ci`. */
export const CI_TOKEN = 'static-token-of-the-service';

/**
 * Starts a backend with real sign-in, permissions and members, a tenant-aware plugin `aware` and
 * a shared one, `news`.
 */
export async function startPeopleBackend(options: {
  connection: ClientConfig;
  policy: PermissionPolicy;
  permissionsEnabled?: boolean;
  /** The users by name, and their groups according to the sign-in. */
  identities: Record<string, string[]>;
}) {
  const { connection, policy, permissionsEnabled = true } = options;
  const identity = new IdentityProvider(
    Object.fromEntries(
      Object.entries(options.identities).map(([name, groups]) => [
        `user:default/${name}`,
        [`user:default/${name}`, ...groups],
      ]),
    ),
  );
  const { feature, services } = takeServices({
    members: tenantMemberStoreServiceRef,
  });
  const backend = await startCatalogBackend({
    connection,
    enabled: true,
    features: [
      authServiceFactory,
      httpAuthServiceFactory,
      permissionsServiceFactory,
      userInfoServiceFactory,
      identity.plugin,
      permissionBackend,
      createBackendModule({
        pluginId: 'permission',
        moduleId: 'policy-of-the-test',
        register: env =>
          env.registerInit({
            deps: { policies: policyExtensionPoint },
            init: async ({ policies }) => policies.setPolicy(policy),
          }),
      }),
      feature,
      askingPlugin('aware', { tenantAware: true }),
      askingPlugin('news'),
    ],
    config: {
      permission: { enabled: permissionsEnabled },
      backend: {
        auth: {
          externalAccess: [
            { type: 'static', options: { token: CI_TOKEN, subject: 'ci' } },
            {
              type: 'tenant',
              options: {},
              accessRestrictions: [{ plugin: 'aware' }],
            },
          ],
        },
      },
      tenancy: {
        membership: 'required',
        admins: ['user:default/root'],
        jwtSecret: SECRET,
        plugins: { shared: ['news'] },
      },
    },
  });

  return {
    ...backend,
    tenants: backend.tenants,
    async createTenant(
      slug: string,
      members: Record<string, TenantRole>,
    ): Promise<string> {
      const tenantId = await backend.createTenant(slug);
      for (const [principal, role] of Object.entries(members)) {
        await services.members.put(slug, { principal, role }, { by: 'x' });
      }
      return tenantId;
    },
    members: services.members,
    /** Sends a request with a token, or as the user of a name. */
    send(
      method: 'get' | 'post' | 'delete',
      path: string,
      { as, token, tenant }: { as?: string; token?: string; tenant: string },
      body?: object,
    ) {
      const sent = request(backend.server)
        [method](`/api/${path}`)
        .set(
          'Authorization',
          `Bearer ${
            token ?? userToken(`user:default/${as}`, { ent: undefined })
          }`,
        )
        .set('X-Tenant-Slug', tenant);
      return body ? sent.send(body) : sent;
    },
  };
}
