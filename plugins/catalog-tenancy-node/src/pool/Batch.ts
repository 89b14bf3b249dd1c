import { DatabaseError, Query } from 'pg';
import type { Connection, QueryResult, Submittable } from 'pg';
import { version as installedVersion } from 'pg/package.json';

/**
 * The minor of `pg` that a batch is tested with, to which `package.json` pins it. What
 * {@link ProtocolQuery} has is internal to `pg` and no part of what its versions
 * promise: a query that sends itself through `submit`, the connection's `sync` being
 * called once for each, the `handle…` methods and who calls them when, and
 * `queryMode`. Before this is moved to another minor, the tests of `src/database` and
 * `src/tenants` have to pass with that.
 */
export const TESTED_PG = '8.23';

/** Says so where another minor of `pg` is installed, as resolutions can have it. */
export function describeUntestedPg(
  version: string = installedVersion,
): string | undefined {
  return version.startsWith(`${TESTED_PG}.`)
    ? undefined
    : `The package pg is installed in version ${version}. Multi-tenancy builds on ` +
        `internals of it, and is tested with ${TESTED_PG} only: install that ` +
        `(pg@~${TESTED_PG}.0), such as by the resolutions or overrides of the ` +
        'repository';
}

/** A statement as PostgreSQL takes it, its parameters written `$1`, `$2`, … */
export interface Statement {
  text: string;
  values?: readonly unknown[];
}

/** What became of a batch. */
export interface BatchOutcome {
  /** Of all statements; empty if one has failed. */
  results: QueryResult[];
  /** Why it failed, if it did. */
  error?: Error;
  /**
   * The statement that failed. It is their number if all were done, and the end of
   * the transaction failed.
   */
  failedAt: number;
  /** The connection is gone, and with it the knowledge of what the server did. */
  lost: boolean;
  /** Something went out to the server. */
  sent: boolean;
  /**
   * The server's word, at the end of this batch, is that a transaction is open and
   * nothing in it has failed. Batches behind it may be answered before it is read.
   */
  inTransaction: boolean;
}

/** What a query of `pg` has beside what its types tell; see {@link TESTED_PG}. */
interface ProtocolQuery extends Submittable {
  submit: (connection: Connection) => Error | null;
  handleRowDescription(message: unknown): void;
  handleDataRow(message: unknown): void;
  handleCommandComplete(message: unknown, connection: Connection): void;
  handleCopyInResponse(connection: Connection): void;
  handleReadyForQuery(connection: Connection): void;
}

/**
 * Statements that go out in one piece, and end with one Sync.
 *
 * After a statement that fails, PostgreSQL skips everything up to the Sync: what
 * follows a setting that failed does not run, with whatever setting there was
 * before. Outside of a transaction, what stands before a Sync **is** one
 * transaction: it is committed at the Sync, or rolled back if anything failed.
 *
 * All statements go through the extended protocol, which takes one statement at a
 * time: a second one behind a semicolon is an error.
 *
 * Each statement is a query of `pg`, which knows how to send values and to parse
 * rows; only its Sync is held back.
 */
export class Batch implements Submittable {
  /** Never rejects. It comes once the server is ready for the next, or is gone. */
  readonly outcome: Promise<BatchOutcome>;

  /** Set by `pg` where there is a `query_timeout`. Call it when done, or `pg` closes the connection then. */
  callback?: (error: Error | undefined) => void;

  readonly #isInTransaction: () => boolean;
  readonly #queries: ProtocolQuery[];
  readonly #results: QueryResult[] = [];
  #settle: (outcome: BatchOutcome) => void = () => undefined;
  #error: Error | undefined;
  #current = 0;
  #sent = false;

  /** @param isInTransaction - asked when the server has answered everything */
  constructor(
    statements: readonly Statement[],
    isInTransaction: () => boolean,
  ) {
    this.#isInTransaction = isInTransaction;
    this.outcome = new Promise(resolve => {
      this.#settle = resolve;
    });
    this.#queries = statements.map(statement => this.#createQuery(statement));
  }

  #createQuery({ text, values = [] }: Statement): ProtocolQuery {
    const config = { text, values: [...values], queryMode: 'extended' };
    const query: Submittable = new Query(config, (error, result) => {
      if (error) {
        this.#error ??= error;
      } else {
        this.#results.push(result);
      }
    });
    return query as ProtocolQuery;
  }

  /** Called by `pg`. */
  submit = (connection: Connection): null => {
    this.#sent = true;
    const withoutSync: Connection = Object.create(connection, {
      sync: { value: () => undefined },
    });
    connection.stream.cork();
    try {
      for (const query of this.#queries) {
        const refused = query.submit(withoutSync);
        this.#error ??= refused ?? undefined;
        // A value that can't be sent: nothing behind it goes out either.
        if (this.#error) {
          break;
        }
      }
    } catch (error) {
      this.#error ??= error as Error;
    } finally {
      connection.sync();
      // With a batch that is submitted behind it, in one piece.
      process.nextTick(() => connection.stream.uncork());
    }
    return null;
  };

  handleRowDescription(message: unknown): void {
    this.#queries[this.#current]?.handleRowDescription(message);
  }

  handleDataRow(message: unknown): void {
    this.#queries[this.#current]?.handleDataRow(message);
  }

  handleCommandComplete(message: unknown, connection: Connection): void {
    this.#queries[this.#current]?.handleCommandComplete(message, connection);
    this.#current += 1;
  }

  handleEmptyQuery(): void {
    this.#current += 1;
  }

  handleCopyInResponse(connection: Connection): void {
    this.#queries[this.#current]?.handleCopyInResponse(connection);
  }

  handleCopyData(): void {}

  handlePortalSuspended(): void {}

  /** The server has an error to tell, or is gone. */
  handleError(error: Error, connection: Connection): void {
    this.#error ??= error;
    if (!(error instanceof DatabaseError) || connection.stream.destroyed) {
      this.#end(true);
      return;
    }
    // From here on `pg` tells the batch nothing more. Yet only once the server is
    // ready again is the state of the connection known.
    const stop = (lost: boolean) => {
      connection.off('readyForQuery', onReady);
      connection.off('end', onEnd);
      this.#end(lost);
    };
    function onReady() {
      stop(false);
    }
    function onEnd() {
      stop(true);
    }
    connection.on('readyForQuery', onReady);
    connection.on('end', onEnd);
  }

  /** The server has done everything. */
  handleReadyForQuery(connection: Connection): void {
    if (!this.#error) {
      for (const query of this.#queries.slice(0, this.#current)) {
        query.handleReadyForQuery(connection);
      }
    }
    if (!this.#error && this.#results.length !== this.#queries.length) {
      this.#error = new Error('Not every statement was answered');
    }
    this.#end(false);
  }

  #end(lost: boolean): void {
    this.#settle({
      results: this.#error ? [] : this.#results,
      error: this.#error,
      failedAt: this.#current,
      lost,
      sent: this.#sent,
      inTransaction: !lost && this.#isInTransaction(),
    });
    this.callback?.(this.#error);
  }
}
