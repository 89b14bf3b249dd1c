import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseError } from 'pg';
import { scenarios } from './scenarios';
import { Session } from './Session';
import type { Application } from './Session';
import { DeliberateRollback, SilentFailure, Transaction } from './Transaction';
import type { Author, Scenario } from './Transaction';

const SERIALIZATION_FAILURE = '40001';
const MOST_ATTEMPTS = 200;
const RECONNECT_MS = 50;

export type Isolation = 'read committed' | 'repeatable read';

/** What the writers have in common. */
export interface WriterEnvironment {
  readonly isolations: readonly Isolation[];
  /** What goes on meanwhile, such as the phase of the migration. */
  during: string;
  /** Whether the server was down on purpose at any time since then. */
  wasDown(since: number): boolean;
  /** A write that failed, or that did something else than it should. */
  onFailure(failure: string): void;
  onCommit(): void;
}

/** A load client: writes until it is stopped. */
export class Writer {
  readonly counts = { committed: 0, rolledBack: 0, repeated: 0 };
  private session: Session | undefined;
  private stopped = false;

  constructor(
    readonly name: string,
    /** The one that it is to be, from its next transaction on. */
    public wanted: Application,
    private readonly author: Author,
    private readonly environment: WriterEnvironment,
  ) {}

  /** The application that is logged in. */
  get application(): Application | undefined {
    return this.session?.application;
  }

  stop(): void {
    this.stopped = true;
  }

  /** Resolves once stopped, after the transaction that is under way. */
  async run(): Promise<void> {
    const { random, sizes } = this.author;
    while (!this.stopped) {
      const isolation = random.pick(this.environment.isolations);
      await this.write(random.weighted(scenarios), isolation);
      await sleep(random.below(sizes.pauseMs + 1));
    }
    await this.session?.close();
  }

  /**
   * One transaction, repeated where PostgreSQL demands that of every application, after a
   * serialization failure in REPEATABLE READ. One whose connection is lost with the server may
   * be committed or not. Every other error is a failure.
   */
  private async write(scenario: Scenario, isolation: Isolation): Promise<void> {
    const { environment } = this;
    for (let attempts = 1; ; attempts += 1) {
      const session = await this.connected();
      const since = session.answeredAt;
      try {
        if (await this.attempt(session, scenario, isolation)) {
          this.counts.committed += 1;
          environment.onCommit();
        } else {
          this.counts.rolledBack += 1;
        }
        return;
      } catch (error) {
        const isLost = session.isLostBy(error);
        const isExcused = isLost
          ? environment.wasDown(since)
          : isSerializationFailure(error, isolation) &&
            attempts < MOST_ATTEMPTS;
        if (!isExcused) {
          this.report(scenario, isolation, error);
        }
        if (!isLost) {
          await session.rollBack();
        }
        if (isLost || !isExcused) {
          return;
        }
      }
      this.counts.repeated += 1;
      await sleep(this.author.random.below(20));
    }
  }

  /**
   * @returns whether it was committed, not rolled back as it was meant to be
   * @throws {@link SilentFailure} if COMMIT did something else
   */
  private async attempt(
    session: Session,
    scenario: Scenario,
    isolation: Isolation,
  ): Promise<boolean> {
    await this.begin(session, isolation);
    try {
      await scenario.run(new Transaction(session, this.author));
    } catch (error) {
      if (error instanceof DeliberateRollback) {
        await session.query('rollback');
        return false;
      }
      throw error;
    }
    const { command } = await session.query('commit');
    if (command !== 'COMMIT') {
      throw new SilentFailure(`COMMIT did a ${command}`);
    }
    return true;
  }

  private async begin(session: Session, isolation: Isolation): Promise<void> {
    const { random, sizes } = this.author;
    const { tenantId } = session.application;
    await session.query(`begin isolation level ${isolation}`);
    if (tenantId !== undefined) {
      await session.query(`select set_config('app.tenant_id', $1, true)`, [
        tenantId,
      ]);
    }
    if (isolation === 'repeatable read') {
      // This takes the snapshot, and the scenario touches the tables later: it does
      // not see what the migration changes in between.
      await session.query('select count(*) from pg_catalog.pg_class');
      await sleep(random.below(random.chance(0.03) ? sizes.longestHoldMs : 10));
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
    const code = error instanceof DatabaseError ? error.code : undefined;
    this.environment.onFailure(
      `${this.environment.during}: ${scenario.name} of the ${this.wanted.name} application in ` +
        `${isolation}: ${code ?? ''} ${
          error instanceof Error ? error.message : error
        }`,
    );
  }
}

function isSerializationFailure(error: unknown, isolation: Isolation): boolean {
  return (
    isolation === 'repeatable read' &&
    error instanceof DatabaseError &&
    error.code === SERIALIZATION_FAILURE
  );
}
