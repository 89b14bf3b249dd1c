import type { Knex } from 'knex';
import type { TenantScope } from '../../database';
import type { ValueText } from './values';

/** What a key means whose value is in a column of its own. */
export interface ColumnKey {
  /** Its text, in lower case. Never null. */
  text: Knex.Raw;
  /** That it is one of some texts in lower case. */
  isOneOf(values: string[]): Knex.Raw;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * The columns of the entity `e` that stand for a flattened key, if there are any.
 * Each entity has these keys, whatever its `final_entity` holds.
 */
export function columnKey(
  scope: TenantScope,
  text: ValueText,
  key: string,
): ColumnKey | undefined {
  const { knex } = scope;
  const lowered = (column: string): ColumnKey => {
    const value = text.lower(knex.raw(column));
    return { text: value, isOneOf: values => isAnyOf(knex, value, values) };
  };
  switch (key) {
    case 'kind':
      return {
        ...lowered('e.entity_kind'),
        isOneOf: values =>
          knex.raw('e.entity_kind = any (array(?))', [
            kindsOf(scope, text, values),
          ]),
      };
    case 'metadata.name':
      return lowered('e.entity_name');
    case 'metadata.namespace':
      return lowered('e.entity_namespace');
    case 'metadata.uid':
      return {
        text: knex.raw('e.entity_id::text'),
        isOneOf: values =>
          knex.raw('e.entity_id = any (?::uuid[])', [
            values.filter(value => UUID.test(value)),
          ]),
      };
    default:
      return undefined;
  }
}

export function isAnyOf(
  knex: Knex,
  text: Knex.Raw,
  values: string[],
): Knex.Raw {
  return values.length === 1
    ? knex.raw('? = ?', [text, values[0]])
    : knex.raw('? = any (?::text[])', [text, values]);
}

/**
 * The kinds of the tenant's live entities, as they are written, that are one of
 * some kinds in lower case.
 *
 * It jumps through the index on the kind from one to the next, so that the kinds
 * of rows that others have written may be in any case, and the index still finds
 * their entities.
 */
export function kindsOf(
  scope: TenantScope,
  text: ValueText,
  lowerKinds: string[],
): Knex.Raw {
  const { knex } = scope;
  const first = () =>
    scope
      .table('entities', 'k')
      .whereNull('k.deleted_at')
      .orderBy('k.entity_kind')
      .limit(1)
      .select('k.entity_kind');
  return knex.raw(
    `with recursive kinds (kind) as (
       (?)
       union all
       select (?) from kinds where kinds.kind is not null
     )
     select kinds.kind from kinds where ?`,
    [
      first(),
      first().whereRaw('k.entity_kind > kinds.kind'),
      isAnyOf(knex, text.lower(knex.raw('kinds.kind')), lowerKinds),
    ],
  );
}
