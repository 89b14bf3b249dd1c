import { adopt } from 'backstage-catalog-tenancy-migrations';
import type { Knex } from 'knex';
import { setTimeout as pause } from 'node:timers/promises';
import type {
  Benchmark,
  BenchmarkContext,
  BenchmarkResult,
} from '../harness/Benchmark';
import { createStockTables, fillStockTables } from '../harness/catalogs';
import {
  compare,
  type Comparison,
  measureInTurn,
  ratiosOf,
  spreadOf,
} from '../harness/comparison';
import {
  type Database,
  runStatements,
  trackStatements,
  withClient,
  withKnex,
} from '../harness/database';
import { runPhase } from '../harness/migrations';
import {
  type EngineMeasurement,
  StitchingEngine,
  type Work,
} from './StitchingEngine';

const ENTITIES = { full: 20_000, short: 200 };

const WORKS: { work: Work; what: string }[] = [
  { work: 'change', what: 'process and stitch what has changed' },
  { work: 'life', what: 'add, process, stitch and remove' },
  { work: 'nothing', what: 'refresh without a change' },
];

/** A copy of the same catalog, on each of which an engine works. */
interface Side {
  name: string;
  database: Database;
  prepare(database: Database): Promise<void>;
}

/**
 * What the triggers of the adoption cost the stock catalog's engine: in time, in
 * what PostgreSQL writes to its log, and in statements that wait for a lock.
 */
export const adoptionBenchmark: Benchmark = {
  name: 'adoption',
  rounds: { full: 20, short: 2 },
  run,
};

async function run(context: BenchmarkContext): Promise<BenchmarkResult> {
  const { progress, settings } = context;
  const entities = settings.short ? ENTITIES.short : ENTITIES.full;
  const sides = await createSides(context, entities);
  const engines = sides.map(({ database }) =>
    StitchingEngine.open(
      database.postgres.connectionString(database.name),
      settings.concurrency,
    ),
  );
  const comparisons: Comparison[] = [];
  const notes: string[] = [];
  try {
    for (const { work, what } of WORKS) {
      progress(what);
      const rounds = (await measureInTurn(
        sides.map(({ name }, index) => ({
          name,
          measure: seconds => engines[index].measure(work, seconds),
        })),
        settings,
      )) as EngineMeasurement[][];
      const [stock, ...ours] = sides.map(({ name }, index) => ({
        name,
        rounds: rounds[index],
      }));
      comparisons.push(
        ...ours.map(each =>
          compare({ what, unit: 'entities', ours: each, alternative: stock }),
        ),
      );
      notes.push(`WAL per entity, ${what}: ${describeWal([stock, ...ours])}`);
    }
    notes.push(...(await watchServer(context, sides, engines)));
  } finally {
    await Promise.all(engines.map(engine => engine.close()));
  }
  return {
    circumstances:
      `${settings.rounds} rounds of ${settings.seconds} s, ` +
      `${settings.concurrency} lanes, ${entities} entities`,
    comparisons,
    notes,
    failures: await faultsOf(sides),
  };
}

async function createSides(
  { postgres, progress }: BenchmarkContext,
  entities: number,
): Promise<Side[]> {
  progress(`filling a stock catalog with ${entities} entities`);
  const stock = { postgres, name: 'adoption_stock' };
  await withKnex(postgres, 'postgres', knex =>
    knex.raw('create database ??', [stock.name]),
  );
  await withKnex(postgres, stock.name, async knex => {
    await createStockTables(knex);
    await fillStockTables(knex, entities);
    await knex.raw('update refresh_state set next_update_at = now()');
  });
  const adoptCatalog = async (database: Database) => {
    await adopt({ connection: postgres.connectionString(database.name) });
  };
  const sides: Side[] = [
    { name: 'stock catalog', database: stock, prepare: async () => {} },
    {
      name: 'adopted',
      database: { postgres, name: 'adoption_adopted' },
      prepare: adoptCatalog,
    },
    {
      name: 'adopted, after phase 5',
      database: { postgres, name: 'adoption_phase5' },
      async prepare(database) {
        await adoptCatalog(database);
        for (const phase of [1, 2, 3, 4, 5] as const) {
          await runPhase(database, phase);
        }
      },
    },
  ];
  // All copies first: nobody may be connected to what is copied.
  for (const { database } of sides.slice(1)) {
    await runStatements({ postgres, name: 'postgres' }, [
      `create database ${database.name} template ${stock.name}`,
    ]);
  }
  for (const { name, database, prepare } of sides) {
    progress(`preparing ${name}`);
    await prepare(database);
    await runStatements(database, ['vacuum (analyze)']);
  }
  return sides;
}

/** Whatever was kept aside was not carried over, and so cost nothing. */
async function faultsOf(sides: Side[]): Promise<string[]> {
  const failures: string[] = [];
  for (const { name, database } of sides.slice(1)) {
    await withKnex(database.postgres, database.name, async knex => {
      const { rows } = await knex.raw(
        `select source, key, reason from tenancy.adoption_faults limit 3`,
      );
      failures.push(
        ...rows.map(
          (row: { source: string; key: string; reason: string }) =>
            `${name} kept aside ${row.source} ${row.key}: ${row.reason}`,
        ),
      );
    });
  }
  return failures;
}

function describeWal(
  sides: { name: string; rounds: EngineMeasurement[] }[],
): string {
  const [stock] = sides;
  const bytes = (rounds: EngineMeasurement[]) =>
    rounds.map(({ walBytes }) => walBytes);
  return sides
    .map(side => {
      const { median } = spreadOf(bytes(side.rounds));
      const { median: ratio } = spreadOf(
        ratiosOf(bytes(side.rounds), bytes(stock.rounds)),
      );
      return `${side.name} ${median.toFixed(0)} bytes (${ratio.toFixed(2)}×)`;
    })
    .join(', ');
}

/**
 * What the server does for it, in rounds of their own: to count costs time, and to
 * the side most that sends most statements.
 */
async function watchServer(
  { postgres, settings }: BenchmarkContext,
  sides: Side[],
  engines: StitchingEngine[],
): Promise<string[]> {
  return withKnex(postgres, 'postgres', async admin => {
    await admin.raw('create extension if not exists pg_stat_statements');
    await trackStatements(admin, 'top');
    const notes: string[] = [];
    for (const { work, what } of WORKS) {
      const waits: string[] = [];
      const times: string[] = [];
      for (const [index, { name, database }] of sides.entries()) {
        await admin.raw('select pg_stat_statements_reset()');
        const { result, waiting, running } = await sampleLockWaits(
          database,
          () => engines[index].measure(work, settings.seconds),
        );
        const ms = await executionMs(admin, database);
        waits.push(`${name} ${waiting} of ${running}`);
        times.push(`${name} ${(ms / result.count).toFixed(2)} ms`);
      }
      notes.push(
        `Time in PostgreSQL per entity, ${what}: ${times.join(', ')}`,
        `Statements found waiting for a lock, ${what}: ${waits.join(', ')}`,
      );
    }
    await trackStatements(admin, 'none');
    return notes;
  });
}

async function executionMs(admin: Knex, { name }: Database): Promise<number> {
  const { rows } = await admin.raw(
    `select coalesce(sum(total_exec_time), 0)::float8 as ms
       from pg_stat_statements(false)
       join pg_database d on d.oid = dbid
      where datname = ?
`,
    [name],
  );
  return rows[0].ms;
}

const SAMPLE_MS = 5;

/** How many statements were found waiting for a lock, of those that were looked at. */
interface LockWaits {
  waiting: number;
  running: number;
}

/** Looks again and again at what the other connections of a database wait for. */
async function sampleLockWaits<T>(
  database: Database,
  action: () => Promise<T>,
): Promise<LockWaits & { result: T }> {
  return withClient(database, async client => {
    const waits = { waiting: 0, running: 0 };
    let going = true;
    const sampling = (async () => {
      while (going) {
        const { rows } = await client.query(
          `select count(*) filter (where wait_event_type = 'Lock')::int as waiting,
                  count(*)::int as running
             from pg_stat_activity
            where datname = current_database() and state = 'active'
              and pid <> pg_backend_pid()`,
        );
        waits.waiting += rows[0].waiting;
        waits.running += rows[0].running;
        await pause(SAMPLE_MS);
      }
    })();
    try {
      const result = await action();
      return { ...waits, result };
    } finally {
      going = false;
      await sampling;
    }
  });
}
