import { NotAllowedError, NotFoundError } from '@backstage/errors';
import {
  DEFAULT_TENANT_ID,
  DEFAULT_TENANT_SLUG,
  type TenantEngines,
  tenantOf,
} from 'backstage-plugin-catalog-tenancy-node';
import type { RequestHandler } from 'express';

/**
 * Lets a request through to the stock catalog if it belongs to the default tenant,
 * whose entities the stock catalog has, and refuses it for every other tenant.
 *
 * It ignores the path: every request that comes this far is refused, in any spelling.
 */
export function refuseOtherTenants(): RequestHandler {
  return (req, _res, next) => {
    const { tenantId, tenantSlug } = tenantOf(req);
    if (tenantId !== DEFAULT_TENANT_ID) {
      throw new NotAllowedError(
        `${req.method} ${req.path} is not available to the tenant '${tenantSlug}': ` +
          `it is answered by a catalog that knows no tenants, which only the tenant '${DEFAULT_TENANT_SLUG}' may use`,
      );
    }
    next();
  };
}

/**
 * Lets a request through to the stock catalog if it belongs to the default tenant, and
 * hands every other to the engine of its tenant.
 *
 * It looks at no path, and none of those requests goes on to the stock catalog, even if an
 * engine leaves it unanswered.
 */
export function forwardOtherTenants(engines: TenantEngines): RequestHandler {
  return (req, res, next) => {
    if (tenantOf(req).tenantId === DEFAULT_TENANT_ID) {
      next();
    } else {
      engines.handler(req, res, error =>
        next(error instanceof Error ? error : new NotFoundError()),
      );
    }
  };
}
