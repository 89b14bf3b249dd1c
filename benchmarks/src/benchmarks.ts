import { adoptionBenchmark } from './adoption';
import { catalogBenchmark } from './catalog';
import type { Benchmark } from './harness/Benchmark';
import { loadBenchmark } from './load';
import { migrationBenchmark } from './migration';
import { mockupBenchmark } from './mockup';
import { scopeBenchmark } from './scope';

/** All benchmarks, in the order in which they run. */
export const benchmarks: Benchmark[] = [
  mockupBenchmark,
  catalogBenchmark,
  scopeBenchmark,
  migrationBenchmark,
  adoptionBenchmark,
  loadBenchmark,
];
