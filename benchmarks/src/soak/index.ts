import { Random } from '@internal/postgres';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import type {
  Benchmark,
  BenchmarkContext,
  BenchmarkResult,
  FigureTable,
} from '../harness/Benchmark';
import { runStatements } from '../harness/database';
import { TERM_STORAGE } from '../harness/engine';
import { SCHEMA, startTogether } from '../harness/servers';
import { createCatalog, createTenants } from '../load';
import {
  type LoadClient,
  LoadServer,
  RequestLog,
  REQUEST_LOG_HEAD,
} from '../load/LoadClient';
import { type LoadTenant, READS, type Task } from '../load/requests';
import { change } from './changes';
import {
  type IndexState,
  type MemoryState,
  readIndexes,
  readMemory,
  readTables,
  readVacuums,
  TABLES,
  type TableState,
  type VacuumState,
} from './observe';

/** How much load there is, and for how long. */
interface Size {
  entities: number;
  minutes: number;
  /** How many per cent of the entities writes change in a minute. */
  percent: number;
  /** Of each database; those of the other variants come in turn with them. */
  readsPerSecond: number;
  /** Into how many parts the time is divided, each of which has figures. */
  parts: number;
  /** How often it is looked at what autovacuum has done. */
  watchMs: number;
}

const FULL: Size = {
  entities: 10_000,
  minutes: 60,
  percent: 1,
  readsPerSecond: 10,
  parts: 5,
  watchMs: 1_000,
};

const SHORT: Size = {
  entities: 200,
  minutes: 0.05,
  percent: 1_000,
  readsPerSecond: 50,
  parts: 1,
  watchMs: 100,
};

/** How often entities are changed. */
const WRITE_MS = 1_000;

/** Settings of `entity_terms` to compare; of all else, the databases have the same. */
interface Variant {
  name: string;
  database: string;
  settings: Readonly<Record<string, string>>;
}

const VARIANTS: Variant[] = [
  { name: "PostgreSQL's", database: 'soak_defaults', settings: {} },
  { name: 'advised', database: 'soak_advised', settings: TERM_STORAGE },
];

/**
 * Reads with writes beside them for an hour, of databases whose `entity_terms` differs in
 * its settings of autovacuum alone.
 */
export const soakBenchmark: Benchmark = {
  name: 'soak',
  // As one has them in production, autovacuum included.
  serverSettings: ({ short }) => ({
    max_connections: '200',
    ...(short
      ? { autovacuum_naptime: '1s' }
      : {
          shared_buffers: '1GB',
          max_wal_size: '8GB',
          fsync: 'on',
          synchronous_commit: 'on',
          full_page_writes: 'on',
        }),
  }),
  run,
};

/** What one of the databases is at some moment, and what was read until then. */
interface Sample {
  minute: number;
  tables: TableState[];
  indexes: IndexState[];
  memory: MemoryState;
  vacuums: VacuumState;
  /** Since the sample before; none at the start. */
  reads?: RequestLog;
}

/** That autovacuum has been at `entity_terms`. */
interface VacuumRun {
  minute: number;
  what: 'vacuum' | 'analyze';
  /** Dead rows a moment before. */
  dead: number;
}

/** A database with its backend, and what is known of them. */
interface Side {
  variant: Variant;
  server: LoadServer;
  /** A session that only looks. */
  observer: Client;
  reader: LoadClient;
  writer: LoadClient;
  samples: Sample[];
  /** What autovacuum had done at the last look. */
  watched?: VacuumState;
  runs: VacuumRun[];
  /** Since the last sample. */
  reads: RequestLog;
  writes: RequestLog;
  stop(): Promise<void>;
}

async function run(context: BenchmarkContext): Promise<BenchmarkResult> {
  const { progress, settings } = context;
  const size = { ...(settings.short ? SHORT : FULL) };
  size.minutes = settings.minutes ?? size.minutes;
  size.percent = settings.percent ?? size.percent;
  const sides = await createSides(context, size);
  try {
    progress(`${size.minutes} minutes of reads and writes`);
    const { rounds, latest } = await soak(sides, size, progress);
    return report(sides, size, { rounds, latest });
  } finally {
    await Promise.all(sides.map(side => side.stop()));
  }
}

async function createSides(
  context: BenchmarkContext,
  size: Size,
): Promise<Side[]> {
  const { postgres, progress } = context;
  const catalog = await createCatalog(context);
  for (const { database, settings } of VARIANTS) {
    await runStatements({ postgres, name: 'postgres' }, [
      `create database ${database} template ${catalog}`,
    ]);
    const table = `${SCHEMA}.entity_terms`;
    const given = Object.entries(settings).map(each => each.join(' = '));
    await runStatements({ postgres, name: database }, [
      `alter table ${table} reset (${Object.keys(TERM_STORAGE)})`,
      ...(given.length > 0 ? [`alter table ${table} set (${given})`] : []),
    ]);
  }
  progress(`creating ${size.entities} entities in each database`);
  return startTogether(
    VARIANTS.map(async variant => {
      const server = await LoadServer.start(context, variant.database);
      const { noisy: tenant } = await createTenants(server, {
        tenants: 0,
        entities: 0,
        noisy: { entities: size.entities },
      });
      await runStatements({ postgres, name: variant.database }, [
        'vacuum (analyze)',
      ]);
      const observer = new Client({
        connectionString: postgres.connectionString(variant.database),
      });
      await observer.connect();
      const side = {
        variant,
        server,
        observer,
        // The same of both: they ask for the same, and change the same.
        reader: createClient(server, tenant, READS, 1),
        writer: createClient(server, tenant, [changes(size)], 2),
        samples: [],
        runs: [],
        reads: new RequestLog(),
        writes: new RequestLog(),
      };
      return {
        ...side,
        async stop() {
          await observer.end();
          await server.stop();
        },
      };
    }),
  );
}

function createClient(
  server: LoadServer,
  tenant: LoadTenant,
  tasks: Task[],
  seed: number,
): LoadClient {
  const [client] = server.createClients([
    {
      caller: 'service',
      naming: 'header',
      tenant,
      tasks,
      random: new Random(seed),
    },
  ]);
  return client;
}

/** Each time, what is to be changed in the time between two writes. */
function changes(size: Size): Task {
  const perWrite = entitiesPerWrite(size);
  let revision = 0;
  let changed = 0;
  return {
    weight: 1,
    start(tenant, random) {
      revision += 1;
      const count = Math.min(
        Math.round(revision * perWrite) - changed,
        tenant.stable,
      );
      changed += count;
      return count > 0
        ? [() => change(tenant, random, { count, revision })]
        : [];
    },
  };
}

function entitiesPerWrite({ entities, percent }: Size): number {
  return (entities * percent * WRITE_MS) / (100 * 60_000);
}

/** Reads and writes all databases in turn, and looks at them now and then. */
async function soak(
  sides: Side[],
  { minutes, parts, readsPerSecond, watchMs }: Size,
  progress: BenchmarkContext['progress'],
): Promise<{ rounds: number; latest: number }> {
  const start = performance.now();
  const minute = () => (performance.now() - start) / 60_000;
  await Promise.all(sides.map(side => takeSample(side, 0)));
  let isOver = false;
  let rounds = 0;
  let latest = 0;

  /** Does something each time that so many milliseconds have passed since the start. */
  const every = async (ms: number, action: () => Promise<void>) => {
    for (let due = ms; !isOver; due += ms) {
      const now = performance.now() - start;
      await delay(Math.max(0, due - now));
      if (!isOver) {
        latest = Math.max(latest, performance.now() - start - due);
        await action();
      }
    }
  };
  const inTurn = async (action: (side: Side) => Promise<void>) => {
    // The first one finds PostgreSQL and the processor as others have left them.
    rounds += 1;
    const first = rounds % sides.length;
    for (const side of [...sides.slice(first), ...sides.slice(0, first)]) {
      await action(side);
    }
  };
  const load = Promise.all([
    every(1_000 / readsPerSecond, () =>
      inTurn(side => side.reader.askNext(side.reads)),
    ),
    every(WRITE_MS, async () => {
      for (const side of sides) {
        await side.writer.askNext(side.writes);
      }
    }),
    ...sides.map(side => every(watchMs, () => watch(side, minute()))),
  ]);
  try {
    for (let part = 1; part <= parts; part += 1) {
      const end = (minutes * 60_000 * part) / parts;
      await Promise.race([
        load,
        delay(Math.max(0, end - (performance.now() - start))),
      ]);
      progress(`${minute().toFixed(1)} minutes`);
      await Promise.all(sides.map(side => takeSample(side, minute())));
    }
  } finally {
    isOver = true;
    await load;
  }
  return { rounds, latest };
}

async function takeSample(side: Side, minute: number): Promise<void> {
  const { observer, server, samples } = side;
  const reads = side.reads;
  reads.close();
  side.reads = new RequestLog();
  samples.push({
    minute,
    tables: await readTables(observer),
    indexes: await readIndexes(observer),
    memory: await readMemory(observer, server.pid),
    vacuums: await readVacuums(observer),
    ...(samples.length > 0 && { reads }),
  });
}

/** Notices that autovacuum has been at work since the last look. */
async function watch(side: Side, minute: number): Promise<void> {
  const before = side.watched;
  const now = await readVacuums(side.observer);
  side.watched = now;
  if (before && now.vacuums > before.vacuums) {
    side.runs.push({ minute, what: 'vacuum', dead: before.dead });
  }
  if (before && now.analyzes > before.analyzes) {
    side.runs.push({ minute, what: 'analyze', dead: before.dead });
  }
}

function report(
  sides: Side[],
  size: Size,
  { rounds, latest }: { rounds: number; latest: number },
): BenchmarkResult {
  const logs = sides.flatMap(({ variant, samples, writes }) => {
    writes.close();
    const reads = new RequestLog();
    samples.forEach(sample => sample.reads && reads.add(sample.reads));
    return [
      { title: `Reads, ${variant.name}`, log: reads },
      { title: `Writes, ${variant.name}`, log: writes },
    ];
  });
  return {
    circumstances:
      `${size.entities} entities in each of ${sides.length} databases, of which writes change ` +
      `${size.percent} % a minute, for ${size.minutes} minutes; ` +
      `${rounds} times a read of each in turn, up to ${size.readsPerSecond} a second`,
    comparisons: [],
    figures: [
      termsTable(sides),
      othersTable(sides),
      readsTable(sides),
      memoryTable(sides),
      runsTable(sides),
      ...logs.map(({ title, log }) => ({
        title,
        head: REQUEST_LOG_HEAD,
        rows: log.rows(),
      })),
    ],
    notes: [
      ...sides.map(({ variant, samples }) => {
        const { vacuums, analyzes, ms } = difference(samples);
        const took = ms === undefined ? '' : `, ${(ms / 1000).toFixed(1)} s`;
        return `entity_terms with ${variant.name} settings: ${vacuums} vacuums${took}; ${analyzes} analyzes`;
      }),
      ...sides.map(
        ({ variant, writes }) =>
          `Mutations with ${variant.name} settings: ${
            writes.measurement().count
          } of ${Math.floor(
            (size.minutes * 60_000) / WRITE_MS,
          )} that were due, of ${entitiesPerWrite(size).toFixed(
            1,
          )} entities each`,
      ),
      `A read or write began ${latest.toFixed(0)} ms late at the most`,
      ...(process.platform === 'linux'
        ? []
        : ['The memory of processes is known on Linux only']),
    ],
    failures: logs.flatMap(({ title, log }) => [
      ...log.failures.map(failure => `${title}: ${failure}`),
      ...(log.refused > 0 ? [`${title}: ${log.refused} were refused`] : []),
    ]),
  };
}

function difference(samples: Sample[]) {
  const [first, last] = [samples[0].vacuums, samples.at(-1)!.vacuums];
  return {
    vacuums: last.vacuums - first.vacuums,
    analyzes: last.analyzes - first.analyzes,
    ms:
      first.ms === undefined || last.ms === undefined
        ? undefined
        : last.ms - first.ms,
  };
}

/** A row for each moment of each database, with its name and the minute. */
function rowsOf(
  sides: Side[],
  cells: (sample: Sample, before: Sample | undefined) => FigureTable['rows'][0],
): FigureTable['rows'] {
  return sides.flatMap(({ variant, samples }) =>
    samples.map((sample, at) => [
      variant.name,
      sample.minute.toFixed(1),
      ...cells(sample, samples[at - 1]),
    ]),
  );
}

const SEARCH = 'entity_terms';

function termsTable(sides: Side[]): FigureTable {
  const [{ indexes }] = sides[0].samples;
  const shortName = (name: string) =>
    name.replace(`${SEARCH}_`, '').replace(/_idx$/, '');
  return {
    title:
      `${SEARCH}: MiB of the table and its indexes, rows by PostgreSQL's count, and of all index ` +
      'entries that were read since the moment before, how many the table was looked up for',
    head: [
      'settings',
      'minute',
      'table',
      ...indexes.map(({ name }) => shortName(name)),
      ...['live', 'dead', 'looked up'],
    ],
    rows: rowsOf(sides, (sample, before) => {
      const { size, live, dead } = tableOf(sample, SEARCH);
      const since = (what: 'read' | 'fetched') =>
        sumOf(sample.indexes, what) - sumOf(before?.indexes ?? [], what);
      return [
        mebibytes(size),
        ...sample.indexes.map(index => mebibytes(index.size)),
        live,
        dead,
        before && since('read') > 0
          ? `${((100 * since('fetched')) / since('read')).toFixed(1)} %`
          : '',
      ];
    }),
  };
}

function othersTable(sides: Side[]): FigureTable {
  const names = TABLES.filter(name => name !== SEARCH);
  return {
    title: 'The other tables, partitions included: MiB with indexes, dead rows',
    head: [
      'settings',
      'minute',
      ...names.flatMap(name => [name, 'indexes', 'dead']),
    ],
    rows: rowsOf(sides, sample =>
      names.flatMap(name => {
        const { size, indexes, dead } = tableOf(sample, name);
        return [mebibytes(size), mebibytes(indexes), dead];
      }),
    ),
  };
}

/** Reads of one index alone, for as long as the table's pages are known to be visible. */
const FACETS = 'facets';

function readsTable(sides: Side[]): FigureTable {
  return {
    title: 'Milliseconds of reads since the moment before',
    head: [
      ...['settings', 'minute', 'reads', 'p50', 'p95', 'p99'],
      ...['p50 of facets', 'p95 of facets'],
    ],
    rows: rowsOf(sides, ({ reads }) =>
      reads
        ? [
            reads.measurement().count,
            ...[50, 95, 99].map(share => reads.percentile(share).toFixed(1)),
            ...[50, 95].map(share =>
              reads.percentile(share, FACETS).toFixed(1),
            ),
          ]
        : Array<string>(6).fill(''),
    ),
  };
}

function memoryTable(sides: Side[]): FigureTable {
  const cell = (kibibytes: number | undefined) =>
    kibibytes === undefined ? 'unknown' : (kibibytes / 2 ** 10).toFixed(1);
  return {
    title:
      "Memory in MiB: resident of the backend, and private of PostgreSQL's sessions",
    head: ['settings', 'minute', 'backend', 'sessions', 'all', 'each'],
    rows: rowsOf(sides, ({ memory: { backend, sessions, ofSessions } }) => [
      cell(backend),
      sessions,
      cell(ofSessions),
      cell(ofSessions === undefined ? undefined : ofSessions / sessions),
    ]),
  };
}

function runsTable(sides: Side[]): FigureTable {
  return {
    title: `When autovacuum was at ${SEARCH}`,
    head: ['settings', 'minute', 'what', 'dead rows before'],
    rows: sides.flatMap(({ variant, runs }) =>
      runs.map(({ minute, what, dead }) => [
        variant.name,
        minute.toFixed(1),
        what,
        dead,
      ]),
    ),
  };
}

function tableOf({ tables }: Sample, name: TableState['name']): TableState {
  return tables.find(table => table.name === name)!;
}

function sumOf(indexes: IndexState[], what: 'read' | 'fetched'): number {
  return indexes.reduce((sum, index) => sum + index[what], 0);
}

function mebibytes(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(1);
}
