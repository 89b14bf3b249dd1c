import type {
  Benchmark,
  BenchmarkContext,
  BenchmarkResult,
} from '../harness/Benchmark';
import { compareBackfill, compareCopy, compareFill } from './rates';
import { createCatalog, describeCatalog, FULL, rowsOf, SHORT } from './catalog';
import { runStatements, setAutovacuum, withCopyOf } from '../harness/database';
import { migrateLive } from './live';
import { runPhase } from '../harness/migrations';
import { SCHEMA } from '../harness/servers';

const MEMORY = { shared_buffers: '2GB', maintenance_work_mem: '256MB' };

/**
 * The migration of a catalog: how fast rows are moved, and how long those who
 * write meanwhile have to wait.
 */
export const migrationBenchmark: Benchmark = {
  name: 'migration',
  // Each takes half an hour in full.
  rounds: { full: 2, short: 1 },
  // A server as one has it in production: a commit waits for the disk.
  serverSettings: ({ short }) =>
    short
      ? {}
      : {
          ...MEMORY,
          fsync: 'on',
          synchronous_commit: 'on',
          full_page_writes: 'on',
          max_wal_size: '8GB',
        },
  run,
};

async function run(context: BenchmarkContext): Promise<BenchmarkResult> {
  const { postgres, progress, settings } = context;
  const size = settings.short ? SHORT : FULL;
  // It would hit one side only.
  await setAutovacuum(postgres, 'off');

  progress(`filling a catalog with ${size.entities} entities`);
  const catalog = await createCatalog(postgres, 'catalog', size);
  const description = await describeCatalog(catalog);
  progress(description);
  const { comparisons, notes } = await compareRates(context, catalog, size);

  const live = await withCopyOf(catalog, async copy => {
    // Here it belongs to what happens to writers.
    await setAutovacuum(postgres, 'on');
    return migrateLive(context, copy, size);
  });
  return {
    ...live,
    circumstances:
      `Rounds: ${settings.rounds}. Writers: one migration and ` +
      `${size.swaps} further swaps and rollbacks. ${description}`,
    comparisons,
    notes: [...notes, ...live.notes],
  };
}

/** Rows per second, while nobody else writes. */
async function compareRates(
  context: BenchmarkContext,
  catalog: Parameters<typeof compareCopy>[1],
  size: typeof FULL,
): Promise<Pick<BenchmarkResult, 'comparisons' | 'notes'>> {
  return withCopyOf(catalog, async copy => {
    await runPhase(copy, 1);
    const backfills = await compareBackfill(context, copy, rowsOf(size));
    for (const phase of [2, 3, 4] as const) {
      await runPhase(copy, phase);
    }
    await runStatements(copy, [
      `vacuum (analyze) ${SCHEMA}.entities, ${SCHEMA}.relations, ${SCHEMA}.refresh_state`,
    ]);
    const copies = await compareCopy(context, copy, rowsOf(size));
    const terms = await compareFill(context, size.searchedEntities);
    return {
      comparisons: [...backfills, copies.comparison, terms.comparison],
      notes: [...copies.notes, ...terms.notes],
    };
  });
}
