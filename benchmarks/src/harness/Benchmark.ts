import type { Postgres } from '@internal/postgres';
import type { Comparison } from './comparison';

/** How a benchmark is to be run. */
export interface Settings {
  /** Less data, for a quick check that everything works. */
  short: boolean;
  /** How often each side is measured. */
  rounds: number;
  /** How long one measurement takes. */
  seconds: number;
  /** How many requests are under way at any time. */
  concurrency: number;
}

/** What a benchmark gets from the program that runs it. */
export interface BenchmarkContext {
  settings: Settings;
  /** The server that all sides use. */
  postgres: Postgres;
  /** Says what is going on, for those who wait. */
  progress(message: string): void;
}

/** What a benchmark found out. */
export interface BenchmarkResult {
  comparisons: Comparison[];
  /** What is worth knowing beside the comparisons, one line each. */
  notes: string[];
}

/** Something that we claim about speed, by the name of what it is about. */
export interface Benchmark {
  name: string;
  run(context: BenchmarkContext): Promise<BenchmarkResult>;
}
