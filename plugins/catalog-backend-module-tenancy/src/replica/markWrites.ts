import {
  DEFAULT_TENANT_ID,
  type ReadReplica,
} from 'backstage-plugin-catalog-tenancy-node';
import type { RequestHandler } from 'express';

const READING = ['GET', 'HEAD', 'OPTIONS'];

/**
 * Has reads of the default tenant see what the stock catalog has written by the time
 * it answers. Each request that may write counts as a write, from here to the end of
 * its response: a mark that ends late costs the primary a read, and nothing else.
 */
export function markWrites(
  replica: Pick<ReadReplica, 'writing'>,
): RequestHandler {
  return (req, res, next) => {
    if (!READING.includes(req.method)) {
      res.once('close', replica.writing(DEFAULT_TENANT_ID));
    }
    next();
  };
}
