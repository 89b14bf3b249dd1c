import { ServiceUnavailableError } from '@backstage/errors';
import {
  type CatalogAdoption,
  DEFAULT_TENANT_ID,
  DEFAULT_TENANT_SLUG,
} from 'backstage-plugin-catalog-tenancy-node';
import type { Request, RequestHandler } from 'express';
import { requestTenant } from '../resolution';
import type { Operations } from '../routes/operations';

const RETRY_AFTER_SECONDS = 5;

/**
 * Keeps the default tenant's reads waiting until the catalog is adopted: before that
 * its catalog would look empty, which clients take for the truth and act upon.
 *
 * It is around the operations and not in front of routes, so that no spelling of a
 * path gets past it.
 */
export function untilAdopted(
  operations: Operations,
  adoption: CatalogAdoption,
): Operations {
  const isWaiting = (req: Request) =>
    !adoption.isComplete && requestTenant(req).tenantId === DEFAULT_TENANT_ID;

  const guard =
    (handler: RequestHandler): RequestHandler =>
    (req, res, next) => {
      if (isWaiting(req)) {
        res.setHeader('Retry-After', String(RETRY_AFTER_SECONDS));
        throw new ServiceUnavailableError(
          `The catalog of the tenant '${DEFAULT_TENANT_SLUG}' is being made from that of ` +
            'the stock catalog, and is not complete yet. Try again in a few seconds; ' +
            'should it take longer, the log says why.',
        );
      }
      return handler(req, res, next);
    };

  return {
    read: (...args) => guard(operations.read(...args)),
  };
}
