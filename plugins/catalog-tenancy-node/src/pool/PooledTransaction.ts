import type { Knex } from 'knex';
import { DatabaseError, type PoolClient, type QueryResult } from 'pg';
import type { Canceller, RunningTransaction } from './Canceller';
import type { SilenceWatch } from './SilenceWatch';
import {
  begin,
  compileStatement,
  CONTEXT_CHANGED,
  type Entered,
  enterOnNodes,
  hasWritten,
  isContextChange,
  isRead,
  leaveAndCommit,
  type SessionContext,
  type Statement,
} from './statements';
import { type Failure, isUnusable } from './errors';

const ROLLBACK: Statement = { text: 'rollback' };

interface PooledTransactionOptions {
  client: PoolClient;
  context: SessionContext;
  canceller: Canceller;
  silence: SilenceWatch;
  /** PostgreSQL ends the session if `begin` fails: {@link isDirect}. */
  direct: boolean;
  /** The tables may be on other servers: {@link enterOnNodes}. */
  citus: boolean;
  /** Called with the result of {@link begin}. */
  onEntered: (entered: Entered) => void;
  /** Called once, when the connection is released. */
  onRelease: () => void;
  /** Converts a failure to the error for callers. */
  toError: (failure: Failure) => Error;
}

interface Committed {
  /** The rows of the last statement. */
  rows: object[];
  wrote: boolean;
}

const noop = () => undefined;

/**
 * One transaction on a connection of the pool, which it releases at the end.
 *
 * All known statements are sent in one round trip. `pg` ends each query with a Sync, also in
 * pipeline mode, so PostgreSQL continues with the next query after an error. In a failed
 * transaction it refuses all later statements, including the commit. But statements behind a
 * failed `begin` would run outside of a transaction, with the tenant that the connection last
 * had. Therefore a direct session ends if its `begin` fails (`exit_on_error`). Behind a pooler,
 * the session is shared, and statements are sent only after PostgreSQL has confirmed that the
 * transaction is open with its tenant and role.
 *
 * It commits only if every statement has succeeded, even if `work` ignored an error.
 */
export class PooledTransaction {
  readonly #options: PooledTransactionOptions;
  readonly #pending = new Set<Promise<void>>();
  #begun: Promise<RunningTransaction> | undefined;
  #pid: number | undefined;
  #rolledBack: Promise<boolean> | undefined;
  #failure: Error | undefined;
  #isOver = false;
  #isCommitting = false;
  #onlyReads = true;
  #isCancelled = false;
  #inDoubt = false;

  constructor(options: PooledTransactionOptions) {
    this.#options = options;
  }

  /**
   * Runs statements and the commit.
   *
   * @param signal - cancels the statements in PostgreSQL when aborted
   */
  async run(
    statements: readonly Statement[],
    signal?: AbortSignal,
  ): Promise<Committed> {
    this.#isOver = true;
    try {
      await this.#enter();
      signal?.throwIfAborted();
      return await this.#commit(statements, signal);
    } catch (error) {
      await this.#giveBack();
      throw error;
    }
  }

  /** Runs a statement and returns its rows. */
  query<TRow extends object>(
    statement: Knex.QueryBuilder | Knex.Raw,
  ): Promise<TRow[]> {
    if (this.#isOver) {
      // Another operation may use the connection by now.
      return Promise.reject(
        new Error('The transaction is over: a statement came too late'),
      );
    }
    const rows = this.#query(statement).catch(error => {
      this.#failure ??= error;
      throw this.#failure;
    });
    // `end` and `abort` also wait for statements that `work` does not await.
    const settled = rows.then(noop, noop).then(() => {
      this.#pending.delete(settled);
    });
    this.#pending.add(settled);
    return rows as Promise<TRow[]>;
  }

  /**
   * Commits if every statement has succeeded; otherwise rolls back and throws.
   *
   * @param last - sent with the commit, if `work` has sent any statement
   * @returns the rows of the last statement
   */
  async end(last: readonly Statement[]): Promise<object[]> {
    await this.#finish();
    try {
      if (this.#failure) {
        throw this.#failure;
      }
      if (this.#begun) {
        return (await this.#commit(last)).rows;
      }
    } catch (error) {
      await this.#giveBack();
      throw error;
    }
    await this.#giveBack();
    return [];
  }

  /** Rolls back. */
  async abort(): Promise<void> {
    await this.#finish();
    await this.#giveBack();
  }

  /** Waits for pending statements, and accepts no more. */
  async #finish(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#pending);
  }

  async #query(statement: Knex.QueryBuilder | Knex.Raw): Promise<object[]> {
    this.#throwIfFailed();
    const compiled = compileStatement(statement);
    this.#onlyReads &&= isRead(compiled);
    await this.#enter();
    this.#throwIfFailed();
    const sent = this.#send([compiled]);
    await this.#begun;
    const [answer] = await sent;
    if (answer.status === 'rejected') {
      throw await this.#fail(answer.reason, 'statement');
    }
    return answer.value.rows;
  }

  /** A statement behind the rollback would run outside of the transaction. */
  #throwIfFailed(): void {
    if (this.#failure || this.#rolledBack) {
      throw this.#failure ?? new Error('The transaction has failed');
    }
  }

  /** Resolves when statements may be sent. */
  async #enter(): Promise<void> {
    this.#begun ??= this.#begin();
    const { direct, citus } = this.#options;
    if (!direct || citus) {
      await this.#begun;
    } else {
      // `#query` and `#commit` await `#begun` and see its error.
      this.#begun.catch(noop);
    }
  }

  async #begin(): Promise<RunningTransaction> {
    const { context, citus, onEntered } = this.#options;
    const entering = [begin(context, this.#options)];
    if (citus) {
      entering.push(enterOnNodes(context));
    }
    const [begun, onNodes] = await this.#send(entering);
    for (const answer of [begun, onNodes]) {
      if (answer?.status === 'rejected') {
        throw await this.#fail(answer.reason, 'begin');
      }
    }
    const [entered]: Entered[] = lastResult(valueOf(begun)).rows;
    onEntered(entered);
    this.#pid = entered.pid;
    return entered;
  }

  /** Sends statements and the commit, and releases the connection on success. */
  async #commit(
    statements: readonly Statement[],
    signal?: AbortSignal,
  ): Promise<Committed> {
    this.#isCommitting = true;
    this.#onlyReads &&= statements.every(isRead);
    const sent = this.#send([
      ...statements,
      leaveAndCommit(this.#options.context),
    ]);
    const answers = await this.#cancelling(sent, signal);
    await this.#begun;
    const results: QueryResult[] = [];
    for (const answer of answers) {
      if (answer.status === 'rejected') {
        throw await this.#fail(
          answer.reason,
          results.length < statements.length ? 'statement' : 'commit',
        );
      }
      results.push(...[answer.value].flat());
    }
    const [left, committed] = results.slice(statements.length);
    if (committed.command !== 'COMMIT') {
      this.#inDoubt = true;
      throw new Error('The database rolled back instead of a commit');
    }
    this.#release();
    return {
      rows: results[statements.length - 1]?.rows ?? [],
      wrote: hasWritten(left),
    };
  }

  async #cancelling<T>(
    ended: Promise<T>,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const cancel = () => {
      this.#isCancelled = true;
      this.#begun?.then(
        running => this.#options.canceller.cancelUntil(ended, running),
        noop,
      );
    };
    signal?.addEventListener('abort', cancel);
    try {
      return await ended;
    } finally {
      signal?.removeEventListener('abort', cancel);
    }
  }

  /** Sends all statements without waiting for results. Never rejects. */
  #send(
    statements: readonly Statement[],
  ): Promise<PromiseSettledResult<QueryResult>[]> {
    const { client, silence } = this.#options;
    const answers = Promise.allSettled(
      statements.map(statement => client.query(statement)),
    );
    return silence.until(answers, {
      // `pg` closes a connection on which a pipelined query exceeds its own time limit.
      close: () => {
        const overdue = { text: '', query_timeout: 1 };
        client.query(overdue).catch(noop);
      },
      pid: () => this.#pid,
    });
  }

  /**
   * Rolls back, which also shows whether the connection still works: after an error, `pg` knows
   * only by the next answer.
   */
  async #fail(error: Error, phase: Failure['phase']): Promise<Error> {
    const lost = !(await this.#rollBack());
    // A statement that PostgreSQL refused was not committed, even if the connection was lost
    // later.
    const refused = phase !== 'commit' && error instanceof DatabaseError;
    const contextChanged = phase === 'commit' && isContextChange(error);
    this.#inDoubt ||= isUnusable(error) || contextChanged;
    return contextChanged
      ? new Error(CONTEXT_CHANGED)
      : this.#options.toError({
          error,
          phase,
          lost,
          outcomeUnknown: lost && this.#isCommitting && !refused,
          onlyReads: this.#onlyReads,
        });
  }

  /** @returns true if PostgreSQL confirms that no transaction is open */
  #rollBack(): Promise<boolean> {
    this.#rolledBack ??= this.#send([ROLLBACK]).then(
      ([{ status }]) => status === 'fulfilled' && this.#isIdle(),
    );
    return this.#rolledBack;
  }

  /** Rolls back and releases the connection. */
  async #giveBack(): Promise<void> {
    if (this.#begun) {
      await this.#rollBack();
    }
    this.#release();
  }

  #isIdle(): boolean {
    return this.#options.client.getTransactionStatus() === 'I';
  }

  /**
   * Closes the connection unless it is certainly idle and usable. Also closes it after a
   * cancellation request, because a late one would cancel the next statement, possibly of
   * another tenant.
   */
  #release(): void {
    const { client, onRelease } = this.#options;
    client.release(this.#isCancelled || this.#inDoubt || !this.#isIdle());
    onRelease();
  }
}

function valueOf<T>(settled: PromiseSettledResult<T>): T {
  return (settled as PromiseFulfilledResult<T>).value;
}

/** A text of several statements returns an array of results, contrary to the types of `pg`. */
function lastResult(result: QueryResult | QueryResult[]): QueryResult {
  return [result].flat().at(-1)!;
}
