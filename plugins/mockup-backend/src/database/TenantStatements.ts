import type {
  PoolTransaction,
  TenancyPool,
} from 'backstage-plugin-catalog-tenancy-node';
import type { MockupFilter } from 'backstage-plugin-mockup-node';
import createKnex, { type Knex } from 'knex';
import { withMappedErrors } from './errors';
import { conditionOf } from './filter';

/** Builds statements; has no connection. */
const knex = createKnex({ client: 'pg' });

/** Runs the statements of the stores of one tenant, each in a transaction with the tenant. */
export class TenantStatements {
  readonly knex = knex;

  constructor(
    private readonly pool: Pick<TenancyPool, 'query' | 'transaction'>,
    readonly tenantId: string,
  ) {}

  /** Runs a statement, and returns its rows. */
  run<TRow extends object>(
    statement: Knex.Raw | Knex.QueryBuilder,
  ): Promise<TRow[]> {
    const { tenantId } = this;
    return withMappedErrors(() =>
      this.pool.query<TRow>(() => statement, { tenantId }),
    );
  }

  /** Runs SQL with these bindings and that of the tenant. */
  query<TRow extends object>(
    sql: string,
    bindings: Knex.ValueDict,
  ): Promise<TRow[]> {
    const { tenantId } = this;
    return this.run(knex.raw(sql, { ...bindings, tenantId }));
  }

  /**
   * Runs SQL as `query` does, when no other that names the same lock runs. It waits in a statement
   * of its own, so that it sees what the one before it has committed. The advisory lock is held
   * until the end of the transaction, which has no third statement; nothing else takes it.
   */
  queryInTurn<TRow extends object>(
    lock: string,
    sql: string,
    bindings: Knex.ValueDict,
  ): Promise<TRow[]> {
    const { tenantId } = this;
    return this.transaction(async transaction => {
      await transaction.query(
        knex.raw('select pg_advisory_xact_lock(hashtextextended(?, 0))', [
          `${lock} ${tenantId}`,
        ]),
      );
      return transaction.query<TRow>(knex.raw(sql, { ...bindings, tenantId }));
    });
  }

  /** A condition on mockups; see {@link conditionOf}. */
  condition(filter: MockupFilter | undefined): Knex.Raw {
    return conditionOf(knex, filter);
  }

  /** Runs several statements in one transaction. */
  transaction<T>(
    work: (transaction: PoolTransaction) => Promise<T>,
  ): Promise<T> {
    const { tenantId } = this;
    return withMappedErrors(() => this.pool.transaction({ tenantId }, work));
  }
}
