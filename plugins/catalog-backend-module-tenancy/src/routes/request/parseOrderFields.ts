import { InputError } from '@backstage/errors';
import type { PageOrder } from '../../pages/EntityCursor';

/**
 * Parses the parameters `orderField`, such as `metadata.name,desc`.
 *
 * @throws InputError for another direction than `asc` or `desc`
 */
export function parseOrderFields(
  orderFields: string[] | undefined,
): PageOrder[] | undefined {
  return orderFields?.map(text => {
    const [field, order] = text.split(',');
    if (order !== undefined && order !== 'asc' && order !== 'desc') {
      throw new InputError('Invalid order field order, must be asc or desc');
    }
    return { field, order };
  });
}
