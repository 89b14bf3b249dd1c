import type { MockupFilter } from 'backstage-plugin-mockup-node';
import type { Knex } from 'knex';

/** Restricts a query on `mockups` to those that match a filter. */
export function applyFilter(
  query: Knex.QueryBuilder,
  filter: MockupFilter,
): void {
  if ('allOf' in filter) {
    for (const part of filter.allOf) {
      query.andWhere(nested => applyFilter(nested, part));
    }
  } else if ('anyOf' in filter) {
    query.andWhere(nested => {
      for (const part of filter.anyOf) {
        nested.orWhere(inner => applyFilter(inner, part));
      }
    });
  } else if ('not' in filter) {
    query.andWhereNot(nested => applyFilter(nested, filter.not));
  } else {
    query.whereIn('mockups.owner', filter.owner);
  }
}

/** Restricts a query on `mockups` to those that contain a text in any case. */
export function applySearch(query: Knex.QueryBuilder, search: string): void {
  const pattern = `%${search.replace(/[\\%_]/g, '\\$&')}%`;
  query.andWhere(nested =>
    nested
      .whereILike('mockups.name', pattern)
      .orWhereILike('mockups.description', pattern),
  );
}
