import { ServiceUnavailableError } from '@backstage/errors';
import { isRead } from 'backstage-plugin-catalog-tenancy-node';
import { EventEmitter } from 'node:events';
import type { QueryConfig, QueryResult, Submittable } from 'pg';
import type { Session } from './Session';

type QueryCallback = (error: Error | null, result?: QueryResult) => void;

/**
 * Decides which statements of a nested plugin reach PostgreSQL, before they get a
 * connection. Polls of an idle tenant wait; all other statements pass.
 */
export interface StatementGate {
  /** The kind of poll of a statement; `undefined` if it is no poll. */
  pollOf(sql: string): string | undefined;

  /**
   * Called before a poll of this kind gets a connection.
   *
   * @returns when the poll may continue: `ask` PostgreSQL, or continue as if there were no
   * rows, because the plugin stops
   */
  admit(poll: string): Promise<'ask' | 'empty'>;

  /** Called with the number of rows of a poll of this kind. */
  answered(poll: string, rows: number): void;

  /**
   * Called when a connection is returned that ran a statement other than a poll, after its
   * writes are visible to others.
   */
  returned(): void;
}

/** A session that belongs to a {@link LazyConnection} for a time. */
export interface TakenSession {
  session: Session;
  /** Never rejects. */
  release(destroy: boolean): Promise<void>;
}

interface LazyConnectionOptions {
  gate?: StatementGate;
  /** @param signal - ends the waiting, with its reason */
  take(signal: AbortSignal): Promise<TakenSession>;
}

const ISOLATION =
  'isolation level (serializable|repeatable read|read committed|read uncommitted)';
const BEGIN = new RegExp(
  `^begin( transaction( ${ISOLATION})?( read only)?)?;?$`,
  'i',
);
const SAVEPOINT =
  /^(savepoint|release savepoint|rollback to savepoint) \w+;?$/i;
const END = /^(commit|rollback);?$/i;

/**
 * A connection of `pg` for Knex. It takes a session from the pool at its first statement, and
 * none for a transaction without statements.
 *
 * So the first statement decides whether there is a session at all: polls of an idle tenant
 * wait without one.
 */
export class LazyConnection {
  readonly #gate?: StatementGate;
  readonly #take: LazyConnectionOptions['take'];
  readonly #released = new AbortController();
  /** Resolves when all earlier statements have been sent. */
  #tail: Promise<void> = Promise.resolve();
  #taken?: TakenSession;
  /** Whether it ran a statement other than a poll. */
  #hasWorked = false;
  #onlyReads = true;
  /** The beginning of a transaction, which goes to PostgreSQL with its first statement. */
  #beginning: string[] = [];
  /** Why the transaction did not get to PostgreSQL: it fails as a whole. */
  #failure?: { error: unknown };

  constructor({ gate, take }: LazyConnectionOptions) {
    this.#gate = gate;
    this.#take = take;
  }

  /** For Knex, when it cancels a statement. */
  get processID(): number | null {
    return this.#taken?.session.pid ?? null;
  }

  /** As that of `pg`: with a callback, or with a promise, or with events. */
  query(
    config: string | QueryConfig | Submittable,
    valuesOrCallback?: unknown[] | QueryCallback,
    lastCallback?: QueryCallback,
  ): unknown {
    if (isSubmittable(config)) {
      this.#submit(config);
      return config;
    }
    const [values, callback] =
      typeof valuesOrCallback === 'function'
        ? [undefined, valuesOrCallback]
        : [valuesOrCallback, lastCallback];
    const query = {
      ...(typeof config === 'string' ? { text: config } : config),
      ...(values && { values }),
    };
    const answer = this.#answer(query);
    if (!callback) {
      return answer;
    }
    answer.then(
      result => callback(null, result),
      error => callback(error),
    );
    return undefined;
  }

  /** As that of a connection of `pg.Pool`; more than once for a stream. */
  release(destroy = false): void {
    if (!this.#released.signal.aborted) {
      this.#released.abort(
        new Error('The connection has been given back to the pool'),
      );
      this.#taken?.release(destroy);
      this.#taken = undefined;
      if (this.#hasWorked) {
        this.#gate?.returned();
      }
    }
  }

  async #answer(query: QueryConfig): Promise<QueryResult> {
    let poll: string | undefined;
    const sent = await this.#inTurn(async () => {
      const command = this.#withoutSession(query.text);
      if (command !== undefined) {
        return { result: emptyResult(command) };
      }
      if (!isControl(query.text)) {
        poll = this.#taken ? undefined : this.#gate?.pollOf(query.text);
        if (poll === undefined) {
          this.#hasWorked = true;
        } else if ((await this.#admit(poll)) === 'empty') {
          poll = undefined;
          return { result: emptyResult('SELECT') };
        }
      }
      const session = await this.#open();
      this.#onlyReads &&= isControl(query.text) || isRead(query);
      return {
        result: session.query(query).catch(error => {
          throw session.isLost ? lost(this.#onlyReads) : error;
        }),
      };
    });
    const result = await sent.result;
    if (poll !== undefined) {
      this.#gate?.answered(poll, result.rows.length);
    }
    return result;
  }

  #submit(query: Submittable): void {
    this.#inTurn(async () => {
      this.#hasWorked = true;
      this.#onlyReads = false;
      (await this.#open()).submit(query);
    }).catch(error => fail(query, error));
  }

  /** Statements are sent in the order of the calls, without waiting for results. */
  #inTurn<T>(send: () => Promise<T>): Promise<T> {
    const sent = this.#tail.then(async () => {
      this.#released.signal.throwIfAborted();
      return send();
    });
    this.#tail = sent.then(
      () => undefined,
      () => undefined,
    );
    return sent;
  }

  /** The command to answer, for a statement that needs no session. */
  #withoutSession(sql: string): string | undefined {
    if (this.#taken) {
      return undefined;
    }
    if (END.test(sql)) {
      this.#beginning = [];
      const command = this.#failure ? 'ROLLBACK' : commandOf(sql);
      this.#failure = undefined;
      return command;
    }
    this.#throwIfFailed();
    if (isControl(sql)) {
      this.#beginning.push(sql.endsWith(';') ? sql : `${sql};`);
      return commandOf(sql);
    }
    return undefined;
  }

  #throwIfFailed(): void {
    if (this.#failure) {
      throw this.#failure.error;
    }
  }

  async #admit(poll: string): Promise<'ask' | 'empty'> {
    const answer = await this.#gate!.admit(poll);
    this.#released.signal.throwIfAborted();
    return answer;
  }

  async #open(): Promise<Session> {
    if (this.#taken) {
      return this.#taken.session;
    }
    this.#throwIfFailed();
    const beginning = this.#beginning.splice(0);
    let taken: TakenSession | undefined;
    try {
      taken = await this.#take(this.#released.signal);
      if (beginning.length > 0) {
        await taken.session.begin(beginning.join(' '));
      }
      this.#released.signal.throwIfAborted();
      this.#taken = taken;
      return taken.session;
    } catch (error) {
      await taken?.release(false);
      keepMessage(error);
      if (beginning.length > 0) {
        // Later statements must not be sent without the failed one, nor outside of the
        // transaction.
        this.#failure = { error };
      }
      throw error;
    }
  }
}

/** Whether a statement only begins or ends a transaction, or a part of one. */
function isControl(sql: string): boolean {
  return BEGIN.test(sql) || SAVEPOINT.test(sql) || END.test(sql);
}

function commandOf(sql: string): string {
  return sql.split(/[ ;]/, 1)[0].toUpperCase();
}

function emptyResult(command: string): QueryResult {
  return {
    command,
    rowCount: command === 'SELECT' ? 0 : null,
    oid: 0,
    rows: [],
    fields: [],
  };
}

function isSubmittable(
  config: string | QueryConfig | Submittable,
): config is Submittable {
  return typeof config === 'object' && 'submit' in config;
}

/** Knex puts the statement in front of the message of an error that is none of PostgreSQL, too. */
function keepMessage(error: unknown): void {
  if (error instanceof Error) {
    const { message } = error;
    Object.defineProperty(error, 'message', {
      configurable: true,
      get: () => message,
      set: () => undefined,
    });
  }
}

/** PostgreSQL may have done a statement that writes, and even committed. */
function lost(onlyReads: boolean): Error {
  const change = onlyReads
    ? ''
    : ' before it answered: a change may or may not have been made';
  const error = new ServiceUnavailableError(
    `The connection to the database was lost${change}`,
  );
  keepMessage(error);
  return error;
}

/** Streams and queries of `pg` tell of their errors by an event. */
function fail(query: Submittable, error: unknown): void {
  if (query instanceof EventEmitter) {
    query.emit('error', error);
  }
}
