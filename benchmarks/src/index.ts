// What `npm run bench` runs.

import { Postgres } from '@internal/postgres';
import { catalogBenchmark } from './catalog';
import { enginesBenchmark } from './engines';
import { fairnessBenchmark } from './fairness';
import type { Benchmark, BenchmarkResult } from './harness/Benchmark';
import { QUIET_SETTINGS } from './harness/database';
import { describeMachine, toJson, toText } from './harness/report';
import { migrationBenchmark } from './migration';
import { type GivenSettings, parseOptions } from './options';
import { pagesBenchmark } from './pages';
import { scopeBenchmark } from './scope';

/** All benchmarks, in the order in which they run. */
const benchmarks: Benchmark[] = [
  catalogBenchmark,
  pagesBenchmark,
  scopeBenchmark,
  migrationBenchmark,
  fairnessBenchmark,
  enginesBenchmark,
];

async function main(): Promise<void> {
  const { json, names, settings } = parseOptions(
    process.argv.slice(2),
    benchmarks.map(({ name }) => name),
  );
  const machine = describeMachine();
  const results: Record<string, BenchmarkResult> = {};
  for (const benchmark of benchmarks) {
    if (names.length === 0 || names.includes(benchmark.name)) {
      results[benchmark.name] = await run(benchmark, settings);
    }
  }
  const print = json ? toJson : toText;
  process.stdout.write(print({ machine, settings, results }));
  if (Object.values(results).some(({ failures }) => failures?.length)) {
    process.exitCode = 1;
  }
}

async function run(
  benchmark: Benchmark,
  given: GivenSettings,
): Promise<BenchmarkResult> {
  const { full, short } = benchmark.rounds;
  const settings = { rounds: given.short ? short : full, ...given };
  const postgres = await Postgres.start({
    settings: benchmark.serverSettings?.(settings) ?? QUIET_SETTINGS,
  });
  try {
    return await benchmark.run({
      postgres,
      settings,
      // Apart from the results, which may go to a file.
      progress: message =>
        process.stderr.write(`${benchmark.name}: ${message}\n`),
    });
  } finally {
    await postgres.stop();
  }
}

main().catch(error => {
  process.stderr.write(`${error.stack}\n`);
  // A target that is missed is a result; only a run that fails is a failure.
  process.exit(1);
});
