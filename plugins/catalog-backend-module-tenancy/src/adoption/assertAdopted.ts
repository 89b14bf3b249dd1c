import { ServiceUnavailableError } from '@backstage/errors';
import {
  type ActiveTenant,
  type CatalogAdoption,
  DEFAULT_TENANT_ID,
  DEFAULT_TENANT_SLUG,
} from 'backstage-plugin-catalog-tenancy-node';
import type { Response } from 'express';

const RETRY_AFTER_SECONDS = 5;

/**
 * Refuses reads of the default tenant until the catalog is adopted: before that its
 * catalog would look empty, which clients take for the truth and act upon.
 *
 * Each operation calls it, so that no spelling of a path gets past it.
 *
 * @throws ServiceUnavailableError
 */
export function assertAdopted(
  adoption: Pick<CatalogAdoption, 'isComplete'>,
  { tenantId }: ActiveTenant,
  res: Response,
): void {
  if (!adoption.isComplete && tenantId === DEFAULT_TENANT_ID) {
    res.setHeader('Retry-After', String(RETRY_AFTER_SECONDS));
    throw new ServiceUnavailableError(
      `The catalog of the tenant '${DEFAULT_TENANT_SLUG}' is being made from that of ` +
        'the stock catalog, and is not complete yet. Try again in a few seconds; ' +
        'should it take longer, the log says why.',
    );
  }
}
