import type { Knex } from 'knex';
import { createTenantScope } from './createTenantScope';
import type { ReadReplica } from '../replica/ReadReplica';
import type { BuildStatement, TenancyPool } from '../pool/TenancyPool';
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
    const replica = this.#replica;
    if (replica && options.mayBeStale) {
      return await replica.read(tenantId, buildScoped, () =>
        this.#pool.query<TRow>(buildScoped, {
          tenantId,
          // It should not write; if it has, the replica does not show that yet.
          onWrite: () => replica.writing(tenantId)(),
        }),
      );
    }
    // It may write: only PostgreSQL knows, and only when it has.
    return await this.#writing(tenantId, () =>
      this.#pool.query<TRow>(buildScoped, { tenantId }),
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
