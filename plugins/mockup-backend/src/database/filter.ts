import type { MockupFilter } from 'backstage-plugin-mockup-node';
import type { Knex } from 'knex';
import { isUuid } from './isUuid';

/** Restricts a query on `mockups` to those that match a filter. */
export function applyFilter(
  query: Knex.QueryBuilder,
  filter: MockupFilter,
): void {
  // Each starts from a constant condition, because Knex omits an empty group, and
  // with it the restriction.
  if ('allOf' in filter) {
    query.andWhere(nested => {
      nested.whereRaw('true');
      filter.allOf.forEach(part =>
        nested.andWhere(inner => applyFilter(inner, part)),
      );
    });
  } else if ('anyOf' in filter) {
    query.andWhere(nested => {
      nested.whereRaw('false');
      filter.anyOf.forEach(part =>
        nested.orWhere(inner => applyFilter(inner, part)),
      );
    });
  } else if ('not' in filter) {
    query.andWhereNot(nested => applyFilter(nested, filter.not));
  } else if ('id' in filter) {
    query.whereIn('mockups.id', filter.id.filter(isUuid));
  } else {
    query.whereIn('mockups.owner', filter.owner);
  }
}

/** The pattern of texts that contain another. */
export function containing(search: string): string {
  return `%${search.replace(/[\\%_]/g, '\\$&')}%`;
}

/**
 * Restricts a query on `mockups` to those of a tenant that contain a text in any
 * case.
 */
export function applySearch(
  query: Knex.QueryBuilder,
  search: string,
  tenantId: string,
): void {
  const pattern = containing(search);
  query.whereIn('mockups.id', found =>
    found
      .select('mockup_id')
      .from('mockup_search')
      .where('mockup_search.tenant_id', tenantId)
      .where(text =>
        text.whereILike('name', pattern).orWhereILike('description', pattern),
      ),
  );
}
