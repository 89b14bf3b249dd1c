import { InputError } from '@backstage/errors';
import {
  type MockupWriteCondition,
  PreconditionFailedError,
} from 'backstage-plugin-mockup-node';
import type { Request } from 'express';

// RFC 9110, 8.8.3: an entity tag is opaque text in quotes, with W/ before it
// where it is weak.
const ENTITY_TAG = /^(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"$/;

/**
 * Reads the `If-Match` header as the revisions that the caller accepts (RFC 9110,
 * 13.1.1).
 *
 * @throws InputError if the header is neither `*` nor a list of entity tags
 * @throws PreconditionFailedError if no tag in it can ever match
 */
export function parseIfMatch(req: Request): MockupWriteCondition {
  const header = req.get('If-Match')?.trim();
  // `*` means any state of an existing mockup; a write to a missing one fails
  // anyway.
  if (header === undefined || header === '*') {
    return {};
  }
  const tags = header.split(',').map(part => {
    const match = ENTITY_TAG.exec(part.trim());
    if (!match) {
      throw new InputError(
        `The If-Match header must be * or a list of entity tags such as "1", got ${JSON.stringify(
          header.slice(0, 60),
        )}`,
      );
    }
    return { isWeak: match[1] !== undefined, revision: match[2] };
  });
  // If-Match compares strongly, and by that a weak tag never matches. The
  // plugin sends none: a proxy that compresses answers makes tags weak.
  const strong = tags.filter(tag => !tag.isWeak);
  if (strong.length === 0) {
    throw new PreconditionFailedError(
      'The If-Match header has only weak entity tags, which never match',
    );
  }
  return { ifRevisionIn: strong.map(({ revision }) => revision) };
}
