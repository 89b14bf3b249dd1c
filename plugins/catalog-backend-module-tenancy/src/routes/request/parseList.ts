import { InputError } from '@backstage/errors';
import type { EntityOrder } from 'backstage-plugin-catalog-tenancy-node';

interface Pagination {
  limit?: number;
  offset?: number;
}

/**
 * Parses the parameters `limit`, `offset` and `after`, the cursor of an earlier response.
 *
 * @returns undefined if none of them is given, which requests all entities
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

/** The `after` of the next page. */
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

// Bounded, because each order field costs a look-up for each entity.
const MAX_ORDERS = 10;

/**
 * Parses the parameters `order`, such as `asc:metadata.name`, most significant first.
 *
 * @throws InputError for an invalid order, or too many
 */
export function parseOrder(
  orders: string[] | undefined,
): EntityOrder[] | undefined {
  if (orders && orders.length > MAX_ORDERS) {
    throw new InputError(
      `Invalid order parameters, expected at most ${MAX_ORDERS}, got ${orders.length}`,
    );
  }
  return orders?.map(text => {
    // Fields beginning with `$` would be operators.
    const match = /^(asc|desc):([^$].*)$/.exec(text);
    if (!match) {
      throw new InputError(
        `Invalid order parameter "${text}", expected "<asc or desc>:<field name>"`,
      );
    }
    return { order: match[1] as EntityOrder['order'], field: match[2] };
  });
}
