import { CustomErrorBase } from '@backstage/errors';
import {
  type RateLimits,
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
 * has for that: `RateLimit-Policy` and `RateLimit`.
 *
 * A burst may come at once, and counts for as long as that many requests take at the
 * configured rate. What a plugin asks of another for a request of the tenant is not counted.
 */
export function limitRate({
  requestsPerSecond,
  burst,
}: RateLimits): RequestHandler {
  return rateLimit({
    windowMs: (burst / requestsPerSecond) * 1000,
    limit: burst,
    standardHeaders: 'draft-8',
    legacyHeaders: false,
    identifier: 'tenant',
    keyGenerator: req => tenantOf(req).tenantId,
    skip: req => tenantSourceOf(req) === 'call',
    // It sets Retry-After before.
    handler: (_req, _res, next) => next(new TooManyRequestsError()),
  });
}
