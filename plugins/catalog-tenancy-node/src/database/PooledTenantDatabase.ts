import type { Knex } from 'knex';
import type { BuildStatement, TenancyPool } from '../pool/TenancyPool';
import type { ReadReplica } from '../replica/ReadReplica';
import type {
  TenantDatabase,
  TenantQueryOptions,
  TenantScope,
  TenantTransaction,
} from './TenantDatabase';

/**
 * {@link TenantDatabase} on a {@link TenancyPool}, and on a {@link ReadReplica} for
 * what may be stale.
 *
 * @public
 */
export class PooledTenantDatabase implements TenantDatabase {
  readonly #pool: TenancyPool;
  readonly #replica: Pick<ReadReplica, 'read' | 'writing'> | undefined;

  constructor(
    pool: TenancyPool,
    options: { replica?: Pick<ReadReplica, 'read' | 'writing'> } = {},
  ) {
    this.#pool = pool;
    this.#replica = options.replica;
  }

  /** {@inheritDoc TenantDatabase.query} */
  async query<TRow extends object>(
    tenantId: string,
    build: (scope: TenantScope) => Knex.QueryBuilder | Knex.Raw,
    options: TenantQueryOptions = {},
  ): Promise<TRow[]> {
    const buildScoped: BuildStatement = knex =>
      build(createTenantScope(tenantId, knex));
    const { mayBeStale, signal, continues } = options;
    const settings = { tenantId, signal, continues };
    const replica = this.#replica;
    if (replica && mayBeStale) {
      return await replica.read(settings, buildScoped, () =>
        this.#pool.query<TRow>(buildScoped, {
          ...settings,
          // It should not write; if it has, the replica does not show that yet.
          onWrite: () => replica.writing(tenantId)(),
        }),
      );
    }
    // It may write: only PostgreSQL knows, and only when it has.
    return await this.#writing(tenantId, () =>
      this.#pool.query<TRow>(buildScoped, settings),
    );
  }

  /** {@inheritDoc TenantDatabase.transaction} */
  async transaction<T>(
    tenantId: string,
    work: (transaction: TenantTransaction) => Promise<T>,
  ): Promise<T> {
    return await this.#writing(tenantId, () =>
      this.#pool.transaction({ tenantId }, transaction =>
        work({
          ...createTenantScope(tenantId, transaction.knex),
          query: statement => transaction.query(statement),
        }),
      ),
    );
  }

  /** Later reads of the tenant go to the primary until the replica shows the write. */
  async #writing<T>(tenantId: string, write: () => Promise<T>): Promise<T> {
    const end = this.#replica?.writing(tenantId);
    try {
      return await write();
    } finally {
      end?.();
    }
  }
}

/**
 * Builds statements that carry the predicate of a tenant.
 *
 * @param uuid - as the pool has accepted it, which parses it before it builds a statement
 */
function createTenantScope(uuid: string, knex: Knex): TenantScope {
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

/** By the prototype that they stand in front of: defining them takes longer than building a statement. */
const guards = new Map<object, object>();

/**
 * Keeps `… or …` off the conditions of a statement: beside it, the predicate would
 * hold for a part of the rows only. The policy holds for all of them, but
 * PostgreSQL would look at every partition.
 */
function keepPredicate(builder: Knex.QueryBuilder): Knex.QueryBuilder {
  const prototype: Knex.QueryBuilder = Object.getPrototypeOf(builder);
  let guard = guards.get(prototype);
  if (!guard) {
    guard = guardOf(prototype);
    guards.set(prototype, guard);
  }
  return Object.setPrototypeOf(builder, guard);
}

function guardOf(prototype: Knex.QueryBuilder): object {
  const refusals = methodsOf(prototype)
    .filter(name => name === 'or' || name.startsWith('orWhere'))
    .map(name => [name, { get: refuseAlternative }] as const);
  return Object.create(prototype, {
    ...Object.fromEntries(refusals),
    clone: {
      value(this: Knex.QueryBuilder) {
        return keepPredicate(prototype.clone.call(this));
      },
    },
  });
}

function refuseAlternative(): never {
  throw new Error(
    'A condition with "or" would undo the predicate of the tenant. Put it ' +
      'into a group: where(group => group.where(…).orWhere(…))',
  );
}

/** The names of all public methods, also of those that a plugin of Knex has added. */
function methodsOf(prototype: object): string[] {
  const names: string[] = [];
  let each: object | null = prototype;
  while (each) {
    names.push(...Object.getOwnPropertyNames(each));
    each = Object.getPrototypeOf(each);
  }
  return names;
}

function withTenant(row: object, tenantId: string): object {
  if ('tenant_id' in row && row.tenant_id !== tenantId) {
    throw new Error('A row of another tenant, or of none, is to be inserted');
  }
  return { ...row, tenant_id: tenantId };
}
