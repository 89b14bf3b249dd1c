import { InputError } from '@backstage/errors';
import type { EntityOrder } from 'backstage-plugin-catalog-tenancy-node';

/**
 * Parses the parameters `order`, such as `asc:metadata.name`. The first counts most.
 *
 * @throws InputError that names what is of another form
 */
export function parseOrder(
  orders: string[] | undefined,
): EntityOrder[] | undefined {
  return orders?.map(text => {
    const match = /^(asc|desc):(.+)$/.exec(text);
    if (!match) {
      throw new InputError(
        `Invalid order parameter "${text}", expected "<asc or desc>:<field name>"`,
      );
    }
    return { order: match[1] as EntityOrder['order'], field: match[2] };
  });
}
