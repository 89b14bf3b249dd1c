import type {
  PoolTransaction,
  TenancyPool,
} from 'backstage-plugin-catalog-tenancy-node';
import type { MockupFilter } from 'backstage-plugin-mockup-node';
import createKnex, { type Knex } from 'knex';
import { withMappedErrors } from './errors';
import { conditionOf } from './filter';
import { isUuid } from './isUuid';

/** Builds statements; has no connection. */
const knex = createKnex({ client: 'pg' });

type Bindings = Knex.ValueDict & {
  id?: string;
  mockupId?: string;
  versionId?: string;
};

function hasUuids({ id, mockupId, versionId }: Bindings): boolean {
  return [id, mockupId, versionId].every(
    each => each === undefined || isUuid(each),
  );
}

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
   * Runs SQL with the binding `allowed`, a condition that holds for the mockups of a filter. There are
   * no rows where an id is no UUID: no row has such a one, and PostgreSQL would raise an error.
   */
  async ofMockups<TRow extends object>(
    sql: string,
    bindings: Bindings,
    filter: MockupFilter | undefined,
  ): Promise<TRow[]> {
    return hasUuids(bindings)
      ? this.query(sql, { ...bindings, allowed: this.condition(filter) })
      : [];
  }

  /** The first row of `ofMockups`. */
  async oneOfMockups<TRow extends object>(
    ...query: Parameters<TenantStatements['ofMockups']>
  ): Promise<TRow | undefined> {
    const [row] = await this.ofMockups<TRow>(...query);
    return row;
  }

  /** Runs SQL as `ofMockups` does. Returns whether there is a row. */
  async someOfMockups(
    ...query: Parameters<TenantStatements['ofMockups']>
  ): Promise<boolean> {
    return (await this.ofMockups(...query)).length > 0;
  }

  /**
   * Runs SQL as `ofMockups` does, when no other that names the same lock runs. It waits in a statement
   * of its own, so that it sees what the one before it has committed. The advisory lock is held
   * until the end of the transaction, which has no third statement; nothing else takes it.
   */
  async ofMockupsInTurn<TRow extends object>(
    lock: string,
    sql: string,
    bindings: Bindings,
    filter: MockupFilter | undefined,
  ): Promise<TRow[]> {
    if (!hasUuids(bindings)) {
      return [];
    }
    const { tenantId } = this;
    const allowed = this.condition(filter);
    return this.transaction(async transaction => {
      await transaction.query(
        knex.raw('select pg_advisory_xact_lock(hashtextextended(?, 0))', [
          `${lock} ${tenantId}`,
        ]),
      );
      return transaction.query<TRow>(
        knex.raw(sql, { ...bindings, allowed, tenantId }),
      );
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
