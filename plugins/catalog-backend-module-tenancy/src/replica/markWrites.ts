import {
  type ReadReplica,
  tenantOf,
} from 'backstage-plugin-catalog-tenancy-node';
import type { RequestHandler } from 'express';

const READING = ['GET', 'HEAD', 'OPTIONS'];

/**
 * Has reads of a tenant see what the stock catalog, or the tenant's engine, has written by
 * the time it answers. Each request that may write counts as a write, from here to the end of
 * its response: a mark that ends late costs the primary a read, and nothing else.
 */
export function markWrites(
  replica: Pick<ReadReplica, 'writing'>,
): RequestHandler {
  return (req, res, next) => {
    if (!READING.includes(req.method)) {
      res.once('close', replica.writing(tenantOf(req).tenantId));
    }
    next();
  };
}
