import { NotImplementedError } from '@backstage/errors';
import type { Knex } from 'knex';
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

  async query<TRow extends object>(
    _tenantId: string,
    _build: (scope: TenantScope) => Knex.QueryBuilder | Knex.Raw,
  ): Promise<TRow[]> {
    throw new NotImplementedError(this.#pool.schema);
  }

  async transaction<T>(
    _tenantId: string,
    _work: (transaction: TenantTransaction) => Promise<T>,
  ): Promise<T> {
    throw new NotImplementedError(this.#pool.schema);
  }
}
