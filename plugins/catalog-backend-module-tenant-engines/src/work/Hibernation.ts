import type { StatementGate } from './LazyConnection';
import type { BackgroundWork } from './BackgroundWork';

/** The kinds of polls, by what they look for. */
type PollKind = 'processing' | 'stitching' | 'orphans';

/**
 * How a statement is known by which the catalog plugin looks for work: it takes rows of one of these
 * tables that no other process has taken. A statement that a later version words otherwise
 * passes: the engine works, but is never idle.
 */
const POLLS: ReadonlyArray<[PollKind, RegExp]> = [
  ['processing', /\bfrom "refresh_state" .* skip locked$/],
  ['stitching', /\bfrom "stitch_queue" .* skip locked$/],
  ['orphans', /^with "orphan(s|_refs)"\(/],
];

/** Milliseconds until the next item is due; `undefined` without an item. */
export interface Due {
  processing?: number;
  stitching?: number;
  /** Whether the engine has so few items that all of them may be processed at once. */
  hasFewItems?: boolean;
}

/** In milliseconds. */
export const HIBERNATION_TIMING = {
  /**
   * Between two times that an engine wakes because items have become due: those of a
   * thousand entities become due one by one. Changes and requests wake it at once.
   */
  dueMs: 10_000,
  /** The pause after a failure to read when the next item is due. */
  retryMs: 5_000,
};

// The longest delay that a timer of Node.js takes.
const LONGEST_MS = 2 ** 31 - 1;

interface PollState {
  /** The activity that the last poll with an empty answer has seen. */
  seen?: number;
  /** The activity when the last poll went to PostgreSQL. */
  askedAt: number;
  /** By the clock of `performance`; nothing while it is not known. */
  dueAt?: number;
  isWaiting: boolean;
}

/**
 * Keeps the polls of an idle engine from PostgreSQL.
 *
 * Each kind of poll asks again after it got rows, and after any other statement of the engine:
 * such a statement may have made work. After an empty answer it waits until then, or until
 * the next item is due, which one statement reads. So an engine without work sends nothing. All
 * other statements pass at any time, those of long tasks too.
 *
 * Statements of other processes, which serve requests for the tenant as well, are not seen here:
 * {@link Hibernation.wake} is for them.
 */
export class Hibernation implements StatementGate {
  readonly #work: BackgroundWork;
  readonly #readDue: () => Promise<Due>;
  readonly #onIdle: () => void;
  readonly #timing: typeof HIBERNATION_TIMING;
  readonly #stopListening: () => void;
  readonly #states: Record<PollKind, PollState> = {
    processing: { askedAt: 0, isWaiting: false },
    stitching: { askedAt: 0, isWaiting: false },
    orphans: { askedAt: 0, dueAt: Infinity, isWaiting: false },
  };
  #activity = 0;
  #activeAt = performance.now();
  #hasFewItems = false;
  /** Counts the answers to polls. */
  #answers = 0;
  #isStopped = false;
  #isReadingDue = false;
  #wokenAt = -Infinity;
  #timer?: NodeJS.Timeout;
  #waiting: (() => void)[] = [];

  /**
   * @param options - `readDue` reads when the next items are due; `onIdle` is called when
   * nothing is due and nothing under way
   */
  constructor(options: {
    work: BackgroundWork;
    readDue: () => Promise<Due>;
    onIdle?: () => void;
    timing?: typeof HIBERNATION_TIMING;
  }) {
    this.#work = options.work;
    this.#readDue = options.readDue;
    this.#onIdle = options.onIdle ?? (() => undefined);
    this.#timing = options.timing ?? HIBERNATION_TIMING;
    // The process that gets the lease does not know what happened before.
    this.#stopListening = options.work.onChange(() => this.wake());
  }

  /** Whether it waits for work. */
  get isAsleep(): boolean {
    const { processing, stitching } = this.#states;
    return processing.isWaiting && stitching.isWaiting;
  }

  /**
   * In how many milliseconds the next item is due, while the engine waits for it; `Infinity`
   * without any, and nothing while the engine is at work or was a moment ago.
   *
   * @param quietMs - for how long nothing may have happened
   * @param slackMs - for how long an item may be due, where the engine has few: with one start of it
   *   for each, they would be most of its work
   */
  dueInMs(quietMs: number, slackMs: number = 0): number | undefined {
    const { processing, stitching } = this.#states;
    const now = performance.now();
    if (
      now - this.#activeAt < quietMs ||
      !this.isAsleep ||
      processing.dueAt === undefined ||
      stitching.dueAt === undefined
    ) {
      return undefined;
    }
    const processedAt = processing.dueAt + (this.#hasFewItems ? slackMs : 0);
    return Math.min(processedAt, stitching.dueAt) - now;
  }

  /** Increases with each statement and each call that may have made work. */
  get activity(): number {
    return this.#activity;
  }

  /** Has all polls ask again. */
  wake(): void {
    this.#activity += 1;
    this.#activeAt = performance.now();
    this.#goOn();
  }

  /** Ends all waiting polls, as if they had found nothing. */
  stop(): void {
    this.#isStopped = true;
    this.#stopListening();
    clearTimeout(this.#timer);
    this.#goOn();
  }

  /** {@inheritDoc StatementGate.pollOf} */
  pollOf(sql: string): PollKind | undefined {
    return POLLS.find(([, pattern]) => pattern.test(sql))?.[0];
  }

  /** {@inheritDoc StatementGate.admit} */
  async admit(poll: string): Promise<'ask' | 'empty'> {
    const state = this.#states[poll as PollKind];
    while (!this.#isStopped) {
      if (this.#work.mayBegin && this.#mayAsk(state)) {
        state.askedAt = this.#activity;
        return 'ask';
      }
      state.isWaiting = true;
      this.#prepareToWake();
      await new Promise<void>(resolve => this.#waiting.push(resolve));
      state.isWaiting = false;
    }
    return 'empty';
  }

  /** {@inheritDoc StatementGate.answered} */
  answered(poll: string, rows: number): void {
    const state = this.#states[poll as PollKind];
    this.#answers += 1;
    state.seen = rows > 0 ? undefined : state.askedAt;
    if (poll !== 'orphans') {
      state.dueAt = undefined;
    }
  }

  /** {@inheritDoc StatementGate.returned} */
  returned(): void {
    this.wake();
  }

  #mayAsk(state: PollState): boolean {
    if (state.seen !== this.#activity) {
      return true;
    }
    const now = performance.now();
    const isDue = state.dueAt !== undefined && state.dueAt <= now;
    if (isDue) {
      this.#wokenAt = now;
    }
    return isDue;
  }

  #goOn(): void {
    this.#waiting.splice(0).forEach(go => go());
  }

  /** Lets waiting polls continue when items are due. */
  #prepareToWake(): void {
    if (!this.#work.mayBegin) {
      return;
    }
    const { processing, stitching } = this.#states;
    const due = [processing, stitching]
      .filter(({ isWaiting }) => isWaiting)
      .map(({ dueAt }) => dueAt);
    // An engine at work asks again soon anyway.
    if (this.isAsleep && due.includes(undefined)) {
      this.#learnDue();
    }
    const dueAt = Math.min(...due.map(at => at ?? Infinity));
    clearTimeout(this.#timer);
    if (dueAt < Infinity) {
      const delay = Math.max(0, dueAt - performance.now());
      this.#timer = setTimeout(
        () => this.#goOn(),
        // Timers may come a little early.
        Math.min(Math.ceil(delay) + 1, LONGEST_MS),
      ).unref();
    }
  }

  #learnDue(): void {
    if (this.#isReadingDue) {
      return;
    }
    this.#isReadingDue = true;
    const answers = this.#answers;
    const { retryMs } = this.#timing;
    this.#readDue()
      .catch((): Due => ({ processing: retryMs, stitching: retryMs }))
      .then(due => {
        this.#isReadingDue = false;
        if (this.#answers === answers) {
          this.#setDue(due);
        } else {
          // Items may have been added since, so it reads again.
          this.#prepareToWake();
        }
      });
  }

  #setDue({
    processing = Infinity,
    stitching = Infinity,
    hasFewItems = false,
  }: Due): void {
    this.#hasFewItems = hasFewItems;
    const earliest = this.#wokenAt + this.#timing.dueMs;
    const now = performance.now();
    this.#states.processing.dueAt = Math.max(now + processing, earliest);
    this.#states.stitching.dueAt = Math.max(now + stitching, earliest);
    if (processing > 0 && stitching > 0 && this.isAsleep) {
      this.#onIdle();
    }
    this.#prepareToWake();
  }
}
