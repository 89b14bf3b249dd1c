import { CustomErrorBase } from '@backstage/errors';
import {
  type RateLimits,
  type TenantLimits,
  tenantOf,
  tenantSourceOf,
} from 'backstage-plugin-catalog-tenancy-node';
import type { RequestHandler } from 'express';
import { rateLimit } from 'express-rate-limit';

/** The tenant has sent more requests than it may. */
class TooManyRequestsError extends CustomErrorBase {
  name = 'TooManyRequestsError' as const;

  constructor() {
    super('The tenant has sent too many requests: send this one again later');
  }

  // A getter, for another property would be part of the body of the response.
  get statusCode(): number {
    return 429;
  }
}

/**
 * Refuses requests of a tenant that has sent too many, in this process, with status 429 and
 * `Retry-After`. Each response says what is left, by the headers that the draft of the IETF
 * has for that: `RateLimit-Policy` and `RateLimit`. Requests of a tenant without any limit
 * pass.
 *
 * A burst may come at once, and counts for as long as that many requests take at the
 * rate. What a plugin asks of another for a request of the tenant is not counted.
 *
 * @param configured - for tenants to which the registry gives no limit of their own
 */
export function limitRate(
  configured: RateLimits | undefined,
  limits: Pick<TenantLimits, 'of'>,
): RequestHandler {
  // The library has one interval for all that it counts, and a burst at a rate is one. Tenants
  // with equal limits share a counter of each: where the limit of a tenant changes, its count
  // begins anew.
  const counters = new Map<string, RequestHandler>();
  const counterOf = (rate: RateLimits): RequestHandler => {
    const key = `${rate.burst} at ${rate.requestsPerSecond}`;
    let counter = counters.get(key);
    if (!counter) {
      counter = countRequests(rate);
      counters.set(key, counter);
    }
    return counter;
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

function countRequests({ requestsPerSecond, burst }: RateLimits) {
  return rateLimit({
    windowMs: (burst / requestsPerSecond) * 1000,
    limit: burst,
    standardHeaders: 'draft-8',
    legacyHeaders: false,
    identifier: 'tenant',
    keyGenerator: req => tenantOf(req).tenantId,
    skip: req => tenantSourceOf(req) === 'call',
    // It warns of counters that are made while a request is handled, which may be one for each
    // request. Here there is one for each limit that any tenant has had.
    validate: { creationStack: false },
    // It sets Retry-After before.
    handler: (_req, _res, next) => next(new TooManyRequestsError()),
  });
}
