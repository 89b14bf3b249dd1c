import {
  coreServices,
  createBackendPlugin,
} from '@backstage/backend-plugin-api';
import { Router } from 'express';
import { generateKeyPairSync } from 'node:crypto';
import { seconds, sign } from './tokens';

const KEY_ID = 'key-of-the-tests';
const { privateKey, publicKey } = generateKeyPairSync('ec', {
  namedCurve: 'P-256',
});

/** Publishes the key of {@link userToken}, as the auth plugin of a backend does. */
export const keyPublisher = createBackendPlugin({
  pluginId: 'auth',
  register(env) {
    env.registerInit({
      deps: { httpRouter: coreServices.httpRouter },
      async init({ httpRouter }) {
        const path = '/.well-known/jwks.json';
        httpRouter.addAuthPolicy({ path, allow: 'unauthenticated' });
        httpRouter.use(
          Router().get(path, (_req, res) => {
            const jwk = publicKey.export({ format: 'jwk' });
            res.json({
              keys: [{ ...jwk, alg: 'ES256', use: 'sig', kid: KEY_ID }],
            });
          }),
        );
      },
    });
  },
});

/** A token of Backstage's own, for a user. */
export function userToken(userEntityRef: string, claims: object = {}): string {
  return sign(
    {
      sub: userEntityRef,
      ent: [userEntityRef],
      iss: 'http://localhost/api/auth',
      aud: 'backstage',
      exp: seconds(600),
      ...claims,
    },
    {
      algorithm: 'ES256',
      header: { alg: 'ES256', typ: 'vnd.backstage.user', kid: KEY_ID },
    },
    privateKey,
  );
}
