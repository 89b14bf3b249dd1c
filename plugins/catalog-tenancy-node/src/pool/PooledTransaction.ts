import type { Knex } from 'knex';
import { DatabaseError, type PoolClient, type QueryResult } from 'pg';
import type { Canceller, RunningTransaction } from './Canceller';
import {
  begin,
  compileStatement,
  CONTEXT_CHANGED,
  type Entered,
  enterOnNodes,
  hasWritten,
  isContextChange,
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
  /** PostgreSQL ends the session if `begin` fails: {@link isDirect}. */
  direct: boolean;
  /** The tables may be on other servers: {@link enterOnNodes}. */
  citus: boolean;
  /** Called with what {@link begin} has answered. */
  onEntered: (entered: Entered) => void;
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
 * All that is known is sent together. `pg` ends each query with a Sync of its own, also in
 * pipeline mode, and PostgreSQL goes on with the next one after an error. Inside of a
 * transaction that has failed it refuses all that follows, a commit too. Yet a statement behind a
 * `begin` that failed, as by a cancellation, would run outside of a transaction, for whichever
 * tenant the connection was left with. So a session ends if its `begin` fails; and behind
 * a pooler, where the session is not ours, nothing of the caller is sent before PostgreSQL
 * has answered that the transaction is open, and its tenant and role are set.
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
  #isCommitting = false;
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
      await this.#enter();
      signal?.throwIfAborted();
      return await this.#commit(statements, signal);
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

  /**
   * Commits, if every statement has succeeded, or rolls back and throws.
   *
   * @param last - sent with the commit, where anything else was
   * @returns the rows of the last one
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

  /** Waits for statements that `work` has not waited for, and takes no more. */
  async #finish(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#pending);
  }

  async #query(statement: Knex.QueryBuilder | Knex.Raw): Promise<object[]> {
    this.#throwIfFailed();
    const compiled = compileStatement(statement);
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

  /** Nothing may be sent behind the rollback: it would run outside of the transaction. */
  #throwIfFailed(): void {
    if (this.#failure || this.#rolledBack) {
      throw this.#failure ?? new Error('The transaction has failed');
    }
  }

  /** Resolves as soon as statements may be sent. */
  async #enter(): Promise<void> {
    this.#begun ??= this.#begin();
    const { direct, citus } = this.#options;
    if (!direct || citus) {
      await this.#begun;
    } else {
      // Whatever is sent waits for it.
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
    return entered;
  }

  /** Sends statements and the commit, and gives the connection back if that succeeds. */
  async #commit(
    statements: readonly Statement[],
    signal?: AbortSignal,
  ): Promise<Committed> {
    this.#isCommitting = true;
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
   */
  async #fail(error: Error, phase: Failure['phase']): Promise<Error> {
    const lost = !(await this.#rollBack());
    // What PostgreSQL has refused was not committed, even if the connection was lost afterwards.
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

function valueOf<T>(settled: PromiseSettledResult<T>): T {
  return (settled as PromiseFulfilledResult<T>).value;
}

/** Several statements in one text have several results, which the types of `pg` do not say. */
function lastResult(result: QueryResult | QueryResult[]): QueryResult {
  return [result].flat().at(-1)!;
}
