import type { Knex } from 'knex';
import type { TenantScope } from './TenantDatabase';

/** What a builder of Knex has beside what its types tell. */
interface WithConjunction {
  _bool(value?: string): unknown;
}

/**
 * Builds statements that carry the predicate of a tenant.
 *
 * @param uuid - as the pool has accepted it, which parses it before it builds a statement
 */
export function createTenantScope(uuid: string, knex: Knex): TenantScope {
  const tenantId = uuid.toLowerCase();
  return {
    tenantId,
    knex,
    table(table, alias = table) {
      const builder = knex(alias === table ? table : { [alias]: table });
      return keepPredicate(builder.where(`${alias}.tenant_id`, tenantId));
    },
    insertInto(table, rows) {
      if (rows.length === 0) {
        throw new Error(`There are no rows to insert into ${table}`);
      }
      return knex(table).insert(rows.map(row => withTenant(row, tenantId)));
    },
  };
}

/**
 * Keeps `… or …` off the conditions of a statement: beside it, the predicate would
 * hold for a part of the rows only. The policy holds for all of them, but
 * PostgreSQL would look at every partition.
 */
function keepPredicate(builder: Knex.QueryBuilder): Knex.QueryBuilder {
  const internals = builder as unknown as WithConjunction;
  const original = internals._bool;
  internals._bool = function conjunction(...value) {
    if (value[0] === 'or') {
      throw new Error(
        'A condition with "or" would undo the predicate of the tenant. Put it ' +
          'into a group: where(group => group.where(…).orWhere(…))',
      );
    }
    return original.apply(this, value);
  };
  return builder;
}

function withTenant(row: object, tenantId: string): object {
  if ('tenant_id' in row && row.tenant_id !== tenantId) {
    throw new Error('A row of another tenant, or of none, is to be inserted');
  }
  return { ...row, tenant_id: tenantId };
}
