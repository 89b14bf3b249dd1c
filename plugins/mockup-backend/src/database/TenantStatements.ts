import type {
  PoolTransaction,
  TenancyPool,
} from 'backstage-plugin-catalog-tenancy-node';
import createKnex, { type Knex } from 'knex';
import { withMappedErrors } from './errors';

/** Runs the statements of the stores, each in a transaction with its tenant. */
export class TenantStatements {
  /** Builds statements; has no connection. */
  readonly knex = createKnex({ client: 'pg' });
  readonly #pool: Pick<TenancyPool, 'query' | 'transaction'>;

  constructor(pool: Pick<TenancyPool, 'query' | 'transaction'>) {
    this.#pool = pool;
  }

  /** Runs a statement for a tenant, and returns its rows. */
  run<TRow extends object>(
    tenantId: string,
    statement: Knex.Raw | Knex.QueryBuilder,
  ): Promise<TRow[]> {
    return withMappedErrors(() =>
      this.#pool.query<TRow>(() => statement, { tenantId }),
    );
  }

  /** Runs several statements for a tenant in one transaction. */
  transaction<T>(
    tenantId: string,
    work: (transaction: PoolTransaction) => Promise<T>,
  ): Promise<T> {
    return withMappedErrors(() => this.#pool.transaction({ tenantId }, work));
  }
}
