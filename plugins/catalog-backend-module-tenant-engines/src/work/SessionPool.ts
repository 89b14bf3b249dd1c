import type { LoggerService } from '@backstage/backend-plugin-api';
import { ServiceUnavailableError } from '@backstage/errors';
import { FairQueue, SilenceWatch } from 'backstage-plugin-catalog-tenancy-node';
import { AsyncResource } from 'node:async_hooks';
import { setMaxListeners } from 'node:events';
import type { ClientConfig } from 'pg';
import { PoolerError, requireSessionPooling, Session } from './Session';

export interface PoolStats {
  /** Connections to PostgreSQL. */
  sessions: number;
  /** Connections that are not idle, including those that open or close. */
  used: number;
  idle: number;
  max: number;
  /** Requests for a session. */
  waiting: number;
  /** How often a session was given out. */
  acquires: number;
  /** How often it changed to another schema for that. */
  switches: number;
  /** How often one was opened. */
  opened: number;
}

/** Times are in milliseconds. */
export interface SessionLimits {
  /** How long a request for a session waits. */
  waitMs: number;
  /**
   * How long a statement waits for a lock. A tenant whose tables are locked keeps its sessions
   * for as long, and then they go to others.
   */
  lockMs: number;
  /** How long a session may take to open. */
  openMs: number;
  /** How long sessions at work, and those that open, have to end when the pool closes. */
  closeMs: number;
  /** After how long without use a session is closed. */
  idleMs: number;
  /**
   * For how long after its use a session is kept for its schema, where another can be opened
   * instead: a tenant at work comes back within it, and one that polls does not.
   */
  keepMs: number;
  /**
   * How often, and for how long at most, a session is given to a tenant that has more to do,
   * while others wait: what it has learnt of a schema serves more than one transaction.
   */
  turnUses: number;
  turnMs: number;
  /** For how long it waits for the tenant's next transaction meanwhile. */
  lingerMs: number;
  /**
   * A session that has worked in so many schemas is closed. On PostgreSQL 18 its caches of
   * relations and plans grow by 0.95 MB with each, from 1.6 MB to 22 MB after 20.
   */
  schemas: number;
  /** A session that is open for so long is closed. */
  ageMs: number;
}

const LIMITS: SessionLimits = {
  waitMs: 60_000,
  // More than the 10 s for which `partition` blocks writers by default.
  lockMs: 15_000,
  openMs: 60_000,
  closeMs: 10_000,
  idleMs: 30_000,
  keepMs: 200,
  turnUses: 50,
  turnMs: 3_000,
  lingerMs: 20,
  schemas: 20,
  ageMs: 1_800_000,
};

const LEAST_SHARE = 2;

interface SessionPoolOptions {
  connection: ClientConfig;
  applicationName: string;
  max: number;
  limits?: Partial<SessionLimits>;
  logger: LoggerService;
}

/** Nothing for statements of no tenant: any session serves. */
type Schema = string | undefined;

/** A request for a session. */
class Waiter {
  readonly schema: Schema;
  readonly session: Promise<Session>;
  /** Whether it has its session, or has failed. */
  isDone = false;
  #resolve!: (session: Session) => void;
  #reject!: (error: unknown) => void;

  constructor(schema: Schema) {
    this.schema = schema;
    this.session = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  resolve(session: Session): void {
    this.isDone = true;
    this.#resolve(session);
  }

  reject(error: unknown): void {
    this.isDone = true;
    this.#reject(error);
  }
}

/** Whose turn it is with a session. */
interface Turn {
  schema: Schema;
  /** How often it has been given out. */
  uses: number;
  /** When it began, by the clock of `performance`. */
  since: number;
}

interface Idle {
  session: Session;
  since: number;
  turn: Turn;
  timer: NodeJS.Timeout;
}

/**
 * Sessions that work in one schema at a time, shared by the tenants whose schemas these are.
 *
 * **Affinity.** Which session a tenant gets decides how much memory they take together: each
 * keeps in its caches what it has learnt of the schemas that it has worked in. In this order:
 *
 * 1. an idle one that is in the schema already;
 * 2. an idle one whose tenant has not come back at once, and of these the one used last. Polls
 *    go round in a circle, in which the one used longest ago is the next one that is needed.
 *    And what nothing needs gets to its end;
 * 3. a new one, below the maximum;
 * 4. the idle one used longest ago.
 *
 * **Fairness.** A session whose turn is over goes to the tenant that holds the fewest, and among
 * equals in turn, whatever the number of their requests. So none gets more than half while
 * another waits for longer than a turn. And none gets more than half (two at least), also while no other waits: what it
 * has more waits for its own, and a tenant that becomes active finds a session.
 */
export class SessionPool {
  readonly #options: SessionPoolOptions;
  readonly #limits: SessionLimits;
  /** How many sessions may work in one schema at a time. */
  readonly #share: number;
  readonly #silence: SilenceWatch;
  /** Sessions outlive the request for which they are opened. */
  readonly #context = new AsyncResource('SessionPool');
  /** The one used last is the last. */
  readonly #idle: Idle[] = [];
  /** Sessions that are not idle. */
  readonly #held = new Map<Session, Turn>();
  readonly #queue = new FairQueue<Schema, Waiter>(schema =>
    this.#countOf(schema),
  );
  /** The number of sessions for a schema, including those that open. */
  readonly #counts = new Map<Schema, number>();
  #sessions = 0;
  #acquires = 0;
  #switches = 0;
  #opened = 0;
  #isClosed = false;
  /** Ends the sessions that open. */
  readonly #giveUp = new AbortController();
  /** The running check that a pooler keeps sessions. */
  #proof?: Promise<void>;
  #onEmpty?: () => void;

  constructor(options: SessionPoolOptions) {
    this.#options = options;
    this.#limits = { ...LIMITS, ...options.limits };
    this.#silence = new SilenceWatch(options.connection);
    this.#share = Math.max(LEAST_SHARE, Math.floor(options.max / 2));
    // Each session that opens is one.
    setMaxListeners(0, this.#giveUp.signal);
  }

  get stats(): PoolStats {
    return {
      sessions: this.#sessions,
      used: this.#sessions - this.#idle.length,
      idle: this.#idle.length,
      max: this.#options.max,
      waiting: this.#queue.size,
      acquires: this.#acquires,
      switches: this.#switches,
      opened: this.#opened,
    };
  }

  /**
   * Takes a session until {@link SessionPool.release}.
   *
   * @param schema - in which the session is to work
   * @param signal - ends the waiting, with its reason
   */
  async acquire(schema: Schema, signal?: AbortSignal): Promise<Session> {
    signal?.throwIfAborted();
    if (this.#isClosed) {
      throw closedError();
    }
    const waiter = new Waiter(schema);
    const giveUp = () => {
      this.#queue.remove(schema, waiter);
      waiter.reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      const { waiting } = this.stats;
      const hasWaited = this.#queue.remove(schema, waiter);
      waiter.reject(this.#tooLate(schema, hasWaited ? waiting : 0));
    }, this.#limits.waitMs);
    signal?.addEventListener('abort', giveUp);
    try {
      this.#queue.add(schema, waiter);
      this.#dispatch();
      return await waiter.session;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', giveUp);
    }
  }

  /**
   * Gives a session back, which is closed where anything of its use is left in it.
   *
   * @returns when it is idle or closing; it never rejects
   */
  async release(
    session: Session,
    { destroy = false }: { destroy?: boolean } = {},
  ): Promise<void> {
    const { ageMs, schemas } = this.#limits;
    const isKept =
      !destroy &&
      (await session.isUsable()) &&
      !this.#isClosed &&
      session.schemaCount < schemas &&
      performance.now() - session.openedAt < ageMs;
    const turn = this.#held.get(session);
    if (!turn) {
      // The pool has closed without waiting for it.
      return;
    }
    this.#leave(turn.schema);
    this.#held.delete(session);
    const next = isKept && this.#goesOn(turn) && this.#nextOf(turn.schema);
    if (next) {
      this.#give(next, session, turn);
    } else if (isKept) {
      this.#idle.push({
        session,
        since: performance.now(),
        turn,
        timer: setTimeout(() => this.#endIdle(session), this.#limits.idleMs),
      });
      if (this.#goesOn(turn)) {
        // Timers may come a little early, and nothing else may come for seconds.
        setTimeout(() => this.#dispatch(), this.#limits.lingerMs + 1);
      }
    } else {
      this.#end(session);
    }
    this.#dispatch();
  }

  /** Ends all sessions, after some seconds also those at work and those that open. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#queue.clear().forEach(waiter => waiter.reject(closedError()));
    this.#endAllIdle();
    const timer = setTimeout(() => {
      this.#giveUp.abort();
      [...this.#held.keys()].forEach(session => {
        this.#held.delete(session);
        this.#end(session);
      });
    }, this.#limits.closeMs);
    if (this.#sessions > 0) {
      await new Promise<void>(resolve => {
        this.#onEmpty = resolve;
      });
    }
    clearTimeout(timer);
  }

  /** Serves waiting requests while there are sessions. */
  #dispatch(): void {
    const hasSession = (schema: Schema) =>
      this.#sessions < this.#options.max ||
      this.#idle.some(idle => this.#isFree(idle, schema));
    for (;;) {
      const waiter = this.#queue.next(
        schema => this.#isBelowShare(schema) && hasSession(schema),
      );
      if (!waiter) {
        return;
      }
      const { schema } = waiter;
      const idle = this.#takeIdle(schema);
      if (!idle) {
        this.#sessions += 1;
      }
      const turn =
        idle && idle.turn.schema === schema && this.#goesOn(idle.turn)
          ? idle.turn
          : { schema, uses: 0, since: performance.now() };
      this.#give(waiter, idle?.session, turn);
    }
  }

  #nextOf(schema: Schema): Waiter | undefined {
    return this.#queue.next(other => other === schema);
  }

  #goesOn({ since, uses }: Turn): boolean {
    const { turnMs, turnUses } = this.#limits;
    return uses < turnUses && performance.now() - since < turnMs;
  }

  /** @param session - or a new one is opened */
  #give(waiter: Waiter, session: Session | undefined, turn: Turn): void {
    this.#counts.set(turn.schema, this.#countOf(turn.schema) + 1);
    turn.uses += 1;
    this.#serve(waiter, session, turn).catch(error => waiter.reject(error));
  }

  /** Whether a session may go to this schema: not while it waits for the tenant whose turn it is. */
  #isFree({ session, since, turn }: Idle, schema: Schema): boolean {
    return (
      schema === undefined ||
      session.isIn(schema) ||
      !this.#goesOn(turn) ||
      performance.now() - since >= this.#limits.lingerMs
    );
  }

  #takeIdle(schema: Schema): Idle | undefined {
    const left = performance.now() - this.#limits.keepMs;
    const last = (test: (idle: Idle) => boolean) =>
      [...this.#idle].reverse().find(test);
    const idle =
      last(({ session }) => schema === undefined || session.isIn(schema)) ??
      last(({ since }) => since <= left) ??
      (this.#sessions < this.#options.max
        ? undefined
        : this.#idle.find(each => this.#isFree(each, schema)));
    if (idle) {
      this.#idle.splice(this.#idle.indexOf(idle), 1);
      clearTimeout(idle.timer);
    }
    return idle;
  }

  async #serve(
    waiter: Waiter,
    idle: Session | undefined,
    turn: Turn,
  ): Promise<void> {
    const { schema } = turn;
    let session = idle;
    try {
      session ??= await this.#open();
      this.#held.set(session, turn);
      if (schema !== undefined && !session.isIn(schema)) {
        if (session.schemaCount > 0) {
          this.#switches += 1;
        }
        await session.switchTo(schema);
      }
    } catch (error) {
      if (error instanceof PoolerError) {
        // An idle session may be in the schema of another tenant by now.
        this.#endAllIdle();
      }
      waiter.reject(error);
      if (session) {
        await this.release(session);
      } else {
        this.#leave(schema);
        this.#ended();
      }
      return;
    }
    if (waiter.isDone) {
      await this.release(session);
    } else {
      this.#acquires += 1;
      waiter.resolve(session);
    }
  }

  async #open(): Promise<Session> {
    const session: Session = await this.#context.runInAsyncScope(() =>
      Session.open({
        ...this.#options,
        lockMs: this.#limits.lockMs,
        openMs: this.#limits.openMs,
        silence: this.#silence,
        signal: this.#giveUp.signal,
        onLost: (lost, error) => this.#lose(lost, error),
      }),
    );
    this.#opened += 1;
    if (session.isPooled) {
      // Each time: the pooler's mode may have changed.
      this.#proof ??= requireSessionPooling(session, {
        ...this.#options,
        signal: this.#giveUp.signal,
      }).finally(() => {
        this.#proof = undefined;
      });
      try {
        await this.#proof;
      } catch (error) {
        await session.close();
        throw error;
      }
    }
    return session;
  }

  /** If it is in use, its next statement fails, and it is not reused. */
  #lose(session: Session, error: Error): void {
    if (this.#endIdle(session)) {
      this.#options.logger.info(
        `An idle connection was lost: ${error.message}`,
      );
    }
  }

  #endIdle(session: Session): boolean {
    const index = this.#idle.findIndex(each => each.session === session);
    if (index < 0) {
      return false;
    }
    const [{ timer }] = this.#idle.splice(index, 1);
    clearTimeout(timer);
    this.#end(session);
    return true;
  }

  #endAllIdle(): void {
    [...this.#idle].forEach(({ session }) => this.#endIdle(session));
  }

  /** PostgreSQL has ended it before another takes its place: there are never more than `max`. */
  #end(session: Session): void {
    session
      .close()
      .then(() => this.#ended())
      .catch(error => this.#options.logger.warn(String(error)));
  }

  #ended(): void {
    this.#sessions -= 1;
    if (this.#sessions === 0) {
      this.#onEmpty?.();
    }
    this.#dispatch();
  }

  #isBelowShare(schema: Schema): boolean {
    return schema === undefined || this.#countOf(schema) < this.#share;
  }

  #countOf(schema: Schema): number {
    return this.#counts.get(schema) ?? 0;
  }

  #leave(schema: Schema): void {
    const count = this.#countOf(schema) - 1;
    if (count > 0) {
      this.#counts.set(schema, count);
    } else {
      this.#counts.delete(schema);
    }
  }

  #tooLate(schema: Schema, waiting: number): Error {
    const { max, used } = this.stats;
    if (waiting > 0 && !this.#isBelowShare(schema)) {
      return new ServiceUnavailableError(
        `The tenant's engine has all of the ${
          this.#share
        } sessions in use that one tenant may have`,
      );
    }
    return new ServiceUnavailableError(
      waiting > 0
        ? `The connection pool of the tenants' engines is busy: ${used} of ${max} sessions are in use, ${waiting} requests wait`
        : `PostgreSQL has not given the tenants' engines a session in ${
            this.#limits.waitMs
          } ms`,
    );
  }
}

function closedError(): Error {
  return new ServiceUnavailableError(
    "The connection pool of the tenants' engines is closed",
  );
}
