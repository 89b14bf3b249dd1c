import { ServiceUnavailableError } from '@backstage/errors';
import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as delay } from 'node:timers/promises';

const storage = new AsyncLocalStorage<BackgroundWork>();

/** The run of a task, which ends with the time in which its work was open. */
const runs = new AsyncLocalStorage<{ work: BackgroundWork; period: object }>();

/** The start of a nested plugin, which gets connections without the lease until it ends. */
const starts = new AsyncLocalStorage<{
  work: BackgroundWork;
  isUnderWay: boolean;
}>();

/** How long running work may continue after no more may begin, in milliseconds. */
export const FINISH_TIMING = {
  /** After this time without a statement, no work is running. */
  quietMs: 1_000,
  longestMs: 10_000,
};

/**
 * The work of one tenant's nested plugins without a request: polls, scheduled tasks, and work
 * that modules start themselves. One process of a deployment does it at a time.
 *
 * Its calls are known by their asynchronous context. The pool asks {@link BackgroundWork.enter}
 * before it finds one of them a connection, and {@link BackgroundWork.check} when it has one, so
 * that a process without the lease can't write.
 */
export class BackgroundWork {
  readonly #tenantSlug: string;
  readonly #holdsLease: () => boolean;
  readonly #timing: typeof FINISH_TIMING;
  readonly #listeners = new Set<() => void>();
  /** `finishing`: what has begun may end, and nothing else begins. */
  #state: 'open' | 'finishing' | 'closed' = 'closed';
  /** A new object after each close. */
  #period = {};
  #connections = 0;
  #lastUsedAt = -Infinity;
  #waiting: (() => void)[] = [];

  /** The background work that the code that calls this belongs to. */
  static current(): BackgroundWork | undefined {
    return storage.getStore();
  }

  /** @param options - `holdsLease` answers for this moment */
  constructor(options: {
    tenantSlug: string;
    holdsLease: () => boolean;
    timing?: typeof FINISH_TIMING;
  }) {
    this.#tenantSlug = options.tenantSlug;
    this.#holdsLease = options.holdsLease;
    this.#timing = options.timing ?? FINISH_TIMING;
  }

  /** Whether polls may ask and scheduled tasks may run in this process. */
  get mayBegin(): boolean {
    return this.#state === 'open' && this.#holdsLease();
  }

  /** Whether it neither has a connection nor had one a moment ago. */
  get isQuiet(): boolean {
    return (
      this.#connections === 0 &&
      performance.now() - this.#lastUsedAt >= this.#timing.quietMs
    );
  }

  /** Allows the work in this process while it holds the lease. */
  open(): void {
    this.#set('open');
  }

  /** Ends the work at once: from then on it gets no connection. */
  close(): void {
    this.#set('closed');
  }

  /**
   * Waits a limited time for running work to end, and closes the work. It has no connection
   * when this resolves. Never rejects.
   */
  async finish(): Promise<void> {
    if (this.#state === 'open') {
      this.#set('finishing');
    }
    const deadline = performance.now() + this.#timing.longestMs;
    const isUnderWay = () =>
      this.#state === 'finishing' &&
      this.#holdsLease() &&
      performance.now() < deadline &&
      !this.isQuiet;
    while (isUnderWay()) {
      await delay(this.#timing.quietMs / 10);
    }
    if (this.#state === 'finishing') {
      this.#set('closed');
    }
    await this.#drained();
  }

  /**
   * Calls a listener after {@link BackgroundWork.open}, {@link BackgroundWork.close} and
   * {@link BackgroundWork.finish}.
   *
   * @param listener - must not throw
   * @returns a function that removes the listener
   */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Everything that the function starts is background work, also after it has returned. */
  run<T>(fn: () => T): T {
    return storage.run(this, fn);
  }

  /**
   * As {@link BackgroundWork.run}, for one run of a task: where the work is closed meanwhile,
   * the run gets no connection any more, even if the work is open again. Another run may have
   * begun then.
   */
  runTask<T>(fn: () => T): T {
    return runs.run({ work: this, period: this.#period }, () => this.run(fn));
  }

  /**
   * As {@link BackgroundWork.run}, for the start of a nested plugin. Until it ends, it gets
   * connections in each process that starts the plugin, as in each replica of a backend. Other
   * work does not: a start may never end.
   */
  async start<T>(fn: () => Promise<T>): Promise<T> {
    const start = { work: this, isUnderWay: true };
    try {
      return await starts.run(start, () => this.run(fn));
    } finally {
      start.isUnderWay = false;
    }
  }

  /**
   * Called when the session of a connection is established, right before the work gets the
   * connection.
   *
   * Of a session that exists at this time, PostgreSQL can be asked to end it. A process that
   * takes the lease over does that, after the time up to which the lease counts as held here:
   * so no session of this work outlives the lease, even if the process is paused after the
   * check. Made before a session is established, the check would not hold for the session.
   *
   * @throws `ServiceUnavailableError` if this process does not do the work
   */
  check(): void {
    const run = runs.getStore();
    const isOver = run?.work === this && run.period !== this.#period;
    const mayGoOn = this.#state !== 'closed' && this.#holdsLease() && !isOver;
    const start = starts.getStore();
    if (!mayGoOn && !(start?.work === this && start.isUnderWay)) {
      throw new ServiceUnavailableError(
        `This process does not do the background work of the tenant '${
          this.#tenantSlug
        }' at the moment`,
      );
    }
  }

  /**
   * Called before a connection is requested.
   *
   * @returns a function to call once, when the connection is returned
   * @throws as {@link BackgroundWork.check}
   */
  enter(): () => void {
    this.check();
    this.#connections += 1;
    return () => {
      this.#connections -= 1;
      this.#lastUsedAt = performance.now();
      if (this.#connections === 0) {
        this.#waiting.splice(0).forEach(go => go());
      }
    };
  }

  #set(state: 'open' | 'finishing' | 'closed'): void {
    if (this.#state !== state) {
      this.#state = state;
      if (state === 'closed') {
        this.#period = {};
      }
      this.#listeners.forEach(listener => listener());
    }
  }

  async #drained(): Promise<void> {
    if (this.#connections > 0) {
      await new Promise<void>(resolve => this.#waiting.push(resolve));
    }
  }
}
