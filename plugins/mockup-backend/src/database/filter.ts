import type { MockupFilter } from 'backstage-plugin-mockup-node';
import type { Knex } from 'knex';
import { isUuid } from './isUuid';

/** A condition that a row with the alias `mockups` matches a filter; true without a filter. */
export function conditionOf(
  knex: Knex,
  filter: MockupFilter | undefined,
): Knex.Raw {
  if (!filter) {
    return knex.raw('true');
  }
  if ('allOf' in filter) {
    return combine(knex, ' and ', filter.allOf) ?? knex.raw('true');
  }
  if ('anyOf' in filter) {
    return combine(knex, ' or ', filter.anyOf) ?? knex.raw('false');
  }
  if ('not' in filter) {
    return knex.raw('not (?)', [conditionOf(knex, filter.not)]);
  }
  if ('id' in filter) {
    return knex.raw('mockups.id = any(cast(:ids as uuid[]))', {
      ids: filter.id.filter(isUuid),
    });
  }
  if ('owner' in filter) {
    return knex.raw('mockups.owner = any(cast(:owners as text[]))', {
      owners: filter.owner,
    });
  }
  return knex.raw(
    filter.access === 'write'
      ? 'mockups.writers && cast(:groups as text[])'
      : `(mockups.writers && cast(:groups as text[])
          or mockups.readers && cast(:groups as text[]))`,
    { groups: filter.sharedWith },
  );
}

function combine(
  knex: Knex,
  operator: string,
  filters: MockupFilter[],
): Knex.Raw | undefined {
  return filters.length > 0
    ? knex.raw(
        // In parentheses, because it becomes part of another condition.
        `(${filters.map(() => '?').join(operator)})`,
        filters.map(filter => conditionOf(knex, filter)),
      )
    : undefined;
}

/** The LIKE pattern of texts that contain another. */
export function containing(search: string): string {
  return `%${search.replace(/[\\%_]/g, '\\$&')}%`;
}

/**
 * Restricts a query on `mockups` to those of a tenant that contain a text, ignoring case.
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
