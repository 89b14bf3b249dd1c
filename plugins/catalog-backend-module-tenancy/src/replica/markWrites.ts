import {
  type ReadReplica,
  tenantOf,
} from 'backstage-plugin-catalog-tenancy-node';
import type { RequestHandler } from 'express';
import { whenClosed } from '../whenClosed';

const READING = ['GET', 'HEAD', 'OPTIONS'];

/**
 * Sends reads of a tenant to the primary after requests to the stock catalog or the tenant's
 * engine that may write, until the replica has replayed the writes. A request counts as a write
 * until the end of its response.
 */
export function markWrites(
  replica: Pick<ReadReplica, 'writing'>,
): RequestHandler {
  return (req, res, next) => {
    if (!READING.includes(req.method)) {
      whenClosed(res, replica.writing(tenantOf(req).tenantId));
    }
    next();
  };
}
