import { toError } from '@backstage/errors';
import { Client } from 'pg';
import { randomUUID } from 'node:crypto';
import type { TenancyPool } from '../pool';
import {
  changeChannel,
  type ChangeMessage,
  notifyStatement,
  parseChange,
} from './changes';
import { within } from './within';

const CONNECT_MS = 5_000;
const CLOSE_MS = 1_000;

export interface ListeningSessionOptions {
  pool: Pick<TenancyPool, 'connection' | 'query' | 'schema'>;
  /** How long a message to itself may take. */
  answerMs: number;
  /** How often it makes sure that it still hears. */
  heartbeatMs: number;
  /** Is called with the slug of a tenant that was changed. */
  onChange(tenantSlug: string): void;
  /** Is called once, when it has heard and no longer does. */
  onLost(error: Error): void;
}

/** One connection that hears of changes to the registry. */
export class ListeningSession {
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
    this.#channel = changeChannel(schema);
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
    // Nobody has to wait for a server that does not say goodbye.
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
      this.#client.query(`listen ${channel}`),
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
    if (message && 'tenantSlug' in message) {
      this.#options.onChange(message.tenantSlug);
    } else if (message) {
      this.#onNonce?.(message.nonce);
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
