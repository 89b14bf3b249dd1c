import { parseIfMatch as parseRevisions } from '@internal/http';
import {
  type MockupWriteCondition,
  PreconditionFailedError,
} from 'backstage-plugin-mockup-node';
import type { Request } from 'express';

/**
 * Reads the `If-Match` header as the revisions that the caller accepts.
 *
 * @throws InputError if the header is neither `*` nor a list of entity tags
 * @throws PreconditionFailedError if no tag in it can match
 */
export function parseIfMatch(req: Request): MockupWriteCondition {
  const ifRevisionIn = parseRevisions(req);
  if (ifRevisionIn?.length === 0) {
    throw new PreconditionFailedError(
      'The If-Match header has only weak entity tags (W/"…"), which never match: send the ETag that the backend gave, which a proxy may have made weak',
    );
  }
  return ifRevisionIn ? { ifRevisionIn } : {};
}

/**
 * Refuses the `If-Match` header of a request for what has no entity tag, which never matches one.
 *
 * @throws InputError if the header is neither `*` nor a list of entity tags
 * @throws PreconditionFailedError for a list
 */
export function refuseIfMatch(req: Request): void {
  if (parseRevisions(req)) {
    throw new PreconditionFailedError(
      'The If-Match header must be left out: this has no entity tag that a write is compared with',
    );
  }
}
