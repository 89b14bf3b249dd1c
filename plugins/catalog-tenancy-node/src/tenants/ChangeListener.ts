import type { LoggerService } from '@backstage/backend-plugin-api';
import { toError } from '@backstage/errors';
import { registryChannel } from 'backstage-catalog-tenancy-migrations';
import type { Knex } from 'knex';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import type { TenancyPool } from '../pool/TenancyPool';

/**
 * A change to the registry.
 *
 * @public
 */
export type RegistryChange =
  /** The tenant with this slug was created, changed, deleted or restored. */
  | { tenantSlug: string }
  /** Members of the tenant with this id were added, changed or removed. */
  | { membersOf: string }
  /** The engine of the tenant with this id was enabled, disabled or configured. */
  | { engineOf: string }
  /** The engine of the tenant with this id may have work. */
  | { workOf: string };

/** What goes through the channel. A version that does not know one ignores it. */
type ChangeMessage =
  | RegistryChange
  /** From a listener to itself, to learn whether it hears. */
  | { nonce: string };

/**
 * Sends a message to all listeners, when the transaction commits.
 *
 * PostgreSQL lets the commits of transactions that notify go one by one, in one
 * database. Changes to the registry are rare.
 */
export function notifyStatement(
  knex: Knex,
  schema: string,
  message: ChangeMessage,
): Knex.Raw {
  return knex.raw('select pg_notify(?, ?)', [
    registryChannel(schema),
    JSON.stringify(message),
  ]);
}

/** Nothing if it is none of ours. */
function parseChange(payload: string): ChangeMessage | undefined {
  try {
    const message = JSON.parse(payload);
    return [
      message?.tenantSlug,
      message?.membersOf,
      message?.engineOf,
      message?.workOf,
      message?.nonce,
    ].some(value => typeof value === 'string')
      ? message
      : undefined;
  } catch {
    return undefined;
  }
}

const CONNECT_MS = 5_000;
const CLOSE_MS = 1_000;

interface ListeningSessionOptions {
  pool: Pick<TenancyPool, 'connection' | 'query' | 'schema'>;
  /** How long a message to itself may take. */
  answerMs: number;
  /** How often it makes sure that it still hears. */
  heartbeatMs: number;
  onChange(change: RegistryChange): void;
  /** Is called once, when it has heard and no longer does. */
  onLost(error: Error): void;
}

/** One connection that hears of changes to the registry. */
class ListeningSession {
  /** Resolves once it hears, and rejects if it does not come to that. */
  readonly ready: Promise<void>;

  readonly #options: ListeningSessionOptions;
  readonly #channel: string;
  readonly #client: Client;
  #state: 'opening' | 'hearing' | 'ended' = 'opening';
  #heartbeat?: NodeJS.Timeout;
  #onNonce?: (nonce: string) => void;
  #onEnd?: (error: Error) => void;

  static start(options: ListeningSessionOptions): ListeningSession {
    return new ListeningSession(options);
  }

  private constructor(options: ListeningSessionOptions) {
    const { connection, schema } = options.pool;
    this.#options = options;
    this.#channel = registryChannel(schema);
    this.#client = new Client({
      ...connection,
      // It is not enumerable.
      password: connection.password,
      application_name: 'tenants: changes',
      connectionTimeoutMillis: CONNECT_MS,
      keepAlive: true,
    });
    this.#client.on('notification', ({ payload }) => this.#onMessage(payload));
    this.#client.on('error', error => this.#end(error));
    this.#client.on('end', () => this.#end(new Error('It was closed')));
    this.ready = this.#open();
  }

  /** Whether it is known to hear. */
  get hears(): boolean {
    return this.#state === 'hearing';
  }

  async close(): Promise<void> {
    this.#state = 'ended';
    clearTimeout(this.#heartbeat);
    this.#onEnd?.(new Error('It was closed'));
    // Bounded, because a vanished server does not answer the end of the session.
    await within(CLOSE_MS, 'Not closed', this.#client.end()).catch(() => {});
  }

  async #open(): Promise<void> {
    const ended = new Promise<never>((_resolve, reject) => {
      this.#onEnd = reject;
    });
    try {
      await Promise.race([this.#begin(), ended]);
    } catch (error) {
      await this.close();
      throw error;
    }
    if (this.#state === 'ended') {
      throw new Error('It was closed');
    }
    this.#state = 'hearing';
    this.#beatLater();
  }

  async #begin(): Promise<void> {
    const { pool, answerMs } = this.#options;
    await this.#client.connect();
    const channel = this.#client.escapeIdentifier(this.#channel);
    await within(
      answerMs,
      'No answer to LISTEN',
      // It is idle for most of the time.
      this.#client.query(`set idle_session_timeout = 0; listen ${channel}`),
    );
    // By another connection: a pooler of transactions would let this one hear what
    // it sends itself, and nothing that others send.
    await this.#hearItself(nonce =>
      pool.query(knex => notifyStatement(knex, pool.schema, { nonce })),
    );
  }

  #beatLater(): void {
    this.#heartbeat = setTimeout(
      () => this.#beat(),
      this.#options.heartbeatMs,
    ).unref();
  }

  /** By its own connection: whether that works does not depend on a busy pool. */
  async #beat(): Promise<void> {
    try {
      await this.#hearItself(nonce =>
        this.#client.query('select pg_notify($1, $2)', [
          this.#channel,
          JSON.stringify({ nonce } satisfies ChangeMessage),
        ]),
      );
      if (this.hears) {
        this.#beatLater();
      }
    } catch (error) {
      this.#end(toError(error));
    }
  }

  async #hearItself(send: (nonce: string) => Promise<unknown>): Promise<void> {
    const nonce = randomUUID();
    const heard = new Promise<void>(resolve => {
      this.#onNonce = received => {
        if (received === nonce) {
          resolve();
        }
      };
    });
    await within(
      this.#options.answerMs,
      'It does not hear what is sent to its channel, as behind a pooler of transactions',
      Promise.all([heard, send(nonce)]),
    );
  }

  #onMessage(payload = ''): void {
    const message = parseChange(payload);
    if (message && 'nonce' in message) {
      this.#onNonce?.(message.nonce);
    } else if (message) {
      this.#options.onChange(message);
    }
  }

  #end(error: Error): void {
    if (this.#state === 'ended') {
      return;
    }
    const heard = this.hears;
    this.#state = 'ended';
    clearTimeout(this.#heartbeat);
    this.#client.end().catch(() => {});
    this.#onEnd?.(error);
    if (heard) {
      this.#options.onLost(error);
    }
  }
}

/** Intervals and deadlines of a listener. */
export interface ListenerTiming {
  answerMs: number;
  heartbeatMs: number;
  /** The shortest and the longest pause before it connects again. */
  reconnectMs: { shortest: number; longest: number };
}

interface ChangeListenerOptions extends ListenerTiming {
  pool: ListeningSessionOptions['pool'];
  logger: LoggerService;
}

/** A cache of something in the registry. */
export interface ChangeSubscriber {
  onChange(change: RegistryChange): void;
  /** Is called whenever the listener begins to hear, and whenever it no longer does. */
  onHearing(): void;
}

/**
 * Hears of changes to the registry that any process makes, and connects again for
 * as long as it takes where it does not hear. All caches of a process share one.
 */
export class ChangeListener {
  readonly #options: ChangeListenerOptions;
  readonly #subscribers: ChangeSubscriber[] = [];
  #session?: ListeningSession;
  #started = false;
  #closed = false;

  constructor(options: ChangeListenerOptions) {
    this.#options = options;
  }

  /** Whether it is known to hear. */
  get hears(): boolean {
    return this.#session?.hears ?? false;
  }

  /** Tells a subscriber of all that is heard from now on. */
  subscribe(subscriber: ChangeSubscriber): void {
    this.#subscribers.push(subscriber);
  }

  /** Begins to listen, unless it has begun before. */
  start(): void {
    if (!this.#started) {
      this.#started = true;
      void this.#keepConnecting();
    }
  }

  async close(): Promise<void> {
    this.#started = true;
    this.#closed = true;
    await this.#session?.close();
  }

  /** Never rejects. */
  async #keepConnecting(): Promise<void> {
    const { shortest, longest } = this.#options.reconnectMs;
    let pauseMs = shortest;
    for (let attempt = 1; !this.#closed; attempt += 1) {
      try {
        await this.#connect();
        return;
      } catch (error) {
        this.#report(error, attempt);
      }
      // Not at the same moments as other processes that have lost the same server, and
      // without keeping a process alive that has nothing else to do.
      const spread = 1 + Math.random();
      await delay(Math.min(pauseMs * spread, longest), undefined, {
        ref: false,
      });
      pauseMs = Math.min(pauseMs * 2, longest);
    }
  }

  async #connect(): Promise<void> {
    const { pool, answerMs, heartbeatMs } = this.#options;
    this.#session = ListeningSession.start({
      pool,
      answerMs,
      heartbeatMs,
      onChange: change =>
        this.#subscribers.forEach(each => each.onChange(change)),
      onLost: error => this.#onLost(error),
    });
    await this.#session.ready;
    this.#subscribers.forEach(each => each.onHearing());
    this.#options.logger.debug('Hearing of changes to the registry of tenants');
  }

  #onLost(error: Error): void {
    this.#subscribers.forEach(each => each.onHearing());
    this.#report(error);
    void this.#keepConnecting();
  }

  /** Once for each time that it does not hear: it may be for ever, by a pooler. */
  #report(error: unknown, attempt: number = 1): void {
    if (attempt === 1 && !this.#closed) {
      this.#options.logger.warn(
        'Not hearing of changes to the registry of tenants: until that works, ' +
          'each request asks the database for its tenant',
        toError(error),
      );
    }
  }
}

/**
 * Waits for a promise, but not for ever.
 *
 * @throws Error with the message if it takes longer
 */
async function within<T>(
  milliseconds: number,
  message: string,
  promise: Promise<T>,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => reject(new Error(`${message} (${milliseconds} ms)`)),
      milliseconds,
    ).unref();
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
