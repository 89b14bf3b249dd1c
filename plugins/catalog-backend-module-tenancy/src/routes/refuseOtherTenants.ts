import { NotAllowedError } from '@backstage/errors';
import {
  DEFAULT_TENANT_ID,
  DEFAULT_TENANT_SLUG,
  tenantOf,
} from 'backstage-plugin-catalog-tenancy-node';
import type { RequestHandler } from 'express';

/**
 * Lets a request through to the stock catalog if it belongs to the default tenant,
 * whose entities the stock catalog has, and refuses it for every other tenant.
 *
 * It looks at no path: whatever comes this far is refused, however it is spelled.
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
