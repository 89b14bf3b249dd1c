import type {
  BackstageCredentials,
  BackstageUserPrincipal,
  LoggerService,
  UserInfoService,
} from '@backstage/backend-plugin-api';
import { signInRefsOf } from 'backstage-plugin-catalog-tenancy-node';
import type { Request } from 'express';
import { LRUCache } from 'lru-cache';
import { createHash } from 'node:crypto';
import { bearerToken } from '../resolution/bearerToken';

// How long groups are cached. Later, those of a new sign-in count.
const LONGEST_MS = 60_000;

const MOST_TOKENS = 10_000;

/**
 * The users and groups that a user may act for, as the sign-in resolver returned them. They
 * come from the identity catalog, for requests of every tenant.
 *
 * Backstage asks the auth plugin over HTTP. Results are cached by a hash of user and token, for a
 * minute; Backstage refuses an expired token itself.
 */
export class Ownership {
  readonly #known = new LRUCache<string, Promise<readonly string[]>>({
    max: MOST_TOKENS,
    ttl: LONGEST_MS,
  });

  constructor(private readonly options: { logger: LoggerService }) {}

  /**
   * The refs of users and groups that the user may act for.
   *
   * @throws `ServiceUnavailableError` if the auth plugin does not answer
   */
  async refsOf(
    req: Request | undefined,
    credentials: BackstageCredentials<BackstageUserPrincipal>,
    userInfo: UserInfoService,
  ): Promise<readonly string[]> {
    const ask = () => signInRefsOf(credentials, { ...this.options, userInfo });
    const token = req && userTokenOf(req);
    if (token === undefined) {
      return ask();
    }
    // Includes the user: if the credentials come from a cookie or another header, Backstage has
    // not verified this token.
    const key = createHash('sha256')
      .update(`${credentials.principal.userEntityRef} ${token}`)
      .digest('base64');
    const known = this.#known.get(key);
    if (known) {
      return known;
    }
    const refs = ask();
    this.#known.set(key, refs);
    refs.catch(() => this.#known.peek(key) === refs && this.#known.delete(key));
    return refs;
  }
}

/**
 * The user's token in the header `Authorization`. For a plugin on behalf of a user, the claim
 * `obo`: the token itself is new for each call.
 */
function userTokenOf(req: Request): string | undefined {
  const token = bearerToken(req.headers.authorization);
  try {
    const [, payload = ''] = token?.split('.') ?? [];
    const claims: unknown = JSON.parse(
      Buffer.from(payload, 'base64url').toString('utf8'),
    );
    const { obo } = claims as { obo?: unknown };
    return typeof obo === 'string' ? obo : token;
  } catch {
    return token;
  }
}
