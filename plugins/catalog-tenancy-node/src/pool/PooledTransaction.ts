import type { Knex } from 'knex';
import { DatabaseError, type PoolClient, type QueryResult } from 'pg';
import type { Canceller, RunningTransaction } from './Canceller';
import { compileStatement, type Statement } from './compileStatement';
import {
  begin,
  CONTEXT_CHANGED,
  type Entered,
  enterOnNodes,
  hasWritten,
  isContextChange,
  leaveAndCommit,
  type SessionContext,
} from './context';
import { type Failure, isUnusable } from './errors';

const ROLLBACK: Statement = { text: 'rollback' };

interface PooledTransactionOptions {
  client: PoolClient;
  context: SessionContext;
  canceller: Canceller;
  /** Called once, when the connection is given back. */
  onRelease: () => void;
  /** The error that callers get. */
  toError: (failure: Failure) => Error;
}

interface Committed {
  /** Of the last statement. */
  rows: object[];
  wrote: boolean;
}

const noop = () => undefined;

/**
 * One transaction on a connection, which it gives back.
 *
 * Nothing of the caller is sent before PostgreSQL has answered that the transaction is
 * open, and its tenant and role are set. `pg` ends each query with a Sync of its own, also
 * in pipeline mode, and PostgreSQL goes on with the next one after an error: a statement
 * behind a `begin` that was cancelled would run outside of a transaction, for whichever
 * tenant the connection was left with. Inside of one that has failed, PostgreSQL refuses
 * all that follows, a commit too. So the statement and the commit are sent together.
 *
 * It commits only if every statement has succeeded, whether or not `work` looked.
 */
export class PooledTransaction {
  readonly #options: PooledTransactionOptions;
  readonly #pending = new Set<Promise<void>>();
  #begun: Promise<RunningTransaction> | undefined;
  #rolledBack: Promise<boolean> | undefined;
  #failure: Error | undefined;
  #isOver = false;
  #isCancelled = false;
  #inDoubt = false;

  constructor(options: PooledTransactionOptions) {
    this.#options = options;
  }

  /**
   * Runs statements and the commit.
   *
   * @param signal - has PostgreSQL cancel them when it is aborted
   */
  async run(
    statements: readonly Statement[],
    signal?: AbortSignal,
  ): Promise<Committed> {
    this.#isOver = true;
    try {
      const running = await this.#begin();
      signal?.throwIfAborted();
      return await this.#commit(statements, ended =>
        this.#cancelling(ended, running, signal),
      );
    } catch (error) {
      await this.#giveBack();
      throw error;
    }
  }

  /** Runs one of several statements, and returns its rows. */
  query<TRow extends object>(
    statement: Knex.QueryBuilder | Knex.Raw,
  ): Promise<TRow[]> {
    if (this.#isOver) {
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
    try {
      if (this.#failure) {
        throw this.#failure;
      }
      if (this.#begun) {
        await this.#commit([]);
        return;
      }
    } catch (error) {
      await this.#giveBack();
      throw error;
    }
    await this.#giveBack();
  }

  /** Rolls back. */
  async abort(): Promise<void> {
    await this.#finish();
    await this.#giveBack();
  }

  /** Waits for statements that `work` has not waited for, and takes no more. */
  async #finish(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#pending);
  }

  async #query(statement: Knex.QueryBuilder | Knex.Raw): Promise<object[]> {
    this.#throwIfFailed();
    const compiled = compileStatement(statement);
    await this.#begin();
    this.#throwIfFailed();
    const [answer] = await this.#send([compiled]);
    if (answer.status === 'rejected') {
      throw await this.#fail(answer.reason, 'statement');
    }
    return answer.value.rows;
  }

  /** Nothing may be sent behind the rollback: it would run outside of the transaction. */
  #throwIfFailed(): void {
    if (this.#failure || this.#rolledBack) {
      throw this.#failure ?? new Error('The transaction has failed');
    }
  }

  #begin(): Promise<RunningTransaction> {
    this.#begun ??= this.#enter();
    return this.#begun;
  }

  async #enter(): Promise<RunningTransaction> {
    const { context } = this.#options;
    const [answer] = await this.#send([begin(context)]);
    if (answer.status === 'rejected') {
      throw await this.#fail(answer.reason, 'begin');
    }
    const [entered]: Entered[] = lastResult(answer.value).rows;
    if (entered.citus) {
      const [onNodes] = await this.#send([enterOnNodes(context)]);
      if (onNodes.status === 'rejected') {
        throw await this.#fail(onNodes.reason, 'begin');
      }
    }
    return entered;
  }

  /** Sends statements and the commit, and gives the connection back if that succeeds. */
  async #commit(
    statements: readonly Statement[],
    until: <T>(ended: Promise<T>) => Promise<T> = ended => ended,
  ): Promise<Committed> {
    const { context } = this.#options;
    const answers = await until(
      this.#send([...statements, leaveAndCommit(context)]),
    );
    const results: QueryResult[] = [];
    for (const answer of answers) {
      if (answer.status === 'rejected') {
        throw await this.#fail(
          answer.reason,
          results.length < statements.length ? 'statement' : 'commit',
          { committing: true },
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
    running: RunningTransaction,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const cancel = () => {
      this.#isCancelled = true;
      this.#options.canceller.cancelUntil(ended, running);
    };
    signal?.addEventListener('abort', cancel);
    try {
      return await ended;
    } finally {
      signal?.removeEventListener('abort', cancel);
    }
  }

  /** Never rejects. It sends all, whatever becomes of those before. */
  #send(
    statements: readonly Statement[],
  ): Promise<PromiseSettledResult<QueryResult>[]> {
    const { client } = this.#options;
    return Promise.allSettled(
      statements.map(statement => client.query(statement)),
    );
  }

  /**
   * Rolls back, and finds out by that whether there still is a connection: after an error
   * `pg` does not say before the next answer.
   *
   * @param options - `committing`: the commit was sent as well
   */
  async #fail(
    error: Error,
    phase: Failure['phase'],
    { committing = false } = {},
  ): Promise<Error> {
    const lost = !(await this.#rollBack());
    // A statement that PostgreSQL has refused was not committed, even if the connection
    // was lost afterwards.
    const refused = phase === 'statement' && error instanceof DatabaseError;
    const contextChanged = phase === 'commit' && isContextChange(error);
    this.#inDoubt ||= isUnusable(error) || contextChanged;
    return contextChanged
      ? new Error(CONTEXT_CHANGED)
      : this.#options.toError({
          error,
          phase,
          lost,
          outcomeUnknown: lost && committing && !refused,
        });
  }

  /** @returns whether PostgreSQL says that no transaction is open */
  #rollBack(): Promise<boolean> {
    this.#rolledBack ??= this.#send([ROLLBACK]).then(
      ([{ status }]) => status === 'fulfilled' && this.#isIdle(),
    );
    return this.#rolledBack;
  }

  /** Gives the connection back, without a commit. */
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
   * The connection is closed instead if it is not known to be idle, or if there are doubts
   * about it. After a cancellation it is closed as well: one that PostgreSQL gets to late
   * would end the next statement, which may be of another tenant.
   */
  #release(): void {
    const { client, onRelease } = this.#options;
    client.release(this.#isCancelled || this.#inDoubt || !this.#isIdle());
    onRelease();
  }
}

/** Several statements in one text have several results, which the types of `pg` do not say. */
function lastResult(result: QueryResult | QueryResult[]): QueryResult {
  return [result].flat().at(-1)!;
}
