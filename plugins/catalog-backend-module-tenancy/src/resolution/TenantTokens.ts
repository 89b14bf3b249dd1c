import type { LoggerService } from '@backstage/backend-plugin-api';
import { InputError } from '@backstage/errors';
import jwt from 'jsonwebtoken';
import { createSecretKey, type KeyObject } from 'node:crypto';
import { bearerToken } from './bearerToken';

// RFC 7518, section 3.2 requires a key at least as long as the hash.
const MIN_SECRET_BYTES = 32;

/** The content of a token with a valid signature. */
export interface TenantToken {
  /** May not have the form of a slug. */
  tenantSlug: string;
  /** Whether the token has expired; it then names no tenant. */
  expired: boolean;
}

/**
 * Verifies the tokens of tenants: JSON Web Tokens with a claim `tenantSlug`, signed
 * with HS256.
 */
export class TenantTokens {
  /**
   * @param options - `secrets`: a token signed with any of them is valid
   * @throws `InputError` if a secret is a PEM key
   */
  static create(options: {
    secrets: readonly string[];
    logger: LoggerService;
  }): TenantTokens {
    const { secrets, logger } = options;
    return new TenantTokens(secrets.map(secret => toKey(secret, logger)));
  }

  private constructor(private readonly keys: KeyObject[]) {}

  /** The valid tenant's token in a header `Authorization`, if any. */
  fromHeader(authorization: string | undefined): TenantToken | undefined {
    const token = bearerToken(authorization);
    return token === undefined ? undefined : this.verify(token);
  }

  /** Undefined for an invalid token, or one without the claim. */
  verify(token: string): TenantToken | undefined {
    for (const key of this.keys) {
      const verified = verifyBy(key, token);
      if (verified) {
        return verified;
      }
    }
    return undefined;
  }
}

function toKey(secret: string, logger: LoggerService): KeyObject {
  if (/-----BEGIN [A-Z ]+-----/.test(secret)) {
    // A public key is not secret, so anyone could sign tokens with it.
    throw new InputError(
      `Invalid configuration value at 'tenancy.jwtSecret': a PEM encoded key, expected a secret that only you and the issuer of the tokens have`,
    );
  }
  const bytes = Buffer.from(secret, 'utf8');
  if (bytes.length < MIN_SECRET_BYTES) {
    logger.warn(
      `The secret at 'tenancy.jwtSecret' has ${bytes.length} bytes and can be guessed from a token, expected at least ${MIN_SECRET_BYTES} random bytes`,
    );
  }
  return createSecretKey(bytes);
}

function verifyBy(key: KeyObject, token: string): TenantToken | undefined {
  try {
    return read(key, token, { expired: false });
  } catch (error) {
    if (!(error instanceof jwt.TokenExpiredError)) {
      return undefined;
    }
  }
  try {
    return read(key, token, { expired: true });
  } catch {
    return undefined;
  }
}

function read(
  key: KeyObject,
  token: string,
  options: { expired: boolean },
): TenantToken | undefined {
  const { header, payload } = jwt.verify(token, key, {
    algorithms: ['HS256'],
    ignoreExpiration: options.expired,
    complete: true,
  });
  // RFC 7515, section 4.1.11: a token with an unsupported critical parameter is invalid. None
  // is supported here, and jsonwebtoken does not check this.
  if ('crit' in header) {
    return undefined;
  }
  const tenantSlug: unknown =
    typeof payload === 'string' ? undefined : payload.tenantSlug;
  return typeof tenantSlug === 'string' && tenantSlug.trim() !== ''
    ? { tenantSlug, expired: options.expired }
    : undefined;
}
