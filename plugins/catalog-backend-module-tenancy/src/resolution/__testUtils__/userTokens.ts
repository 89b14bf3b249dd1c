import { generateKeyPairSync, sign as signBytes } from 'node:crypto';
import { seconds, sign } from './tokens';

const KEY_ID = 'key-of-the-tests';
const { privateKey, publicKey } = generateKeyPairSync('ec', {
  namedCurve: 'P-256',
});

export const publicJwk = {
  ...publicKey.export({ format: 'jwk' }),
  alg: 'ES256',
  use: 'sig',
  kid: KEY_ID,
};

/** A token of Backstage's own, for a user. */
export function userToken(userEntityRef: string, claims: object = {}): string {
  const exp = seconds(600);
  const iat = seconds(0);
  return signUser('vnd.backstage.user', {
    sub: userEntityRef,
    ent: [userEntityRef],
    iss: 'http://localhost/api/auth',
    aud: 'backstage',
    iat,
    exp,
    // Others can make the token of the cookie of it.
    uip: limitedToken(userEntityRef, { iat, exp }).split('.')[2],
    ...claims,
  });
}

/** What is in the cookie of a user, and in the token of a plugin on behalf of one. */
export function limitedToken(
  userEntityRef: string,
  times: { iat: number; exp: number } = { iat: seconds(0), exp: seconds(600) },
): string {
  const { iat, exp } = times;
  return signUser('vnd.backstage.limited-user', {
    sub: userEntityRef,
    iat,
    exp,
  });
}

/** To the byte as Backstage does it, which puts the parts of one token into another. */
function signUser(typ: string, claims: object): string {
  const encode = (part: object) =>
    Buffer.from(JSON.stringify(part)).toString('base64url');
  const unsigned = [
    encode({ typ, alg: 'ES256', kid: KEY_ID }),
    encode(claims),
  ].join('.');
  const signature = signBytes('sha256', Buffer.from(unsigned), {
    key: privateKey,
    dsaEncoding: 'ieee-p1363',
  });
  return `${unsigned}.${signature.toString('base64url')}`;
}

/** A token of an issuer that the configuration trusts by its JWKS. */
export function issuerToken(sub: string): string {
  return sign(
    {
      sub,
      iss: 'https://issuer.example',
      aud: 'portal',
      iat: seconds(0),
      exp: seconds(600),
    },
    { algorithm: 'ES256', header: { alg: 'ES256', kid: KEY_ID } },
    privateKey,
  );
}
