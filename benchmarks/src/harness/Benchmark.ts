import type { Postgres, PostgresConnection } from '@internal/postgres';
import type { Comparison } from './comparison';
import type { Duration, Waits } from './waits';

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
  /** How much longer each answer of the database is to be on its way; 0 is none. */
  rttMs: number;
  /** What the names of the requests must hold that are to be measured; all by default. */
  only?: string;
  /** How many entities the catalogs have, where not those of the benchmark. */
  entities?: number[];
}

/** What a benchmark gets from the program that runs it. */
export interface BenchmarkContext {
  settings: Settings;
  /** The server that all sides use. */
  postgres: Postgres;
  /** How the sides reach it: with the simulated round-trip time, if there is one. */
  connection: PostgresConnection;
  /** Says what is going on, for those who wait. */
  progress(message: string): void;
}

/** Figures that are not compared with anything. */
export interface FigureTable {
  title: string;
  /** What the columns are, the first of which names the row. */
  head: string[];
  rows: Array<Array<string | number>>;
}

/** What a benchmark found out. */
export interface BenchmarkResult {
  /** How it was measured, and with how much data. */
  circumstances: string;
  comparisons: Comparison[];
  /** How long others were kept waiting. */
  waits?: Waits[];
  /** How long things took. */
  durations?: Duration[];
  /** What fits in none of these. */
  figures?: FigureTable[];
  /** What is worth knowing beside the figures, one line each. */
  notes: string[];
  /** What must not have happened: the run counts as failed, but is reported. */
  failures?: string[];
}

/** Something that we claim about speed, by the name of what it is about. */
export interface Benchmark {
  name: string;
  /** How often each side is measured where nobody asks for another number. */
  rounds?: { full: number; short: number };
  /** PostgreSQL's settings, where they are not to be the usual ones. */
  serverSettings?(settings: Settings): Record<string, string>;
  run(context: BenchmarkContext): Promise<BenchmarkResult>;
}
