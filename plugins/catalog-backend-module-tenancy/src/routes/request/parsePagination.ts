import { InputError } from '@backstage/errors';

export interface Pagination {
  limit?: number;
  offset?: number;
}

/**
 * Parses the parameters `limit`, `offset` and `after`, which is a page that an
 * earlier answer pointed at.
 *
 * @returns nothing if there is none of them: then all entities are asked for
 * @throws InputError that names the parameter that is out of bounds
 */
export function parsePagination(query: {
  limit?: number;
  offset?: number;
  after?: string;
}): Pagination | undefined {
  const { limit, offset, after } = query;
  if (limit === undefined && offset === undefined && after === undefined) {
    return undefined;
  }
  if (limit === 0) {
    throw new InputError(`Invalid limit, must be greater than zero`);
  }
  return { limit, offset, ...(after && parseAfter(after)) };
}

/** What `after` is to be for the page that follows this one. */
export function stringifyNextPage({
  limit = 0,
  offset = 0,
}: Pagination): string {
  const next: Pagination = { limit, offset: offset + limit };
  return Buffer.from(JSON.stringify(next)).toString('base64');
}

function parseAfter(after: string): Pagination {
  let cursor: unknown;
  try {
    cursor = JSON.parse(Buffer.from(after, 'base64').toString('utf8'));
  } catch {
    throw new InputError('Malformed after cursor, could not be parsed');
  }
  const { limit, offset } = Object(cursor);
  const page: Pagination = {};
  if (limit !== undefined) {
    page.limit = assertAtLeast(1, limit, 'limit');
  }
  if (offset !== undefined) {
    page.offset = assertAtLeast(0, offset, 'offset');
  }
  return page;
}

function assertAtLeast(least: number, value: unknown, name: string): number {
  if (
    typeof value !== 'number' ||
    !Number.isSafeInteger(value) ||
    value < least
  ) {
    throw new InputError(
      `Malformed after cursor, ${name} was not an integer of ${least} or more`,
    );
  }
  return value;
}
