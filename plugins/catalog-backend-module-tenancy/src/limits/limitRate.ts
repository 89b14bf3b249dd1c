import { CustomErrorBase } from '@backstage/errors';
import {
  type RateLimits,
  type TenantLimits,
  tenantOf,
  tenantSourceOf,
} from 'backstage-plugin-catalog-tenancy-node';
import type { RequestHandler } from 'express';
import { MemoryStore, rateLimit } from 'express-rate-limit';

/** The tenant has exceeded its rate limit. */
class TooManyRequestsError extends CustomErrorBase {
  name = 'TooManyRequestsError' as const;

  constructor() {
    super('The tenant has sent too many requests: send this one again later');
  }

  // A getter, because Backstage puts other properties into the body of the response.
  get statusCode(): number {
    return 429;
  }
}

/**
 * Refuses requests that exceed a tenant's rate limit in this process, with status 429 and
 * `Retry-After`. Each response has the headers of the IETF draft, `RateLimit-Policy` and
 * `RateLimit`. Tenants without a limit are not affected.
 *
 * The window is the time that a burst takes at the rate. Calls between plugins are not counted.
 *
 * @param configured - the limits of tenants without limits in the registry
 */
export function limitRate(
  configured: RateLimits | undefined,
  limits: Pick<TenantLimits, 'of'>,
): RequestHandler {
  // One instance of express-rate-limit has one window and limit, so tenants with equal limits
  // share an instance. A changed limit restarts the tenant's count.
  const counters = new Map<string, Counter>();
  const counterOf = (rate: RateLimits): RequestHandler => {
    const key = `${rate.burst} at ${rate.requestsPerSecond}`;
    let counter = counters.get(key);
    if (!counter) {
      // Each has a timer. One that was not used in its window has nothing to remember.
      for (const [other, { isOver, stop }] of counters) {
        if (isOver()) {
          stop();
          counters.delete(other);
        }
      }
      counter = countRequests(rate);
      counters.set(key, counter);
    }
    return counter.count;
  };
  return (req, res, next) => {
    const rate = limits.of(tenantOf(req).tenantId)?.rate ?? configured;
    if (rate) {
      counterOf(rate)(req, res, next);
    } else {
      next();
    }
  };
}

interface Counter {
  count: RequestHandler;
  /** Whether the last request was counted a window ago. */
  isOver(): boolean;
  /** Stops the timer. */
  stop(): void;
}

function countRequests({ requestsPerSecond, burst }: RateLimits): Counter {
  const windowMs = (burst / requestsPerSecond) * 1000;
  const store = new MemoryStore();
  let lastAt = 0;
  const count = rateLimit({
    windowMs,
    limit: burst,
    store,
    standardHeaders: 'draft-8',
    legacyHeaders: false,
    identifier: 'tenant',
    keyGenerator: req => {
      lastAt = Date.now();
      return tenantOf(req).tenantId;
    },
    skip: req => tenantSourceOf(req) === 'call',
    // Disables the warning about instances created in a request handler: there is one for each
    // distinct limit, not for each request.
    validate: { creationStack: false },
    // The library has set Retry-After before.
    handler: (_req, _res, next) => next(new TooManyRequestsError()),
  });
  return {
    count,
    isOver: () => lastAt + windowMs < Date.now(),
    stop: () => store.shutdown(),
  };
}
