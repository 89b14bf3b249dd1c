import { InputError } from '@backstage/errors';
import type { EntityOrder } from 'backstage-plugin-catalog-tenancy-node';

// PostgreSQL looks into each entity once for each.
const MAX_ORDERS = 10;

/**
 * Parses the parameters `order`, such as `asc:metadata.name`. The first counts most.
 *
 * @throws InputError that names what is of another form, or if there are too many
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
    // An operator of predicates is no field of an entity.
    const match = /^(asc|desc):([^$].*)$/.exec(text);
    if (!match) {
      throw new InputError(
        `Invalid order parameter "${text}", expected "<asc or desc>:<field name>"`,
      );
    }
    return { order: match[1] as EntityOrder['order'], field: match[2] };
  });
}
