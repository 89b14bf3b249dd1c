import { toTermKey } from 'backstage-catalog-tenancy-migrations';
import type { Knex } from 'knex';
import type { TenantScope } from '../../database/TenantDatabase';
import type { Condition, TermCondition } from '../conditions';

/**
 * The keys at which triggers write a term for every entity, possibly with the value null.
 */
const GIVEN_KEYS = ['metadata.name', 'metadata.uid'];

/**
 * How many of the ANDed conditions PostgreSQL may plan as joins: planning fifty took longer
 * than the statement timeout. The rest stand in `coalesce(…)`, in which the planner looks for
 * no joins; it runs each as a subplan or a hashed subplan. The planner also estimates the
 * `coalesce` as one condition; separate conditions would halve the row estimate each.
 */
const MAX_JOINS = 5;

/** The live entities of the tenant. */
export function liveEntities(
  scope: TenantScope,
  alias: string,
): Knex.QueryBuilder {
  return scope.table('entities', alias).whereNull(`${alias}.deleted_at`);
}

/**
 * The ids of the live entities that a condition holds for, each once, as `d.entity_id`.
 *
 * The rows come from the term that is expected to be the most selective. `entity_terms` has
 * live entities only, so a list of ids or a count needs no other table.
 */
export function matchingIds(
  scope: TenantScope,
  condition: Condition,
): Knex.QueryBuilder {
  return (
    idsOfTerms(scope, condition) ??
    liveEntities(scope, 'd')
      .select('d.entity_id')
      .whereRaw('?', [holds(scope, condition, 'd.entity_id')])
  );
}

/** How many live entities a condition holds for, as a query of `total`. */
export function matchingCount(
  scope: TenantScope,
  condition: Condition,
): Knex.Raw {
  const { knex } = scope;
  if (condition.type === 'term' && !condition.negated && isGiven(condition)) {
    // Lists ordered by name ask for this. Nearly all entities have the term, so it is cheaper
    // to count all entities and subtract those without.
    return knex.raw('(select ((?) - (?))::int as total)', [
      liveEntities(scope, 'd').select(knex.raw('count(*)')),
      onlyNull(scope, condition.keys[0]).select(
        knex.raw('count(distinct n.entity_id)'),
      ),
    ]);
  }
  return knex.raw('(select count(*)::int as total from ? matching)', [
    matchingIds(scope, condition),
  ]);
}

/** Undefined if entities without any of the terms may match. */
function idsOfTerms(
  scope: TenantScope,
  condition: Condition,
): Knex.QueryBuilder | undefined {
  if (condition.type === 'term') {
    return condition.negated ? undefined : idsOfTerm(scope, condition);
  }
  if (condition.type === 'any') {
    return idsOfAny(scope, condition.conditions);
  }
  const [first] = condition.conditions
    .filter(each => rankOf(each) < Infinity)
    .sort((a, b) => rankOf(a) - rankOf(b));
  return (
    first &&
    idsOfTerms(scope, first)?.whereRaw('?', [
      holds(
        scope,
        {
          type: 'all',
          conditions: condition.conditions.filter(each => each !== first),
        },
        'd.entity_id',
      ),
    ])
  );
}

function idsOfTerm(
  scope: TenantScope,
  condition: TermCondition,
): Knex.QueryBuilder {
  const rows = termRows(scope, condition, 'd');
  return isUnique(condition)
    ? rows.select('d.entity_id')
    : rows.distinct('d.entity_id');
}

function idsOfAny(
  scope: TenantScope,
  conditions: Condition[],
): Knex.QueryBuilder | undefined {
  const parts = conditions.map(each =>
    rankOf(each) < Infinity ? idsOfTerms(scope, each) : undefined,
  );
  return parts.length > 0 && parts.every(part => part !== undefined)
    ? scope.knex
        .from(
          scope.knex.raw(`(${parts.map(() => '?').join(' union ')}) d`, parts),
        )
        .select('d.entity_id')
    : undefined;
}

/** True if the entities have one of some values: such a condition may hold for few of them. */
export function isSelective(condition: Condition): boolean {
  return rankOf(condition) <= 1;
}

/** The smaller the rank, the fewer entities are expected to match. */
function rankOf(condition: Condition): number {
  if (condition.type !== 'term') {
    const ranks = condition.conditions.map(rankOf);
    if (condition.type === 'all') {
      return Math.min(...ranks);
    }
    return ranks.length > 0 ? Math.max(3, ...ranks) : Infinity;
  }
  if (condition.negated) {
    return Infinity;
  }
  switch (condition.test.type) {
    case 'oneOf':
      return isUnique(condition) ? 0 : 1;
    case 'prefix':
      return 2;
    case 'like':
      return 4;
    case 'any':
      return 5;
    default:
      return 6;
  }
}

/** True if an entity has at most one matching term: (key, value) is unique for each entity. */
function isUnique({ keys, test }: TermCondition): boolean {
  return keys.length === 1 && test.type === 'oneOf' && test.values.length === 1;
}

/**
 * SQL that is true if the condition holds for the live entity with the id in `idColumn`. Never
 * null.
 */
export function holds(
  scope: TenantScope,
  condition: Condition,
  idColumn: string,
): Knex.Raw {
  const { knex } = scope;
  if (condition.type === 'term') {
    const found = hasTerm(scope, condition, idColumn);
    return condition.negated ? knex.raw('not ?', [found]) : found;
  }
  const { conditions } = condition;
  if (conditions.length === 0) {
    return knex.raw(String(condition.type === 'all'));
  }
  if (condition.type === 'any') {
    return knex.raw(
      `(${conditions.map(() => '?').join(' or ')})`,
      conditions.map(each => holds(scope, each, idColumn)),
    );
  }
  const sorted = conditions.toSorted((a, b) => rankOf(a) - rankOf(b));
  const allOf = (some: Condition[]) => some.map(() => '?').join(' and ');
  const joined = allOf(sorted.slice(0, MAX_JOINS));
  const others = allOf(sorted.slice(MAX_JOINS));
  return knex.raw(
    others ? `(${joined} and coalesce(${others}, false))` : `(${joined})`,
    sorted.map(each => holds(scope, each, idColumn)),
  );
}

function hasTerm(
  scope: TenantScope,
  condition: TermCondition,
  idColumn: string,
): Knex.Raw {
  if (isGiven(condition)) {
    return hasNotOnlyNull(scope, condition.keys[0], idColumn);
  }
  return scope.knex.raw('exists ?', [
    termRows(scope, condition, 'f')
      .whereRaw('f.entity_id = ??', [idColumn])
      .select(scope.knex.raw('1')),
  ]);
}

/** True for a `present` test of one of the {@link GIVEN_KEYS}. */
function isGiven({ keys, test }: TermCondition): boolean {
  return (
    test.type === 'present' && keys.length === 1 && GIVEN_KEYS.includes(keys[0])
  );
}

/**
 * SQL that is true if an entity has a value other than null at one of the {@link GIVEN_KEYS}.
 * Few entities have null there. PostgreSQL looks these up once, whatever number it expects: as
 * an anti-join, it would look for them again for each entity of a tenant that came after the
 * last ANALYZE.
 */
function hasNotOnlyNull(
  scope: TenantScope,
  key: string,
  idColumn: string,
): Knex.Raw {
  return scope.knex.raw('?? not in ?', [
    idColumn,
    onlyNull(scope, key).select('n.entity_id'),
  ]);
}

/** The terms `n` of entities that have only null at a key. */
function onlyNull(scope: TenantScope, key: string): Knex.QueryBuilder {
  const termKey = toTermKey(key);
  return scope
    .table('entity_terms', 'n')
    .whereRaw('n.key = ? and n.value is null', [termKey])
    .whereRaw('not exists ?', [
      scope
        .table('entity_terms', 'o')
        .whereRaw('o.key = ? and o.value is not null', [termKey])
        .whereRaw('o.entity_id = n.entity_id')
        .select(scope.knex.raw('1')),
    ]);
}

/**
 * The matching terms. A single key is compared with `=`, so that PostgreSQL drops it from GROUP
 * BY and ORDER BY.
 *
 * All operators but LIKE are leakproof, so PostgreSQL may evaluate them in an index scan before
 * the policy. LIKE is not, and filters the terms of a key.
 */
export function termRows(
  scope: TenantScope,
  { keys, test }: Pick<TermCondition, 'keys' | 'test'>,
  alias: string,
): Knex.QueryBuilder {
  const rows = scope.table('entity_terms', alias);
  if (keys.length === 1) {
    rows.whereRaw('??.key = ?', [alias, toTermKey(keys[0])]);
  } else {
    rows.whereRaw('??.key = any (?::text[])', [alias, keys.map(toTermKey)]);
  }
  switch (test.type) {
    case 'oneOf':
      return test.values.length === 1
        ? rows.whereRaw('??.value = ?', [alias, test.values[0]])
        : rows.whereRaw('??.value = any (?::text[])', [alias, test.values]);
    case 'prefix':
      return rows.whereRaw('??.value ^@ ?', [alias, test.prefix]);
    case 'like':
      return rows.whereRaw('??.value like ?', [alias, test.pattern]);
    case 'present':
      return rows.whereNotNull(`${alias}.value`);
    default:
      return rows;
  }
}
