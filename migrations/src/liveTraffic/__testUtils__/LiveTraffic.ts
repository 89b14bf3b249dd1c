import { EventEmitter, once } from 'node:events';
import { compare, readEntities } from './compare';
import type { CompareOptions, Database } from './compare';
import { replay } from './expectedRows';
import type { Entities, RecordedEntity, TrafficRecord } from './expectedRows';
import { scenarios } from './scenarios';
import type { Application } from './Session';
import type { TrafficSizes } from './sizes';
import { Writer } from './Writer';
import type { Failure, WriterEnvironment } from './Writer';

// Longer than a slow machine takes for the transactions between two commands.
const LONGEST_WAIT_MS = 600_000;

/** What the writers themselves need, beside the tables of the catalog. */
export const TRAFFIC_TABLES = `
  create schema traffic;
  grant usage on schema traffic to public;
  create table traffic.commits (id text primary key);
  grant select, insert on traffic.commits to public;
  create sequence traffic.shared_order;
  grant usage on sequence traffic.shared_order to public;
`;

/** The entities of one application at the start. */
export interface Share {
  application: Application;
  entities: Entities;
}

/** How the writers write, where that is not by default. */
export type TrafficOptions = Partial<
  Pick<WriterEnvironment, 'scenarios' | 'isolations' | 'onWrite'>
>;

/** Load clients that write at the same time: `sizes.writers` for each application. */
export class LiveTraffic {
  /** Lets writers write as each application, beginning with the existing rows. */
  static async start(
    client: Database,
    applications: Application[],
    sizes: TrafficSizes,
    options: TrafficOptions = {},
  ): Promise<LiveTraffic> {
    await client.query(TRAFFIC_TABLES);
    const shares: Share[] = [];
    for (const application of applications) {
      const entities = await readEntities(client, application.tenantId);
      shares.push({ application, entities });
    }
    return LiveTraffic.startWith({ shares, sizes }, options);
  }

  /** The same with rows that the caller chooses, where TRAFFIC_TABLES exist. */
  static startWith(
    from: { shares: Share[]; sizes: TrafficSizes },
    options: TrafficOptions = {},
  ): LiveTraffic {
    const traffic = new LiveTraffic(from, options);
    traffic.running = Promise.all(traffic.writers.map(writer => writer.run()));
    // `until` and `stop` report the error of a writer.
    traffic.running.catch(() => undefined);
    return traffic;
  }

  readonly failures: Failure[] = [];
  private readonly environment: WriterEnvironment;
  private readonly groups: Group[];
  private readonly sizes: TrafficSizes;
  private readonly commits = new EventEmitter();
  private readonly outageEnds: number[] = [];
  private outages = 0;
  private running: Promise<unknown> = Promise.resolve();

  private constructor(
    { shares, sizes }: { shares: Share[]; sizes: TrafficSizes },
    options: TrafficOptions,
  ) {
    this.sizes = sizes;
    this.environment = {
      ...{
        sizes,
        scenarios,
        isolations: ['read committed', 'repeatable read'],
      },
      ...options,
      during: 'before',
      wasDown: since =>
        this.outages > 0 || this.outageEnds.some(end => end >= since),
      onFailure: failure => this.failures.push(failure),
      onCommit: () => this.commits.emit('commit'),
    };
    this.groups = shares.map(({ application, entities }, index) =>
      createGroup(
        application,
        entities,
        index * sizes.writers,
        this.environment,
      ),
    );
  }

  /** Names what goes on from now on, such as the phase of the migration. */
  set during(what: string) {
    this.environment.during = what;
  }

  get writers(): Writer[] {
    return this.groups.flatMap(({ writers }) => writers);
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

  /** Ends the writers after their transactions, and resolves to their record. */
  async stop(): Promise<TrafficRecord> {
    this.writers.forEach(writer => writer.stop());
    await this.running;
    return this.record();
  }

  /**
   * Ends the writers, and lists what went wrong, with the seed that repeats it:
   * writes that failed, and rows that differ from the record.
   */
  async end(client: Database, options?: CompareOptions): Promise<string[]> {
    const record = await this.stop();
    const problems = [
      ...this.failureSummary(),
      ...(await compare(client, record, options)),
    ];
    return problems.length > 0 ? [`seed ${this.sizes.seed}`, ...problems] : [];
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
          `${counts.rolledBack} rolled back, repeated: ` +
          `${again.join(', ') || 'none'}, reconnected ${counts.reconnected}`
        );
      }),
    ].join('\n');
  }

  private record(): TrafficRecord {
    const record: TrafficRecord = {
      tenants: [],
      contradictions: [],
    };
    for (const { tenantId, writers, untouched } of this.groups) {
      const committed = writers.map(writer => writer.committed);
      const shared = replay(committed.flatMap(state => state.shared));
      record.tenants.push({
        tenantId,
        entities: [
          ...untouched,
          ...committed.flatMap(({ entities }) => [...entities.values()]),
          ...shared.entities,
        ],
      });
      record.contradictions.push(...shared.contradictions);
    }
    return record;
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

interface Group {
  tenantId?: string;
  writers: Writer[];
  untouched: RecordedEntity[];
}

/** Each writer gets a share of the entities as its own, and no writer an equal one. */
function createGroup(
  application: Application,
  entities: Entities,
  first: number,
  environment: WriterEnvironment,
): Group {
  const { writers, seed } = environment.sizes;
  const shares = Array.from(
    { length: writers + 1 },
    () => new Map<string, RecordedEntity>(),
  );
  [...entities].forEach(([id, entity], index) =>
    shares[index % shares.length].set(id, entity),
  );
  const untouched = [...shares.pop()!.values()];
  return {
    tenantId: application.tenantId,
    untouched,
    writers: shares.map((own, index) => {
      const name = `writer-${first + index + 1}`;
      return new Writer(
        name,
        application,
        own,
        environment,
        seed + first + index,
      );
    }),
  };
}
