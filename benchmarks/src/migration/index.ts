import { SCHEMA } from '../harness/backend';
import type {
  Benchmark,
  BenchmarkContext,
  BenchmarkResult,
} from '../harness/Benchmark';
import type { Comparison } from '../harness/comparison';
import { type Database, runStatements, withCopyOf } from '../harness/database';
import { runPhase } from '../harness/operator';
import { createCatalog, describeCatalog, FULL, SHORT } from './catalog';
import { migrateLive } from './live';
import { compareCopy } from './rates';

/** The migration of a catalog: how fast rows are moved, and how long writers wait. */
export const migrationBenchmark: Benchmark = {
  name: 'migration',
  // Each takes half an hour in full.
  rounds: { full: 2, short: 1 },
  serverSettings: ({ short }) => ({
    // It would disturb one side only.
    autovacuum: 'off',
    // As in production, a commit waits for the disk.
    ...(!short && {
      shared_buffers: '2GB',
      maintenance_work_mem: '256MB',
      fsync: 'on',
      synchronous_commit: 'on',
      full_page_writes: 'on',
      max_wal_size: '8GB',
    }),
  }),
  run,
};

async function run(context: BenchmarkContext): Promise<BenchmarkResult> {
  const { postgres, progress, settings } = context;
  const size = settings.short ? SHORT : FULL;
  progress('filling a catalog');
  const catalog = await createCatalog(postgres, size);
  const { rows, description } = await describeCatalog(catalog);
  progress(description);
  const comparisons = await withCopyOf(catalog, copy =>
    compareRates(context, copy, rows),
  );
  const live = await withCopyOf(catalog, async copy => {
    // Here it belongs to what happens to writers.
    await runStatements(copy, [
      'alter system set autovacuum = on',
      'select pg_reload_conf()',
    ]);
    return migrateLive(context, copy, size);
  });
  return {
    ...live,
    circumstances:
      `Rounds: ${settings.rounds}. Writers: one migration and ` +
      `${size.swaps} further swaps and rollbacks. ${description}`,
    comparisons,
  };
}

/** Rows per second, without other writers. */
async function compareRates(
  context: BenchmarkContext,
  database: Database,
  rows: number,
): Promise<Comparison[]> {
  for (const phase of [1, 2, 3, 4] as const) {
    await runPhase(database, phase);
  }
  await runStatements(database, [
    `vacuum (analyze) ${SCHEMA}.entities, ${SCHEMA}.relations, ${SCHEMA}.refresh_state`,
  ]);
  return [await compareCopy(context, database, rows)];
}
