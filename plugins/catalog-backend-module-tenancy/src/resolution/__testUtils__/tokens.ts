import { createHmac } from 'node:crypto';
import jwt, { type SignOptions } from 'jsonwebtoken';

export const SECRET = 'a secret of the tests that has over 32 bytes';

/** A token that names a tenant, signed as tenants' tokens are unless told otherwise. */
export function sign(
  claims: object | string,
  options: SignOptions = {},
  secret: jwt.Secret = SECRET,
): string {
  return jwt.sign(claims, secret, { algorithm: 'HS256', ...options });
}

/** Puts parts of a token together that no library would. */
export function assemble(
  header: object,
  claims: object,
  signature: string = '',
): string {
  const encode = (part: object) =>
    Buffer.from(JSON.stringify(part)).toString('base64url');
  return `${encode(header)}.${encode(claims)}.${signature}`;
}

export function seconds(fromNow: number): number {
  return Math.floor(Date.now() / 1000) + fromNow;
}

/** A token with parameters in its header that no library would sign, yet signed. */
export function signWithHeader(parameters: object, claims: object): string {
  const unsigned = assemble(
    { alg: 'HS256', typ: 'JWT', ...parameters },
    claims,
  ).slice(0, -1);
  return `${unsigned}.${createHmac('sha256', SECRET)
    .update(unsigned)
    .digest('base64url')}`;
}
