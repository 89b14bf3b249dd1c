import type {
  Benchmark,
  BenchmarkContext,
  BenchmarkResult,
} from '../harness/Benchmark';
import { createCatalog, describeCatalog, FULL, SHORT } from './catalog';
import { migrateLive } from './live';

/** The migration of a catalog: how long it takes, and how long writers wait for it. */
export const migrationBenchmark: Benchmark = {
  name: 'migration',
  rounds: { full: 1, short: 1 },
  serverSettings: ({ short }) => ({
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
  const description = await describeCatalog(catalog);
  progress(description);
  return {
    ...(await migrateLive(context, catalog, size)),
    circumstances: `One migration and ${size.swaps} further swaps and rollbacks. ${description}`,
    comparisons: [],
  };
}
