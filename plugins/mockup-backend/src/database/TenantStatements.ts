import type { Knex } from 'knex';

/** A statement that Knex has built. */
export type Statement = Knex.Raw | Knex.QueryBuilder;

/** Runs the statements of a store, each in one round trip. */
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

/** What is used of a connection of `pg`. */
interface Connection {
  /** Whether queries go out without waiting for the answers to those before. */
  pipeline?: boolean;
  query(text: string, values?: readonly unknown[]): Promise<Answer>;
  /** Knex does not hand out a connection again that has ended. */
  end(): Promise<void>;
}

interface Answer {
  command: string;
  rows: object[];
}

/**
 * Statements that see and write the rows of their tenant alone: the policies of
 * row-level security compare with the setting `app.tenant_id`, and bind the role.
 *
 * Each runs in a transaction, for which tenant and role are set: nothing stays behind
 * in the session, whatever fails. The four queries leave together, in one message, as
 * `pg` offers since 8.22 (`pipeline`); an older one sends them one by one.
 */
export class TenantStatements implements Statements {
  readonly knex: Knex;
  readonly #role: string | undefined;

  /** @param role - acts as it, where the policies do not bind the database user */
  constructor(knex: Knex, role: string | undefined) {
    this.knex = knex;
    this.#role = role;
  }

  async run<TRow>(tenantId: string, statement: Statement): Promise<TRow[]> {
    const { sql, bindings } = statement.toSQL().toNative();
    const { client } = this.knex;
    const connection: Connection = await client.acquireConnection();
    try {
      const [begun, entered, answered, ended] = await sendTogether(connection, [
        { text: `begin isolation level ${ISOLATION}` },
        this.#enter(tenantId),
        { text: sql, values: bindings },
        { text: 'commit' },
      ]);
      if (ended.status === 'rejected') {
        // Its transaction may still be open.
        await connection.end().catch(() => {});
      }
      for (const outcome of [begun, entered, answered, ended]) {
        if (outcome.status === 'rejected') {
          throw outcome.reason;
        }
      }
      return (answered as PromiseFulfilledResult<Answer>).value.rows as TRow[];
    } finally {
      await client.releaseConnection(connection);
    }
  }

  transaction<T>(
    tenantId: string,
    work: (transaction: Knex.Transaction) => Promise<T>,
  ): Promise<T> {
    return this.knex.transaction(
      async transaction => {
        const { text, values } = this.#enter(tenantId);
        await transaction.raw(text.replace(/\$\d/g, '?'), values);
        return work(transaction);
      },
      { isolationLevel: ISOLATION },
    );
  }

  #enter(tenantId: string) {
    // A search with the limit of GIN indexes leaves out results at random.
    const text = `select set_config('app.tenant_id', $1, true),
      set_config('row_security', 'on', true), set_config('gin_fuzzy_search_limit', '0', true)`;
    return this.#role === undefined
      ? { text, values: [tenantId] }
      : {
          text: `${text}, set_config('role', $2, true)`,
          values: [tenantId, this.#role],
        };
  }
}

/** Sends all, whatever becomes of those before: a failed transaction takes no more. */
async function sendTogether(
  connection: Connection,
  queries: { text: string; values?: readonly unknown[] }[],
): Promise<PromiseSettledResult<Answer>[]> {
  if ('pipeline' in connection) {
    connection.pipeline = true;
    return await Promise.allSettled(
      queries.map(({ text, values }) => connection.query(text, values)),
    );
  }
  const outcomes: PromiseSettledResult<Answer>[] = [];
  for (const { text, values } of queries) {
    outcomes.push(
      ...(await Promise.allSettled([connection.query(text, values)])),
    );
  }
  return outcomes;
}
