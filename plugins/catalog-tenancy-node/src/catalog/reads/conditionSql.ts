import { toTermKey } from 'backstage-catalog-tenancy-migrations';
import type { Knex } from 'knex';
import type { TenantScope } from '../../database/TenantDatabase';
import type { Condition, TermCondition } from '../conditions';

/**
 * The keys at which each entity has a term, if only null: the database writes one for
 * them whatever the entity holds.
 */
const GIVEN_KEYS = ['metadata.name', 'metadata.uid'];

/**
 * How many of the conditions that must all hold PostgreSQL may make joins of, which it
 * then plans together: with fifty, planning took longer than any query may. The others
 * are looked up for each entity that is left, or all at once, whichever it expects to
 * be faster: it does not look for joins in `coalesce(…)`. It takes that for one
 * condition, too. Of many, it expects each to hold for half of the entities, and so
 * hardly any entity to be left, each of which it would then look up many times.
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
 * The rows come from the term that tells most, as far as that can be seen from the
 * condition: there are terms of live entities only, so nothing else has to be looked
 * at for a list of ids or a count.
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
    // Next to all have it, as each list in the order of names asks. To count all, and those
    // without, compares no ids.
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

/** Nothing where entities without any of the terms may match. */
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

/** Where to begin: the smaller, the fewer entities are expected to have it. */
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

/** Whether no entity has two terms that pass: it has no term twice. */
function isUnique({ keys, test }: TermCondition): boolean {
  return keys.length === 1 && test.type === 'oneOf' && test.values.length === 1;
}

/** That a condition holds for the live entity whose id a column has. Never null. */
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

/** Whether it asks for any value at a key at which each entity has a term. */
function isGiven({ keys, test }: TermCondition): boolean {
  return (
    test.type === 'present' && keys.length === 1 && GIVEN_KEYS.includes(keys[0])
  );
}

/**
 * That an entity has another value than null at a key at which each has some. Hardly
 * any has null there, so that PostgreSQL has next to nothing to compare.
 */
function hasNotOnlyNull(
  scope: TenantScope,
  key: string,
  idColumn: string,
): Knex.Raw {
  const { knex } = scope;
  return knex.raw('not exists ?', [
    onlyNull(scope, key)
      .whereRaw('n.entity_id = ??', [idColumn])
      .select(knex.raw('1')),
  ]);
}

/** The terms `n` of entities that have no other value than null at a key. */
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
 * The terms that pass. A single key is compared with `=`, so that PostgreSQL leaves it out of
 * what it groups and sorts by.
 *
 * The operators are ones that PostgreSQL knows not to tell anything of a row to anybody
 * (leakproof): so they may use an index before the policy of the table is looked at. LIKE may
 * not, and goes through the terms of a key.
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
