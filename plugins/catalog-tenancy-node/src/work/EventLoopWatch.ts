import type { LoggerService } from '@backstage/backend-plugin-api';

/** A hold of the thread from which on the log has a line. */
const HOLD_MS = 200;

/** How often it looks. */
const TICK_MS = 50;

/** How much of what was under way a line names. */
const NAMED = 3;

const LONGEST_NAME = 200;

/**
 * Sees when this process does one thing for so long that everything else waits, and says for
 * which tenant it was: such as a request, or a location.
 *
 * @public
 */
export class EventLoopWatch {
  readonly #logger: LoggerService;
  readonly #timer: NodeJS.Timeout;
  /** What is under way, and since which look. */
  readonly #running = new Map<object, { name: string; since: number }>();
  /** What has ended, or was done, since the last look; the last of it. */
  #done: string[] = [];
  #look = 0;
  #expectedAt = performance.now() + TICK_MS;
  #longestMs = 0;

  /** It watches until it is stopped. */
  static start(options: { logger: LoggerService }): EventLoopWatch {
    return new EventLoopWatch(options.logger);
  }

  private constructor(logger: LoggerService) {
    this.#logger = logger;
    this.#timer = setInterval(() => this.#check(), TICK_MS);
    this.#timer.unref();
  }

  /**
   * Notes that something is under way for a tenant.
   *
   * @param what - for people, such as a route or a reference of an entity
   * @returns what notes its end
   */
  begin(tenantSlug: string, what: string): () => void {
    const key = {};
    const name = nameOf(tenantSlug, what);
    this.#running.set(key, { name, since: this.#look });
    return () => {
      if (this.#running.delete(key)) {
        this.#note(name);
      }
    };
  }

  /** Notes something that is done for a tenant at this moment. */
  note(tenantSlug: string, what: string): void {
    this.#note(nameOf(tenantSlug, what));
  }

  /** The longest hold since the last call, in milliseconds. */
  takeLongestMs(): number {
    const longest = this.#longestMs;
    this.#longestMs = 0;
    return longest;
  }

  /** Watches no more. */
  stop(): void {
    clearInterval(this.#timer);
  }

  #note(name: string): void {
    this.#done.push(name);
    if (this.#done.length > 2 * NAMED) {
      this.#done.shift();
    }
  }

  #check(): void {
    const now = performance.now();
    const heldMs = Math.max(0, now - this.#expectedAt);
    this.#longestMs = Math.max(this.#longestMs, heldMs);
    const suspects = heldMs >= HOLD_MS ? this.#suspects() : undefined;
    if (suspects) {
      this.#logger.warn(
        `The process stood still for ${Math.round(heldMs)} ms: ${suspects}`,
      );
    }
    this.#done = [];
    this.#look += 1;
    this.#expectedAt = now + TICK_MS;
  }

  /** What ran since the last look; what has waited for longer comes last. */
  #suspects(): string | undefined {
    const running = [...this.#running.values()].sort(
      (one, other) => other.since - one.since,
    );
    const names = new Set([
      ...this.#done.reverse(),
      ...running.map(({ name }) => name),
    ]);
    // Such as plugins that load at the start.
    if (names.size === 0) {
      return undefined;
    }
    const shown = [...names].slice(0, NAMED).join('; ');
    const more = names.size - NAMED;
    return `under way were ${shown}${more > 0 ? `; and ${more} more` : ''}`;
  }
}

/** The text of a caller can't pretend to be another line. */
function nameOf(tenantSlug: string, what: string): string {
  return `${JSON.stringify(
    what.slice(0, LONGEST_NAME),
  )} of the tenant '${tenantSlug}'`;
}
