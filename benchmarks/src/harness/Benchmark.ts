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
  /** Runs only the parts whose names contain this text. */
  only?: string;
  /** The numbers of entities of the catalogs, instead of the benchmark's own. */
  entities?: number[];
}

/** What a benchmark gets from the program that runs it. */
export interface BenchmarkContext {
  settings: Settings;
  /** The server that all sides use. */
  postgres: Postgres;
  /** Prints a line about the work that begins now. */
  progress(message: string): void;
}

/** Figures that are no comparison of throughput. */
export interface FigureTable {
  title: string;
  /** The titles of the columns, the first of which names the row. */
  head: string[];
  rows: Array<Array<string | number>>;
}

/** What a benchmark measured. */
export interface BenchmarkResult {
  /** How it was measured, and with how much data. */
  circumstances: string;
  comparisons: Comparison[];
  figures?: FigureTable[];
  /** Lines printed below the tables. */
  notes: string[];
  /** What must not have happened: the run fails, but prints its results. */
  failures?: string[];
}

/** A claim about speed, measured beside an alternative. */
export interface Benchmark {
  name: string;
  /** How often each side is measured without `--rounds`. */
  rounds: { full: number; short: number };
  /** PostgreSQL's settings, where the harness's own do not fit. */
  serverSettings?(settings: Settings): Record<string, string>;
  run(context: BenchmarkContext): Promise<BenchmarkResult>;
}
