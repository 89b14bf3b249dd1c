import { Random } from '@internal/postgres/testUtils';
import { EventEmitter, once } from 'node:events';
import type { Application } from './Session';
import { createShadows, findDifferences, findRowsOfOthers } from './shadow';
import type { Database } from './shadow';
import type { TrafficSizes } from './sizes';
import { Writer } from './Writer';
import type { WriterEnvironment } from './Writer';

// Longer than a slow machine takes for the transactions between two commands.
const LONGEST_WAIT_MS = 600_000;

/** How the writers write, where that is not by default. */
export type TrafficOptions = Partial<Pick<WriterEnvironment, 'isolations'>>;

/** The writers of one application, and the schema with the copies of its tables. */
interface Group {
  shadow: string;
  writers: Writer[];
}

/** Load clients that write at the same time: `sizes.writers` for each application. */
export class LiveTraffic {
  /** Lets writers write as each application, beginning with the existing rows. */
  static async start(
    client: Database,
    applications: Application[],
    sizes: TrafficSizes,
    options: TrafficOptions = {},
  ): Promise<LiveTraffic> {
    for (const [index, { tenantId }] of applications.entries()) {
      await createShadows(client, shadowOf(index), tenantId);
    }
    const traffic = new LiveTraffic(applications, sizes, options);
    traffic.running = Promise.all(traffic.writers.map(writer => writer.run()));
    // `until` and `stop` report the error of a writer.
    traffic.running.catch(() => undefined);
    return traffic;
  }

  private readonly failures = new Map<string, number>();
  private readonly environment: WriterEnvironment;
  private readonly groups: Group[];
  private readonly commits = new EventEmitter();
  private readonly outageEnds: number[] = [];
  private outages = 0;
  private running: Promise<unknown> = Promise.resolve();

  private constructor(
    applications: Application[],
    private readonly sizes: TrafficSizes,
    options: TrafficOptions,
  ) {
    this.environment = {
      isolations: ['read committed', 'repeatable read'],
      ...options,
      during: 'before',
      wasDown: since =>
        this.outages > 0 || this.outageEnds.some(end => end >= since),
      onFailure: failure =>
        this.failures.set(failure, (this.failures.get(failure) ?? 0) + 1),
      onCommit: () => this.commits.emit('commit'),
    };
    this.groups = applications.map((application, index) => ({
      shadow: shadowOf(index),
      writers: this.createWriters(application, index),
    }));
  }

  /** Names what goes on from now on, such as the phase of the migration. */
  set during(what: string) {
    this.environment.during = what;
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
      writer.wanted = application;
      await this.until(() => writer.application === application);
      await this.committed(1);
    }
  }

  /** Takes the server down and up again: a lost connection is then no failure. */
  async outage<T>(work: () => Promise<T>): Promise<T> {
    this.outages += 1;
    try {
      return await work();
    } finally {
      this.outages -= 1;
      this.outageEnds.push(Date.now());
    }
  }

  /** Ends the writers after their transactions. */
  async stop(): Promise<void> {
    this.writers.forEach(writer => writer.stop());
    await this.running;
  }

  /**
   * Ends the writers, and lists what went wrong, with the seed that repeats it:
   * writes that failed, and rows that differ from what was written.
   */
  async end(client: Database): Promise<string[]> {
    await this.stop();
    const problems = [
      ...this.failureSummary(),
      ...(await this.differences(client)),
    ];
    return problems.length > 0 ? [`seed ${this.sizes.seed}`, ...problems] : [];
  }

  /** What differs from what was written. */
  async differences(client: Database): Promise<string[]> {
    await client.query(`set timezone = 'UTC'`);
    const differences: string[] = [];
    const tenantIds: string[] = [];
    for (const { shadow, writers } of this.groups) {
      const { tenantId } = writers[0].wanted;
      differences.push(...(await findDifferences(client, shadow, tenantId)));
      tenantIds.push(...(tenantId ? [tenantId] : []));
    }
    return tenantIds.length > 0
      ? [...differences, ...(await findRowsOfOthers(client, tenantIds))]
      : differences;
  }

  /** The failures, the same ones counted together. */
  failureSummary(): string[] {
    return [...this.failures].map(([text, count]) => `${count} × ${text}`);
  }

  /** Lines for people. */
  summary(): string {
    const lines = this.writers.map(
      ({ name, counts: { committed, rolledBack, repeated } }) =>
        `${name}: ${committed} committed, ${rolledBack} rolled back, ${repeated} repeated`,
    );
    return [`seed ${this.sizes.seed}`, ...lines].join('\n');
  }

  private get writers(): Writer[] {
    return this.groups.flatMap(({ writers }) => writers);
  }

  /** Each writer gets a share of the entities as its own, by their ids. */
  private createWriters(application: Application, group: number): Writer[] {
    const { sizes } = this;
    return Array.from({ length: sizes.writers }, (_, index) => {
      const number = group * sizes.writers + index + 1;
      const name = `writer-${number}`;
      let texts = 0;
      const author = {
        shadow: shadowOf(group),
        own: `entity_kind <> 'shared' and ${shareOf(sizes, index)}`,
        random: new Random(sizes.seed + number),
        sizes,
        uniqueText: () => {
          texts += 1;
          return `${name}/${texts}`;
        },
      };
      return new Writer(name, application, author, this.environment);
    });
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
          ? new Error(`No commit of a writer for ${LONGEST_WAIT_MS} ms`)
          : error;
      });
    }
  }
}

/** The condition on a share of the entities; no writer touches the last one. */
export function shareOf(
  { writers }: TrafficSizes,
  index: number = writers,
): string {
  return `(hashtext(entity_id::text)::bigint & 2147483647) % ${
    writers + 1
  } = ${index}`;
}

function shadowOf(group: number): string {
  return `traffic_${group}`;
}
