import type { LoggerService } from '@backstage/backend-plugin-api';
import { toError } from '@backstage/errors';
import { setTimeout as delay } from 'node:timers/promises';
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
    const { pool, answerMs, heartbeatMs, onChange } = this.#options;
    this.#session = ListeningSession.start({
      pool,
      answerMs,
      heartbeatMs,
      onChange,
      onLost: error => this.#onLost(error),
    });
    await this.#session.ready;
    this.#options.onHearing(true);
    this.#options.logger.debug('Hearing of changes to the registry of tenants');
  }

  #onLost(error: Error): void {
    this.#options.onHearing(false);
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
