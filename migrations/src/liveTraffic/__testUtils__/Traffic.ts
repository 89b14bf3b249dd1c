import { EventEmitter, once } from 'node:events';
import type { Application } from './application';
import { Outages } from './Outages';
import { addHistory, NO_HISTORY } from './rows';
import type { Entities, History, RecordedEntity } from './rows';
import { replay } from './SharedRows';
import type { TrafficSizes } from './sizes';
import { Waits } from './Waits';
import { Writer } from './Writer';
import type { Failure } from './Writer';

// Longer than a slow machine takes for the transactions between two commands.
const LONGEST_WAIT_MS = 600_000;

/** What the three tables must hold. */
export interface TrafficRecord {
  entities: RecordedEntity[];
  /** How often the trigger on relations must have fired. */
  history: History;
  /** What writers did that can't have happened in one order. */
  contradictions: string[];
}

/** Several writers at work at the same time. */
export class Traffic {
  readonly waits = new Waits();
  readonly outages = new Outages();
  readonly failures: Failure[] = [];
  readonly writers: Writer[];
  private readonly commits = new EventEmitter();
  private readonly untouched: RecordedEntity[] = [];
  private running: Promise<unknown> = Promise.resolve();

  /**
   * @param seeded - what is there already. Each writer gets a share of it as its
   *   own, and an equal share is left alone by all.
   */
  constructor(
    seeded: Entities,
    application: Application,
    private readonly sizes: TrafficSizes,
  ) {
    const shares = Array.from(
      { length: sizes.writers + 1 },
      () => new Map<string, RecordedEntity>(),
    );
    [...seeded].forEach(([id, entity], index) =>
      shares[index % shares.length].set(id, entity),
    );
    this.untouched.push(...shares.pop()!.values());
    const { waits, outages } = this;
    this.writers = shares.map(
      (entities, index) =>
        new Writer(
          `writer-${index + 1}`,
          application,
          { entities, shared: [], history: NO_HISTORY, lastSerial: 0 },
          {
            ...{ sizes, waits, outages },
            onFailure: failure => this.failures.push(failure),
            onCommit: () => this.commits.emit('commit'),
          },
          sizes.seed + index,
        ),
    );
  }

  start(): void {
    this.running = Promise.all(this.writers.map(writer => writer.run()));
    // It is looked at by whoever waits for commits, and at the end.
    this.running.catch(() => undefined);
  }

  /** Resolves once every writer has committed so many transactions more. */
  async committed(
    transactions = this.sizes.transactionsBetween,
  ): Promise<void> {
    const goals = this.writers.map(
      ({ counts }) => counts.committed + transactions,
    );
    await this.until(() =>
      this.writers.every(
        ({ counts }, index) => counts.committed >= goals[index],
      ),
    );
  }

  /** Replaces the application of one writer after the other, without a pause. */
  async deploy(application: Application): Promise<void> {
    for (const writer of this.writers) {
      writer.deploy(application);
      await this.until(() => writer.application === application);
      await this.committed(1);
    }
  }

  /** Lets the writers end their transactions, and resolves to their record. */
  async stop(): Promise<TrafficRecord> {
    this.writers.forEach(writer => writer.stop());
    await this.running;
    return this.record();
  }

  /** The failures, the same ones counted together. */
  failureSummary(): string[] {
    const counts = new Map<string, number>();
    for (const failure of this.failures) {
      const { application, scenario, isolation, during, code } = failure;
      const text =
        `${during}: ${scenario} of the ${application} application in ` +
        `${isolation}: ${code ?? ''} ${failure.message}`;
      counts.set(text, (counts.get(text) ?? 0) + 1);
    }
    return [...counts].map(([text, count]) => `${count} × ${text}`);
  }

  /** Lines for people. */
  summary(): string {
    return [
      `seed ${this.sizes.seed}`,
      ...this.writers.map(({ name, counts, retries }) => {
        const again = [...retries].map(([what, times]) => `${what} ${times}`);
        return (
          `${name}: ${counts.committed} committed ` +
          `(${counts['repeatable read']} in REPEATABLE READ), ` +
          `${counts.rolledBack} rolled back, begun again: ` +
          `${again.join(', ') || 'none'}, reconnected ${counts.reconnected}`
        );
      }),
      this.waits.summary(),
    ].join('\n');
  }

  private record(): TrafficRecord {
    const committed = this.writers.map(writer => writer.committed);
    const shared = replay(committed.flatMap(state => state.shared));
    return {
      entities: [
        ...this.untouched,
        ...committed.flatMap(({ entities }) => [...entities.values()]),
        ...shared.entities,
      ],
      history: committed
        .map(({ history }) => history)
        .reduce(addHistory, shared.history),
      contradictions: shared.contradictions,
    };
  }

  private async until(condition: () => boolean): Promise<void> {
    const overdue = AbortSignal.timeout(LONGEST_WAIT_MS);
    // A writer that has broken down commits no more.
    const ended = this.running.then(() => {
      throw new Error('The writers have ended');
    });
    ended.catch(() => undefined);
    while (!condition()) {
      const committed = once(this.commits, 'commit', { signal: overdue });
      committed.catch(() => undefined);
      await Promise.race([committed, ended]).catch(error => {
        throw overdue.aborted
          ? new Error(`A writer was waited for ${LONGEST_WAIT_MS} ms in vain`)
          : error;
      });
    }
  }
}
