import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseError } from 'pg';
import type { Application } from './application';
import { attempt, wasCommitted } from './attempt';
import type { Isolation } from './attempt';
import { Draft } from './Draft';
import type { Committed } from './Draft';
import type { Outages } from './Outages';
import { Random } from '@internal/postgres/testUtils';
import { nextScenario } from './scenarios';
import type { Scenario } from './scenarios';
import { Session } from './Session';
import type { TrafficSizes } from './sizes';
import { Transaction } from './Transaction';
import type { Waits } from './Waits';

const SERIALIZATION_FAILURE = '40001';
const MOST_ATTEMPTS = 200;
const RECONNECT_MS = 50;

/** A write that failed, or that did something else than it should. */
export interface Failure {
  writer: string;
  application: Application['name'];
  scenario: string;
  isolation: Isolation;
  during: string;
  code?: string;
  message: string;
}

/** What the writers have in common. */
export interface WriterEnvironment {
  sizes: TrafficSizes;
  waits: Waits;
  outages: Outages;
  onFailure(failure: Failure): void;
  onCommit(): void;
}

/**
 * Writes until told to stop, and keeps a record of what it has committed. The
 * record knows only what was sent, and the defaults that the database returned.
 */
export class Writer {
  readonly counts = {
    committed: 0,
    rolledBack: 0,
    reconnected: 0,
    'read committed': 0,
    'repeatable read': 0,
  };
  /** Transactions that were begun again, by what went on meanwhile. */
  readonly retries = new Map<string, number>();
  private readonly random: Random;
  private wanted: Application;
  private session: Session | undefined;
  private stopped = false;
  private texts = 0;

  constructor(
    readonly name: string,
    application: Application,
    private state: Committed,
    private readonly environment: WriterEnvironment,
    seed: number,
  ) {
    this.random = new Random(seed);
    this.wanted = application;
  }

  get committed(): Committed {
    return this.state;
  }

  /** The application that is logged in. */
  get application(): Application | undefined {
    return this.session?.application;
  }

  /** Replaces the application between two transactions. */
  deploy(application: Application): void {
    this.wanted = application;
  }

  stop(): void {
    this.stopped = true;
  }

  /** Resolves once told to stop. */
  async run(): Promise<void> {
    const { pauseMs } = this.environment.sizes;
    while (!this.stopped) {
      const isolation = this.random.pick<Isolation>([
        'read committed',
        'repeatable read',
      ]);
      await this.write(nextScenario(this.random), isolation);
      await sleep(this.random.below(pauseMs + 1));
    }
    await this.session?.close();
  }

  /**
   * One transaction, repeated where PostgreSQL demands that of every application:
   * after a serialization failure in REPEATABLE READ, and when the connection
   * went down with the server. Nothing else is excused.
   */
  private async write(scenario: Scenario, isolation: Isolation): Promise<void> {
    for (let attempts = 1; ; attempts += 1) {
      const session = await this.connected();
      const draft = new Draft(this.state);
      const id = this.fresh();
      const at = { session, id, scenario, isolation };
      const since = session.answeredAt;
      try {
        const transaction = this.transaction(session, draft);
        const end = await attempt({ ...at, transaction });
        this.end(end, draft, isolation);
        return;
      } catch (error) {
        const excused = session.isLostBy(error)
          ? this.environment.outages.excuse(since)
          : isSerializationFailure(error, isolation) &&
            attempts < MOST_ATTEMPTS;
        if (!excused) {
          this.report(scenario, isolation, error);
        }
        if (await this.recover(session, id)) {
          this.end('committed', draft, isolation);
          return;
        }
        if (!excused) {
          return;
        }
      }
      this.retried();
      await sleep(this.random.below(20));
    }
  }

  private transaction(session: Session, draft: Draft): Transaction {
    const { sizes, waits } = this.environment;
    return new Transaction({
      ...{ session, draft, sizes, waits },
      writer: this.name,
      random: this.random,
      fresh: () => this.fresh(),
    });
  }

  private end(
    end: 'committed' | 'rolledBack',
    draft: Draft,
    isolation: Isolation,
  ): void {
    this.counts[end] += 1;
    if (end === 'committed') {
      this.counts[isolation] += 1;
      this.state = draft.committedAfter(this.state);
      this.environment.onCommit();
    }
  }

  private retried(): void {
    const { during } = this.environment.waits;
    this.retries.set(during, (this.retries.get(during) ?? 0) + 1);
  }

  /**
   * Ends a transaction that has failed. Where the connection is gone, the database
   * is asked afterwards whether the transaction was committed.
   */
  private async recover(session: Session, id: string): Promise<boolean> {
    if (await session.rollBack()) {
      return false;
    }
    for (;;) {
      const next = await this.connected();
      this.counts.reconnected += 1;
      try {
        return await wasCommitted(next, id);
      } catch (error) {
        if (!next.isLostBy(error)) {
          throw error;
        }
      }
    }
  }

  /** A connection that is alive, of the application that is wanted. */
  private async connected(): Promise<Session> {
    const { session, wanted } = this;
    if (session && !session.isLost && session.application === wanted) {
      return session;
    }
    await session?.close();
    for (;;) {
      const since = Date.now();
      try {
        this.session = await Session.connect(wanted, this.name);
        return this.session;
      } catch (error) {
        if (!this.environment.outages.excuse(since)) {
          throw error;
        }
      }
      await sleep(RECONNECT_MS);
    }
  }

  private report(
    scenario: Scenario,
    isolation: Isolation,
    error: unknown,
  ): void {
    this.environment.onFailure({
      writer: this.name,
      application: this.wanted.name,
      scenario: scenario.name,
      isolation,
      during: this.environment.waits.during,
      code: error instanceof DatabaseError ? error.code : undefined,
      message: error instanceof Error ? error.message : String(error),
    });
  }

  private fresh(): string {
    this.texts += 1;
    return `${this.name}/${this.texts}`;
  }
}

function isSerializationFailure(error: unknown, isolation: Isolation): boolean {
  return (
    isolation === 'repeatable read' &&
    error instanceof DatabaseError &&
    error.code === SERIALIZATION_FAILURE
  );
}
