import { NotFoundError } from '@backstage/errors';
import {
  DEFAULT_TENANT_ID,
  type TenantEngines,
  tenantOf,
} from 'backstage-plugin-catalog-tenancy-node';
import type { RequestHandler } from 'express';

/**
 * Passes requests of the default tenant on to the stock catalog, and all others to the engine
 * of their tenant.
 *
 * Ignores the path. A request of another tenant never reaches the stock catalog, even if the
 * engine does not answer it.
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
