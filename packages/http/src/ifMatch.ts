import { InputError } from '@backstage/errors';
import type { Request } from 'express';

// RFC 9110, 8.8.3: an entity tag is opaque text in quotes, which may have commas, with W/ before it
// where it is weak.
const ENTITY_TAG = /(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"/g;

/** In place of a tag; no header has it. */
const TAG = '\0';

/**
 * Reads the `If-Match` header as the revisions that the caller accepts (RFC 9110,
 * 13.1.1): `undefined` is any, and an empty list none, for If-Match compares strongly, and by
 * that a weak tag never matches. A proxy that compresses answers makes tags weak.
 *
 * @throws InputError if the header is neither `*` nor a list of entity tags
 */
export function parseIfMatch(req: Request): string[] | undefined {
  const header = req.get('If-Match')?.trim();
  // `*` means any state of what exists; a write to what is missing fails anyway.
  if (header === undefined || header === '*') {
    return undefined;
  }
  const revisions: string[] = [];
  const elements = header
    .replace(ENTITY_TAG, (_tag, weak: string | undefined, revision: string) => {
      if (weak === undefined) {
        revisions.push(revision);
      }
      return TAG;
    })
    .split(',')
    .map(element => element.trim())
    // RFC 9110, 5.6.1: a list may have empty elements.
    .filter(element => element !== '');
  if (elements.length === 0 || elements.some(element => element !== TAG)) {
    throw new InputError(
      `The If-Match header must be * or a list of entity tags such as "1", got ${JSON.stringify(
        header.slice(0, 60),
      )}`,
    );
  }
  return revisions;
}

/**
 * What `If-Match: *` and `If-None-Match: *` demand of whether there is what a write replaces: that
 * there is, and that there is not (RFC 9110, 13.1).
 */
export function parseDemands(req: Request): boolean[] {
  return [true, false].filter(
    isThere => req.get(isThere ? 'If-Match' : 'If-None-Match')?.trim() === '*',
  );
}
