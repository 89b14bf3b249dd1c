import type { Knex } from 'knex';
import { createTenantScope } from './createTenantScope';
import { parseTenantId } from './protocol/context';
import type { TenancyPool } from './TenancyPool';
import type {
  TenantDatabase,
  TenantScope,
  TenantTransaction,
} from './TenantDatabase';

/**
 * {@link TenantDatabase} on a {@link TenancyPool}.
 *
 * @public
 */
export class PooledTenantDatabase implements TenantDatabase {
  readonly #pool: TenancyPool;

  constructor(pool: TenancyPool) {
    this.#pool = pool;
  }

  /** {@inheritDoc TenantDatabase.query} */
  async query<TRow extends object>(
    tenantId: string,
    build: (scope: TenantScope) => Knex.QueryBuilder | Knex.Raw,
  ): Promise<TRow[]> {
    const tenant = parseTenantId(tenantId);
    return await this.#pool.query<TRow>(
      knex => build(createTenantScope(tenant, knex)),
      { tenantId: tenant },
    );
  }

  /** {@inheritDoc TenantDatabase.transaction} */
  async transaction<T>(
    tenantId: string,
    work: (transaction: TenantTransaction) => Promise<T>,
  ): Promise<T> {
    const tenant = parseTenantId(tenantId);
    return await this.#pool.transaction({ tenantId: tenant }, transaction =>
      work({
        ...createTenantScope(tenant, transaction.knex),
        query: statement => transaction.query(statement),
      }),
    );
  }
}
