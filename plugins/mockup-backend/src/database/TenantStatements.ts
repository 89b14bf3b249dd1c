import { TenantBusyError } from 'backstage-plugin-catalog-tenancy-node';
import type { Knex } from 'knex';
import createLimit, { type Limit } from 'p-limit';

/** A statement that Knex has built. */
export type Statement = Knex.Raw | Knex.QueryBuilder;

/** Runs the statements of a store. */
export interface Statements {
  /** Builds them. */
  readonly knex: Knex;
  /** Runs a statement for a tenant, and returns its rows. */
  run<TRow>(tenantId: string, statement: Statement): Promise<TRow[]>;
  /** Runs several statements for a tenant, all of which take effect or none. */
  transaction<T>(
    tenantId: string,
    work: (transaction: Knex.Transaction) => Promise<T>,
  ): Promise<T>;
}

/**
 * That on which the statements rely, whatever the database or its user is given: a write that
 * has waited for another one goes on with what that has committed.
 */
const ISOLATION = 'read committed';

const SERIALIZATION_FAILURE = '40001';
const ATTEMPTS = 10;

/** Of Knex, where nothing is configured. */
const KNEX_POOL = 10;

/** How much of a tenant waits for each that it has under way. */
const QUEUE = 100;

/**
 * The statements of a backend without tenants. Nothing is set around them: their
 * predicates say whose rows they are about.
 */
export class PlainStatements implements Statements {
  readonly knex: Knex;

  constructor(knex: Knex) {
    this.knex = knex;
  }

  /**
   * Outside of a transaction the isolation is the default one. Above READ COMMITTED a write
   * that has waited for another one fails, and has done nothing: it is tried again.
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
 * Statements that see and write the rows of their tenant alone: the policies of
 * row-level security compare with the setting `app.tenant_id`, and bind the role.
 *
 * Each runs in a transaction, for which tenant and role are set: nothing stays behind
 * in the session, whatever fails. Each query is answered before the next one is sent: behind a
 * BEGIN that fails, a statement would run without tenant and role.
 */
export class TenantStatements implements Statements {
  readonly knex: Knex;
  readonly #role: string | undefined;
  /** By tenant: what it has under way, and what waits. */
  readonly #turns = new Map<string, Limit>();
  /** Of the connections of the pool, how many one tenant may have: half of them. */
  readonly #share: number;

  /** @param role - acts as it, where the policies do not bind the database user */
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
    return this.#inTurn(tenantId, () =>
      this.knex.transaction(
        async transaction => {
          await this.#enter(transaction, tenantId);
          return work(transaction);
        },
        { isolationLevel: ISOLATION },
      ),
    );
  }

  /** @throws TenantBusyError where too much of the tenant waits */
  async #inTurn<T>(tenantId: string, work: () => Promise<T>): Promise<T> {
    const turns = this.#turns.get(tenantId) ?? createLimit(this.#share);
    if (turns.pendingCount >= QUEUE * this.#share) {
      throw new TenantBusyError();
    }
    this.#turns.set(tenantId, turns);
    try {
      return await turns(work);
    } finally {
      if (turns.activeCount + turns.pendingCount === 0) {
        this.#turns.delete(tenantId);
      }
    }
  }

  async #enter(transaction: Knex.Transaction, tenantId: string): Promise<void> {
    const settings = {
      'app.tenant_id': tenantId,
      row_security: 'on',
      // A search with the limit of GIN indexes leaves out results at random.
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
