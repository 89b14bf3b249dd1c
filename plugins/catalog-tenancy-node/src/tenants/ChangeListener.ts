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
  /**
   * The engine of the tenant with this id was configured, paused or resumed, or its shares
   * changed.
   */
  | { engineOf: string }
  /** The engine of the tenant with this id may have work. */
  | { workOf: string };

/** A message on the channel. Versions that do not know a kind ignore it. */
type ChangeMessage =
  | RegistryChange
  /** From a listener to itself, to check that notifications arrive. */
  | { nonce: string };

/**
 * Sends a message to all listeners when the transaction commits.
 *
 * PostgreSQL serializes the commits of notifying transactions in a cluster. Changes to the
 * registry are rare.
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

/** Undefined for an unknown message. */
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
  /** The time limit of a message to itself. */
  answerMs: number;
  /** The interval of messages to itself. */
  heartbeatMs: number;
  onChange(change: RegistryChange): void;
  /** Called once, when the session stops listening after it has listened. */
  onLost(error: Error): void;
}

/** One connection that receives notifications of changes to the registry. */
class ListeningSession {
  /** Resolves once notifications arrive, and rejects if they cannot. */
  readonly ready: Promise<void>;

  readonly #options: ListeningSessionOptions;
  readonly #channel: string;
  readonly #client: Client;
  #state: 'opening' | 'listening' | 'ended' = 'opening';
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
      // The password is not enumerable.
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

  /** Whether notifications are known to arrive. */
  get isListening(): boolean {
    return this.#state === 'listening';
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
    this.#state = 'listening';
    this.#beatLater();
  }

  async #begin(): Promise<void> {
    const { pool, answerMs } = this.#options;
    await this.#client.connect();
    const channel = this.#client.escapeIdentifier(this.#channel);
    await within(
      answerMs,
      'No answer to LISTEN',
      // The session is idle most of the time.
      this.#client.query(`set idle_session_timeout = 0; listen ${channel}`),
    );
    // Sent by another connection: behind a transaction pooler, this one would receive its own
    // messages and no others.
    await this.#notifyItself(nonce =>
      pool.query(knex => notifyStatement(knex, pool.schema, { nonce })),
    );
  }

  #beatLater(): void {
    this.#heartbeat = setTimeout(
      () => this.#beat(),
      this.#options.heartbeatMs,
    ).unref();
  }

  /** Sends on its own connection, so that a busy pool does not delay the check. */
  async #beat(): Promise<void> {
    try {
      await this.#notifyItself(nonce =>
        this.#client.query('select pg_notify($1, $2)', [
          this.#channel,
          JSON.stringify({ nonce } satisfies ChangeMessage),
        ]),
      );
      if (this.isListening) {
        this.#beatLater();
      }
    } catch (error) {
      this.#end(toError(error));
    }
  }

  async #notifyItself(
    send: (nonce: string) => Promise<unknown>,
  ): Promise<void> {
    const nonce = randomUUID();
    const received = new Promise<void>(resolve => {
      this.#onNonce = value => {
        if (value === nonce) {
          resolve();
        }
      };
    });
    await within(
      this.#options.answerMs,
      'Notifications do not arrive, as behind a transaction pooler',
      Promise.all([received, send(nonce)]),
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
    const wasListening = this.isListening;
    this.#state = 'ended';
    clearTimeout(this.#heartbeat);
    this.#client.end().catch(() => {});
    this.#onEnd?.(error);
    if (wasListening) {
      this.#options.onLost(error);
    }
  }
}

/** Intervals and deadlines of a listener. */
export interface ListenerTiming {
  answerMs: number;
  heartbeatMs: number;
  /** The shortest and the longest pause before reconnecting. */
  reconnectMs: { shortest: number; longest: number };
}

interface ChangeListenerOptions extends ListenerTiming {
  pool: ListeningSessionOptions['pool'];
  logger: LoggerService;
}

/** A subscriber to notifications, such as a cache of the registry. */
export interface ChangeSubscriber {
  onChange(change: RegistryChange): void;
  /** Called whenever the listener starts or stops receiving notifications. */
  onListeningChange(): void;
}

/**
 * Receives notifications of changes to the registry in any process, and reconnects until it
 * succeeds. All caches of a process share one.
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

  /** Whether notifications are known to arrive. */
  get isListening(): boolean {
    return this.#session?.isListening ?? false;
  }

  /** Adds a subscriber to later notifications. */
  subscribe(subscriber: ChangeSubscriber): void {
    this.#subscribers.push(subscriber);
  }

  /** Starts to listen, unless already started. */
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
      // Randomized, so that processes that lost the same server do not reconnect at once. The
      // timer does not keep the process alive.
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
    this.#subscribers.forEach(each => each.onListeningChange());
    this.#options.logger.debug(
      'Listening for changes to the registry of tenants',
    );
  }

  #onLost(error: Error): void {
    this.#subscribers.forEach(each => each.onListeningChange());
    this.#report(error);
    void this.#keepConnecting();
  }

  /** Logs once for each loss: behind a transaction pooler, attempts fail for ever. */
  #report(error: unknown, attempt: number = 1): void {
    if (attempt === 1 && !this.#closed) {
      this.#options.logger.warn(
        'Not listening for changes to the registry of tenants: until that works, ' +
          'each request asks the database for its tenant',
        toError(error),
      );
    }
  }
}

/**
 * Waits for a promise, up to a time limit.
 *
 * @throws Error with the message after the time limit
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
