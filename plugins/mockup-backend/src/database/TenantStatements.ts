import { TenantBusyError } from 'backstage-plugin-catalog-tenancy-node';
import type { Knex } from 'knex';
import createLimit, { type Limit } from 'p-limit';

/** A statement that Knex has built. */
export type Statement = Knex.Raw | Knex.QueryBuilder;

/** Runs the statements of a store. */
export interface Statements {
  /** Builds statements. */
  readonly knex: Knex;
  /** Runs a statement for a tenant, and returns its rows. */
  run<TRow>(tenantId: string, statement: Statement): Promise<TRow[]>;
  /** Runs several statements for a tenant in one transaction. */
  transaction<T>(
    tenantId: string,
    work: (transaction: Knex.Transaction) => Promise<T>,
  ): Promise<T>;
}

/**
 * The isolation level that the statements require, whatever the default of the database: a
 * write that waited for another one continues on the committed row.
 */
const ISOLATION = 'read committed';

const SERIALIZATION_FAILURE = '40001';
const ATTEMPTS = 10;

/** Knex's default size of the pool. */
const KNEX_POOL = 10;

/** The most waiting operations of a tenant for each running one. */
const QUEUE = 100;

/**
 * Runs statements of a backend without tenants, without setting a tenant: their predicates are
 * sufficient.
 */
export class PlainStatements implements Statements {
  readonly knex: Knex;

  constructor(knex: Knex) {
    this.knex = knex;
  }

  /**
   * Without an explicit transaction, the default isolation level applies. If that is stricter
   * than READ COMMITTED, a write that waited for another one fails with 40001 and is repeated.
   */
  async run<TRow>(_tenantId: string, statement: Statement): Promise<TRow[]> {
    for (let attempt = 1; ; attempt++) {
      try {
        const result = await statement;
        return Array.isArray(result) ? result : result.rows;
      } catch (error) {
        const { code } = error as { code?: string };
        if (code !== SERIALIZATION_FAILURE || attempt === ATTEMPTS) {
          throw error;
        }
      }
    }
  }

  transaction<T>(
    _tenantId: string,
    work: (transaction: Knex.Transaction) => Promise<T>,
  ): Promise<T> {
    return this.knex.transaction(work, { isolationLevel: ISOLATION });
  }
}

/**
 * Runs statements under row-level security: the policies compare `tenant_id` with the setting
 * `app.tenant_id`, and apply to the role.
 *
 * Each runs in a transaction with tenant and role set locally, so no setting stays in the
 * session. Queries are not pipelined: behind a failed BEGIN, a statement would run without
 * tenant and role.
 */
export class TenantStatements implements Statements {
  readonly knex: Knex;
  readonly #role: string | undefined;
  /** The limits of running and waiting operations, by tenant. */
  readonly #limits = new Map<string, Limit>();
  /** The most connections of one tenant: half of the pool. */
  readonly #share: number;

  /** @param role - the role to act as, if the policies do not apply to the database user */
  constructor(knex: Knex, role: string | undefined) {
    this.knex = knex;
    this.#role = role;
    const { max = KNEX_POOL } = knex.client.config.pool ?? {};
    this.#share = Math.max(1, Math.floor(max / 2));
  }

  async run<TRow>(tenantId: string, statement: Statement): Promise<TRow[]> {
    return this.transaction(tenantId, async transaction => {
      const result = await statement.transacting(transaction);
      return Array.isArray(result) ? result : result.rows;
    });
  }

  transaction<T>(
    tenantId: string,
    work: (transaction: Knex.Transaction) => Promise<T>,
  ): Promise<T> {
    return this.#withinLimit(tenantId, () =>
      this.knex.transaction(
        async transaction => {
          await this.#enter(transaction, tenantId);
          return work(transaction);
        },
        { isolationLevel: ISOLATION },
      ),
    );
  }

  /** @throws TenantBusyError if too many operations of the tenant wait */
  async #withinLimit<T>(tenantId: string, work: () => Promise<T>): Promise<T> {
    const limit = this.#limits.get(tenantId) ?? createLimit(this.#share);
    if (limit.pendingCount >= QUEUE * this.#share) {
      throw new TenantBusyError();
    }
    this.#limits.set(tenantId, limit);
    try {
      return await limit(work);
    } finally {
      if (limit.activeCount + limit.pendingCount === 0) {
        this.#limits.delete(tenantId);
      }
    }
  }

  async #enter(transaction: Knex.Transaction, tenantId: string): Promise<void> {
    const settings = {
      'app.tenant_id': tenantId,
      row_security: 'on',
      // With a limit, GIN indexes return a random subset of the results.
      gin_fuzzy_search_limit: '0',
      ...(this.#role !== undefined && { role: this.#role }),
    };
    const set = Object.keys(settings).map(() => 'set_config(?, ?, true)');
    await transaction.raw(
      `select ${set.join(', ')}`,
      Object.entries(settings).flat(),
    );
  }
}
