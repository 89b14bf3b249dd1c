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
 * {@link TenantDatabase} on a {@link TenancyPool}; queries with `mayBeStale` go to a {@link
 * ReadReplica} if there is one.
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
          // A statement with `mayBeStale` should not write. If it did, the replica is behind.
          onWrite: () => replica.writing(tenantId)(),
        }),
      );
    }
    // Any statement may write, for example through a function.
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

  /** Sends later reads of the tenant to the primary until the replica has replayed the write. */
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
 * @param uuid - a valid UUID: the pool checks it before it builds a statement
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
  };
}

/** Cached by prototype: defining a guard takes longer than building a statement. */
const guards = new Map<object, object>();

/**
 * Refuses `… or …` at the top level of a statement's conditions: it would bypass the tenant
 * predicate. The policy would still hold, but PostgreSQL would scan every partition.
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

/** The names of all public methods, including those added by Knex plugins. */
function methodsOf(prototype: object): string[] {
  const names: string[] = [];
  let each: object | null = prototype;
  while (each) {
    names.push(...Object.getOwnPropertyNames(each));
    each = Object.getPrototypeOf(each);
  }
  return names;
}
