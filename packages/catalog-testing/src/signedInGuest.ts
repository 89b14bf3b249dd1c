import { authServiceFactory } from '@backstage/backend-defaults/auth';
import { httpAuthServiceFactory } from '@backstage/backend-defaults/httpAuth';
import { permissionsServiceFactory } from '@backstage/backend-defaults/permissions';
import { userInfoServiceFactory } from '@backstage/backend-defaults/userInfo';
import authBackend from '@backstage/plugin-auth-backend';
import guestProvider from '@backstage/plugin-auth-backend-module-guest-provider';
import permissionBackend from '@backstage/plugin-permission-backend';
import request from 'supertest';
import type { CatalogBackend } from './startCatalogBackend';

/**
 * A backend that signs in guests as a user and asks a permission policy, which the test
 * adds: the real services in place of those of `startTestBackend`.
 */
export function signedInGuest(userEntityRef: string) {
  return {
    features: [
      authServiceFactory,
      httpAuthServiceFactory,
      permissionsServiceFactory,
      userInfoServiceFactory,
      authBackend,
      guestProvider,
      permissionBackend,
    ],
    config: {
      auth: {
        providers: {
          guest: { userEntityRef, dangerouslyAllowOutsideDevelopment: true },
        },
      },
      permission: { enabled: true },
    },
  };
}

/** The token of the guest whom a backend signs in. */
export async function signIn({ server }: CatalogBackend): Promise<string> {
  const { body } = await request(server).get('/api/auth/guest/refresh');
  return body.backstageIdentity.token;
}
