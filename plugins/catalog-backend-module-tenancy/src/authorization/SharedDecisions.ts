import { createHash } from 'node:crypto';
import type { PermissionsService } from '@backstage/backend-plugin-api';
import { AuthorizeResult } from '@backstage/plugin-permission-common';
import { Coalescer } from 'backstage-plugin-catalog-tenancy-node';
import type { Request } from 'express';
import { LRUCache } from 'lru-cache';

type AuthorizeConditional = PermissionsService['authorizeConditional'];
type Decisions = ReturnType<AuthorizeConditional>;

const BEARER = /^Bearer[ ]+(\S+)$/i;

/** Of different callers and tenants; the oldest make room. */
const MOST_KEPT = 10_000;

/**
 * What users may read, asked for once for all requests that a user sends at the same time,
 * as a page does. To ask is two calls over HTTP and several signatures, which cost more
 * than most reads.
 *
 * Without `maxAgeMs`, it is a queue of one, not a cache: a request that comes while the same
 * question is under way waits for its end, and shares the next answer with all others that
 * wait. So the permission backend always decides after the request came.
 *
 * With it, what was allowed holds for further requests with the same token until so long
 * after it was asked. A refusal and an error hold for nobody who comes after them.
 */
export class SharedDecisions {
  readonly #asked = new Coalescer();
  readonly #kept: LRUCache<string, Decisions> | undefined;
  readonly #permissions: Pick<PermissionsService, 'authorizeConditional'>;

  constructor(
    permissions: Pick<PermissionsService, 'authorizeConditional'>,
    options: { maxAgeMs?: number; clock?: Pick<Performance, 'now'> } = {},
  ) {
    const { maxAgeMs, clock = performance } = options;
    this.#permissions = permissions;
    // For the cache, no time means for ever.
    this.#kept = maxAgeMs
      ? new LRUCache({
          max: MOST_KEPT,
          ttl: maxAgeMs,
          ttlResolution: 0,
          perf: clock,
        })
      : undefined;
  }

  /** How many different questions are under way. */
  get size(): number {
    return this.#asked.size;
  }

  /** The permissions of who sends a request of a tenant. */
  of(
    req: Pick<Request, 'headers'>,
    tenantId: string,
  ): Pick<PermissionsService, 'authorizeConditional'> {
    return {
      authorizeConditional: (queries, options) => {
        const ask = () =>
          this.#permissions.authorizeConditional(queries, options);
        const principal: unknown =
          options && 'credentials' in options
            ? options.credentials.principal
            : undefined;
        const token = BEARER.exec(req.headers.authorization ?? '')?.[1];
        // Services get their answer without a call.
        return token !== undefined && isUser(principal)
          ? this.#share(
              tenantId,
              // With who it is: credentials may come from elsewhere than this header.
              digest([tenantId, token, principal, queries]),
              ask,
            )
          : ask();
      },
    };
  }

  #share(tenantId: string, key: string, ask: () => Decisions): Decisions {
    return (
      this.#kept?.get(key) ??
      this.#asked.ask(tenantId, key, () => {
        const answer = ask();
        if (this.#kept) {
          this.#keep(this.#kept, key, answer);
        }
        return answer;
      })
    );
  }

  /** From the moment of the question: the permission backend may decide right then. */
  #keep(
    kept: LRUCache<string, Decisions>,
    key: string,
    answer: Decisions,
  ): void {
    kept.set(key, answer);
    const forget = () => {
      if (kept.peek(key) === answer) {
        kept.delete(key);
      }
    };
    answer.then(
      decisions =>
        decisions.some(({ result }) => result === AuthorizeResult.DENY) &&
        forget(),
      forget,
    );
  }
}

/** Of whom and what is asked: what stays in memory shows no token. */
function digest(question: unknown[]): string {
  return createHash('sha256').update(JSON.stringify(question)).digest('base64');
}

function isUser(principal: unknown): boolean {
  return (principal as { type?: unknown } | undefined)?.type === 'user';
}
