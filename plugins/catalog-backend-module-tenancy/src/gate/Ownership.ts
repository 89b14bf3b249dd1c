import type {
  BackstageCredentials,
  BackstageUserPrincipal,
  LoggerService,
  UserInfoService,
} from '@backstage/backend-plugin-api';
import { ServiceUnavailableError } from '@backstage/errors';
import { withoutTenant } from 'backstage-plugin-catalog-tenancy-node';
import type { Request } from 'express';

// After that, the groups of a new sign-in count.
const LONGEST_MS = 60_000;

const MOST_TOKENS = 10_000;

const BEARER = /^Bearer[ ]+(\S+)$/i;

const USER_OR_GROUP = /^(user|group):/i;

interface Entry {
  refs: Promise<readonly string[]>;
  expiresAt: number;
}

/**
 * What the users behind tokens own and belong to, by what the sign-in resolver said: the
 * identity catalog counts, for requests of every tenant.
 *
 * Backstage has to ask the auth plugin over HTTP. Answers are remembered for each user and
 * token, for a minute at most and no longer than the token is valid.
 */
export class Ownership {
  readonly #entries = new Map<string, Entry>();
  readonly #logger: LoggerService;

  constructor(options: { logger: LoggerService }) {
    this.#logger = options.logger;
  }

  /**
   * The references of users and groups that the user may act for.
   *
   * @throws `ServiceUnavailableError` where the auth plugin does not say
   */
  async refsOf(
    req: Request | undefined,
    credentials: BackstageCredentials<BackstageUserPrincipal>,
    userInfo: UserInfoService,
  ): Promise<readonly string[]> {
    const token = req && userTokenOf(req);
    if (token === undefined) {
      return this.#ask(credentials, userInfo);
    }
    // With the user: the credentials may come from elsewhere, such as a cookie or another
    // header, and then Backstage has not verified the token of this one.
    const key = `${credentials.principal.userEntityRef} ${token}`;
    const now = Date.now();
    const known = this.#entries.get(key);
    if (known && known.expiresAt > now) {
      return known.refs;
    }
    const refs = this.#ask(credentials, userInfo);
    const entry = {
      refs,
      expiresAt: Math.min(
        now + LONGEST_MS,
        credentials.expiresAt?.getTime() ?? Infinity,
      ),
    };
    // A later entry is behind all earlier ones.
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    if (this.#entries.size > MOST_TOKENS) {
      const [oldest] = this.#entries.keys();
      this.#entries.delete(oldest);
    }
    try {
      return await refs;
    } catch (error) {
      if (this.#entries.get(key) === entry) {
        this.#entries.delete(key);
      }
      throw error;
    }
  }

  async #ask(
    credentials: BackstageCredentials<BackstageUserPrincipal>,
    userInfo: UserInfoService,
  ): Promise<readonly string[]> {
    try {
      const { ownershipEntityRefs } = await userInfo.getUserInfo(
        withoutTenant(credentials),
      );
      // A resolver may claim anything else, such as the subject of a service.
      return ownershipEntityRefs.filter(ref => USER_OR_GROUP.test(ref));
    } catch (error) {
      if (isNotFound(error)) {
        // The auth plugin knows only those whom it has signed in itself.
        return [];
      }
      this.#logger.warn(`The groups of a user can't be found out: ${error}`);
      throw new ServiceUnavailableError(
        'The groups of the user cannot be read at the moment',
      );
    }
  }
}

/**
 * The token of the user in the header `Authorization`: of one that a plugin uses on behalf
 * of a user, which is made anew for each call, the part that stays the same.
 */
function userTokenOf(req: Request): string | undefined {
  const token = req.headers.authorization?.match(BEARER)?.[1];
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

function isNotFound(error: unknown): boolean {
  return (error as { statusCode?: unknown } | undefined)?.statusCode === 404;
}
