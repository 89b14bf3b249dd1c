import { Random } from '@internal/postgres/testUtils';
import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseError } from 'pg';
import { ExpectedRows } from './expectedRows';
import type { Committed, Entities } from './expectedRows';
import { Session } from './Session';
import type { Application } from './Session';
import type { TrafficSizes } from './sizes';
import { DeliberateRollback, SilentFailure, Transaction } from './Transaction';
import type { Scenario } from './Transaction';

const SERIALIZATION_FAILURE = '40001';
const MOST_ATTEMPTS = 200;
const RECONNECT_MS = 50;

export type Isolation = 'read committed' | 'repeatable read';

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

/** When a write ran, in milliseconds of `performance.now()`. */
export interface WriteTimes {
  from: number;
  /** When its COMMIT was sent: at the end if there was none. */
  commit: number;
  to: number;
}

/** What the writers have in common. */
export interface WriterEnvironment {
  readonly sizes: TrafficSizes;
  readonly scenarios: readonly Scenario[];
  readonly isolations: readonly Isolation[];
  /** What goes on meanwhile, such as the phase of the migration. */
  during: string;
  /** Whether the server was down on purpose at any time since then. */
  wasDown(since: number): boolean;
  onFailure(failure: Failure): void;
  onCommit(): void;
  /** Called when a write begins; the function that it returns, when it has ended. */
  onWrite?(): (times: WriteTimes, error?: unknown) => void;
}

/**
 * A load client: writes until it is stopped, and records what it has committed. The
 * record comes from what was sent, and from the defaults that the database returned.
 */
export class Writer {
  readonly counts = {
    committed: 0,
    rolledBack: 0,
    reconnected: 0,
    'read committed': 0,
    'repeatable read': 0,
  };
  /** Transactions that were repeated, by what went on meanwhile. */
  readonly retries = new Map<string, number>();
  private readonly random: Random;
  private wanted: Application;
  private session: Session | undefined;
  private state: Committed;
  private commitSentAt: number | undefined;
  private stopped = false;
  private texts = 0;

  constructor(
    readonly name: string,
    application: Application,
    entities: Entities,
    private readonly environment: WriterEnvironment,
    seed: number,
  ) {
    this.random = new Random(seed);
    this.wanted = application;
    this.state = { entities, shared: [] };
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

  /** Resolves once stopped, after the transaction that is under way. */
  async run(): Promise<void> {
    const { sizes, scenarios, isolations } = this.environment;
    while (!this.stopped) {
      const isolation = this.random.pick(isolations);
      await this.write(this.random.weighted(scenarios), isolation);
      await sleep(this.random.below(sizes.pauseMs + 1));
    }
    await this.session?.close();
  }

  /**
   * One transaction, repeated where PostgreSQL demands that of every application:
   * after a serialization failure in REPEATABLE READ, and when the connection was
   * lost with the server. Every other error is a failure.
   */
  private async write(scenario: Scenario, isolation: Isolation): Promise<void> {
    const { environment } = this;
    for (let attempts = 1; ; attempts += 1) {
      const session = await this.connected();
      const expected = new ExpectedRows(this.state);
      const id = this.uniqueText();
      const since = session.answeredAt;
      const written = environment.onWrite?.();
      const from = performance.now();
      this.commitSentAt = undefined;
      const ended = (error?: unknown) => {
        const to = performance.now();
        written?.({ from, commit: this.commitSentAt ?? to, to }, error);
      };
      try {
        const end = await this.attempt(
          { session, expected, id },
          scenario,
          isolation,
        );
        ended();
        this.end(end, expected, isolation);
        return;
      } catch (error) {
        const excused = session.isLostBy(error)
          ? environment.wasDown(since)
          : isSerializationFailure(error, isolation) &&
            attempts < MOST_ATTEMPTS;
        ended(excused ? undefined : error);
        if (!excused) {
          this.report(scenario, isolation, error);
        }
        if (await this.recover(session, id)) {
          this.end('committed', expected, isolation);
          return;
        }
        if (!excused) {
          return;
        }
      }
      const { during } = environment;
      this.retries.set(during, (this.retries.get(during) ?? 0) + 1);
      await sleep(this.random.below(20));
    }
  }

  /**
   * One attempt at a transaction. It throws what the database throws.
   *
   * @param at - `id` is that by which `recover` finds the transaction afterwards
   * @throws {@link SilentFailure} if COMMIT did something else
   */
  private async attempt(
    at: { session: Session; expected: ExpectedRows; id: string },
    scenario: Scenario,
    isolation: Isolation,
  ): Promise<'committed' | 'rolledBack'> {
    const { session, expected, id } = at;
    const { sizes } = this.environment;
    await this.begin(session, isolation);
    try {
      await scenario.run(
        new Transaction({
          ...{ session, expected, sizes, random: this.random },
          uniqueText: () => this.uniqueText(),
        }),
      );
    } catch (error) {
      if (error instanceof DeliberateRollback) {
        await session.query('rollback');
        return 'rolledBack';
      }
      throw error;
    }
    await session.query({
      text: 'insert into traffic.commits (id) values ($1)',
      values: [id],
    });
    this.commitSentAt = performance.now();
    const { command } = await session.query('commit');
    if (command !== 'COMMIT') {
      throw new SilentFailure(`COMMIT did a ${command}`);
    }
    return 'committed';
  }

  private async begin(session: Session, isolation: Isolation): Promise<void> {
    const { tenantId } = session.application;
    await session.query(`begin isolation level ${isolation}`);
    if (tenantId !== undefined) {
      await session.query({
        text: `select set_config('app.tenant_id', $1, true)`,
        values: [tenantId],
      });
    }
    if (isolation === 'repeatable read') {
      // This takes the snapshot, and the scenario touches the tables later: it does
      // not see what the migration changes in between.
      await session.query('select count(*) from pg_catalog.pg_class');
      const { longestHoldMs } = this.environment.sizes;
      const longest = this.random.chance(0.03) ? longestHoldMs : 10;
      await sleep(this.random.below(longest));
    }
  }

  private end(
    end: 'committed' | 'rolledBack',
    expected: ExpectedRows,
    isolation: Isolation,
  ): void {
    this.counts[end] += 1;
    if (end === 'committed') {
      this.counts[isolation] += 1;
      this.state = expected.committedAfter(this.state);
      this.environment.onCommit();
    }
  }

  /**
   * Ends a transaction that has failed. Where the connection is lost, it asks the
   * database whether the transaction was committed.
   */
  private async recover(session: Session, id: string): Promise<boolean> {
    if (await session.rollBack()) {
      return false;
    }
    for (;;) {
      const next = await this.connected();
      this.counts.reconnected += 1;
      try {
        const { rows } = await next.query({
          text: 'select from traffic.commits where id = $1',
          values: [id],
        });
        return rows.length > 0;
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
        if (!this.environment.wasDown(since)) {
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
      during: this.environment.during,
      code: error instanceof DatabaseError ? error.code : undefined,
      message: error instanceof Error ? error.message : String(error),
    });
  }

  private uniqueText(): string {
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
