import type { Knex } from 'knex';
import type { PoolClient } from 'pg';
import { Batch, type BatchOutcome, type Statement } from './Batch';
import { cancelUntil } from './cancel';
import { compileStatement } from './compileStatement';
import { begin, CONTEXT_CHANGED, leave, type SessionContext } from './context';
import { isUnusable } from './errors';

const COMMIT: Statement = { text: 'commit' };
const ROLLBACK: Statement = { text: 'rollback' };

/** A connection for as long as one operation has it. */
export class Lease {
  readonly #client: PoolClient;
  readonly #onRelease: () => void;
  #released = false;
  #cancelled = false;

  /** @param onRelease - called once, when the connection is given back */
  constructor(client: PoolClient, onRelease: () => void) {
    this.#client = client;
    this.#onRelease = onRelease;
  }

  /**
   * Sends statements in one piece. What became of them is in the outcome, also where they
   * failed.
   *
   * @param signal - has PostgreSQL cancel them when it is aborted
   * @throws Error if the connection was given back already
   */
  async run(
    statements: readonly Statement[],
    signal?: AbortSignal,
  ): Promise<BatchOutcome> {
    if (this.#released) {
      throw new Error('The connection was given back already');
    }
    const batch = new Batch(
      statements,
      () => this.#client.getTransactionStatus() === 'T',
    );
    const { outcome } = this.#client.query(batch);
    if (!signal) {
      return await outcome;
    }
    const cancel = () => {
      this.#cancelled = true;
      cancelUntil(outcome, this.#client);
    };
    signal.addEventListener('abort', cancel);
    try {
      return await outcome;
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  }

  /**
   * Sends statements that begin a transaction, and its commit, in one piece. The commit
   * stands behind a Sync of its own, so that it is run after a failure too, where it is a
   * rollback: no second round trip is needed to end the transaction.
   *
   * @returns the outcome of both, of which {@link releaseCommitted} looks at the last
   */
  async runAndCommit(
    statements: readonly Statement[],
    signal?: AbortSignal,
  ): Promise<BatchOutcome> {
    const [outcome, committed] = await Promise.all([
      this.run(statements, signal),
      this.run([COMMIT]),
    ]);
    return isFailed(outcome)
      ? outcome
      : {
          ...committed,
          failedAt: statements.length + committed.failedAt,
          results: isFailed(committed)
            ? []
            : [...outcome.results, ...committed.results],
        };
  }

  /** The server's word is that no transaction is open. */
  get idle(): boolean {
    return this.#client.getTransactionStatus() === 'I';
  }

  /**
   * Gives the connection back. It is closed instead if it is not known to be idle,
   * or if the caller has doubts about it. After a cancellation it is closed as well: one
   * that PostgreSQL gets to late would end the next statement, which may be of another
   * tenant.
   */
  release(options: { inDoubt: boolean }): void {
    this.#released = true;
    const isLeft = this.#cancelled || options.inDoubt || !this.idle;
    this.#client.release(isLeft);
    this.#onRelease();
  }
}

/** The outcome of a batch that has failed. */
export type FailedOutcome = BatchOutcome & { error: Error };

const noop = () => undefined;

/**
 * Gives the connection of a transaction back whose last statement was its commit.
 *
 * @throws Error if it was rolled back: a transaction in which a statement has failed answers a
 * commit with ROLLBACK, and no error
 */
export function releaseCommitted(lease: Lease, outcome: BatchOutcome): void {
  const { results } = outcome;
  const committed = results[results.length - 1].command === 'COMMIT';
  lease.release({ inDoubt: !committed });
  if (!committed) {
    throw new Error('The database rolled back instead of a commit');
  }
}

interface PooledTransactionOptions {
  lease: Lease;
  context: SessionContext;
  /** The error that callers get. `failedToEnter` is the failure to begin. */
  toError: (
    outcome: FailedOutcome,
    when: { committing: boolean; failedToEnter: boolean },
  ) => Error;
}

/**
 * Several statements in one transaction on a connection, which it gives back.
 *
 * It commits only if every statement has succeeded, whether or not `work` looked.
 */
export class PooledTransaction {
  readonly #options: PooledTransactionOptions;
  readonly #pending = new Set<Promise<void>>();
  #begun: Promise<unknown> | undefined;
  #failure: Error | undefined;
  #inDoubt = false;
  #ended = false;

  constructor(options: PooledTransactionOptions) {
    this.#options = options;
  }

  query<TRow extends object>(
    statement: Knex.QueryBuilder | Knex.Raw,
  ): Promise<TRow[]> {
    if (this.#ended) {
      // Another operation may have its connection by now.
      return Promise.reject(
        new Error('The transaction is over: a statement came too late'),
      );
    }
    const rows = this.#query(statement).catch(error => {
      this.#failure ??= error;
      throw this.#failure;
    });
    // The end of the transaction waits also for statements that `work` does not wait for.
    const settled = rows.then(noop, noop).then(() => {
      this.#pending.delete(settled);
    });
    this.#pending.add(settled);
    return rows as Promise<TRow[]>;
  }

  /** Commits, if every statement has succeeded, or rolls back and throws. */
  async end(): Promise<void> {
    await this.#finish();
    if (this.#failure) {
      await this.#rollback();
      throw this.#failure;
    }
    if (!this.#begun) {
      this.#options.lease.release({ inDoubt: false });
      return;
    }
    await this.#commit();
  }

  /** Rolls back. */
  async abort(): Promise<void> {
    await this.#finish();
    await this.#rollback();
  }

  /** Waits for statements that `work` has not waited for, and takes no more. */
  async #finish(): Promise<void> {
    this.#ended = true;
    await Promise.all(this.#pending);
  }

  async #query(statement: Knex.QueryBuilder | Knex.Raw): Promise<object[]> {
    if (this.#failure) {
      throw this.#failure;
    }
    const compiled = compileStatement(statement);
    if (!this.#begun) {
      const { context } = this.#options;
      return await this.#run([...begin(context), compiled]);
    }
    // Not before it is certain that the transaction has begun.
    await this.#begun;
    if (this.#failure) {
      throw this.#failure;
    }
    return await this.#run([compiled]);
  }

  async #run(statements: Statement[]): Promise<object[]> {
    const { lease, toError } = this.#options;
    const running = lease.run(statements);
    this.#begun ??= running;
    const outcome = await running;
    if (isFailed(outcome)) {
      this.#inDoubt ||= isUnusable(outcome);
      this.#failure ??= toError(outcome, {
        committing: false,
        failedToEnter: outcome.failedAt < statements.length - 1,
      });
      throw this.#failure;
    }
    if (!outcome.inTransaction) {
      this.#inDoubt = true;
      throw new Error('A statement has ended its own transaction');
    }
    return outcome.results[statements.length - 1].rows;
  }

  async #commit(): Promise<void> {
    const { lease, context, toError } = this.#options;
    const outcome = await lease.run([leave(context), COMMIT]);
    if (!isFailed(outcome)) {
      releaseCommitted(lease, outcome);
      return;
    }
    const contextChanged = outcome.failedAt === 0 && isContextChange(outcome);
    this.#inDoubt = isUnusable(outcome) || contextChanged;
    await this.#rollback();
    throw contextChanged
      ? new Error(CONTEXT_CHANGED)
      : toError(outcome, { committing: true, failedToEnter: false });
  }

  async #rollback(): Promise<void> {
    const { lease } = this.#options;
    if (this.#inDoubt || !this.#begun || lease.idle) {
      lease.release({ inDoubt: this.#inDoubt });
      return;
    }
    const outcome = await lease.run([ROLLBACK]);
    lease.release({ inDoubt: isFailed(outcome) });
  }
}

export function isFailed(outcome: BatchOutcome): outcome is FailedOutcome {
  return outcome.error !== undefined;
}

/** The error that the reset of the context raises by itself. */
export function isContextChange({ error }: FailedOutcome): boolean {
  return 'code' in error && error.code === '22023';
}
