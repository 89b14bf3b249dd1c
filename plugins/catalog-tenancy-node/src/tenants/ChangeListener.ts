import type { LoggerService } from '@backstage/backend-plugin-api';
import { ForwardedError, toError } from '@backstage/errors';
import pRetry, { AbortError } from 'p-retry';
import {
  ListeningSession,
  type ListeningSessionOptions,
} from './ListeningSession';

/** What a listener is told about time. */
export interface ListenerTiming {
  answerMs: number;
  heartbeatMs: number;
  /** The shortest and the longest pause before it connects again. */
  reconnectMs: { shortest: number; longest: number };
}

export interface ChangeListenerOptions extends ListenerTiming {
  pool: ListeningSessionOptions['pool'];
  logger: LoggerService;
  onChange(tenantSlug: string): void;
  /** Is called whenever it begins to hear, and whenever it no longer does. */
  onHearing(hears: boolean): void;
}

/**
 * Hears of changes to the registry that any process makes, and connects again for
 * as long as it takes where it does not hear.
 */
export class ChangeListener {
  readonly #options: ChangeListenerOptions;
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

  /** Begins to listen, unless it has begun before. */
  start(): void {
    if (!this.#started) {
      this.#started = true;
      this.#keepConnecting();
    }
  }

  async close(): Promise<void> {
    this.#started = true;
    this.#closed = true;
    await this.#session?.close();
  }

  #keepConnecting(): void {
    const { shortest, longest } = this.#options.reconnectMs;
    pRetry(() => this.#connect(), {
      forever: true,
      minTimeout: shortest,
      maxTimeout: longest,
      randomize: true,
      unref: true,
      onFailedAttempt: error => this.#report(error, error.attemptNumber),
    }).catch(error => this.#report(toError(error)));
  }

  async #connect(): Promise<void> {
    if (this.#closed) {
      throw new AbortError('The listener is closed');
    }
    const { pool, answerMs, heartbeatMs, onChange } = this.#options;
    this.#session = ListeningSession.start({
      pool,
      answerMs,
      heartbeatMs,
      onChange,
      onLost: error => this.#onLost(error),
    });
    try {
      await this.#session.ready;
    } catch (error) {
      // Whatever it is: p-retry would give up on a TypeError, and on what it does not
      // take for an error.
      throw new ForwardedError('There is no connection that hears', error);
    }
    this.#options.onHearing(true);
    this.#options.logger.debug('Hearing of changes to the registry of tenants');
  }

  #onLost(error: Error): void {
    this.#options.onHearing(false);
    this.#report(error);
    this.#keepConnecting();
  }

  /** Once for each time that it does not hear: it may be for ever, by a pooler. */
  #report(error: Error, attempt: number = 1): void {
    if (attempt === 1 && !this.#closed) {
      this.#options.logger.warn(
        'Not hearing of changes to the registry of tenants: until that works, ' +
          'each request asks the database for its tenant',
        toError(error),
      );
    }
  }
}
