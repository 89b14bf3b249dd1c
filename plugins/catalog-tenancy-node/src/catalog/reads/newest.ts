import type { Knex } from 'knex';
import type { TenantScope } from '../../database';
import { isStorable } from '../predicates';
import { liveEntities } from './conditionSql';

/** The collation by which PostgreSQL lower-cases the way that JavaScript does. */
export const UNICODE_COLLATION = 'und-x-icu';

/**
 * The newest entities of a kind in any case.
 *
 * Each way to write the kind is looked up by itself, for only so does the index
 * give its entities in the order of their creation.
 *
 * @param options - `unicode` if the server has {@link UNICODE_COLLATION}
 */
export function selectNewest(
  scope: TenantScope,
  options: { kind: string; limit: number; unicode: boolean },
): Knex.QueryBuilder {
  const { knex } = scope;
  const { limit } = options;
  const newest = liveEntities(scope, 'e')
    .whereRaw('e.entity_kind = kinds.kind')
    .orderBy('e.created_at', 'desc')
    .limit(limit)
    .select('e.entity_ref', 'e.entity_name', 'e.created_at');
  return knex
    .from(
      knex.raw('(?) kinds (kind), lateral (?) newest', [
        kindsOf(scope, options),
        newest,
      ]),
    )
    .select('newest.entity_ref', 'newest.entity_name', 'newest.created_at')
    .orderBy('newest.created_at', 'desc')
    .limit(limit);
}

/**
 * The ways in which the kind of the tenant's live entities is written.
 *
 * It jumps through the index on the kind from one to the next, so that the kinds
 * of rows that others have written may be in any case, and the index still finds
 * their entities.
 */
function kindsOf(
  scope: TenantScope,
  { kind, unicode }: { kind: string; unicode: boolean },
): Knex.Raw {
  const { knex } = scope;
  const first = () =>
    liveEntities(scope, 'k')
      .orderBy('k.entity_kind')
      .limit(1)
      .select('k.entity_kind');
  const lowered = unicode
    ? knex.raw('lower(kinds.kind collate ??)', [UNICODE_COLLATION])
    : knex.raw('lower(kinds.kind)');
  return knex.raw(
    `with recursive kinds (kind) as (
       (?)
       union all
       select (?) from kinds where kinds.kind is not null
     )
     select kinds.kind from kinds where ? = any (?::text[])`,
    [
      first(),
      first().whereRaw('k.entity_kind > kinds.kind'),
      lowered,
      [kind.toLowerCase()].filter(isStorable),
    ],
  );
}
