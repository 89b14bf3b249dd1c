import type { PhaseNumber } from '../engine/Step';
import type { Operator } from '../session/operatorLock';

/**
 * A step and, once it is done, when that was.
 *
 * @public
 */
export interface StepStatus {
  name: string;
  title: string;
  phase: PhaseNumber;
  doneAt: Date | null;
}

/**
 * A table, with numbers from PostgreSQL's statistics: rows are estimates.
 *
 * @public
 */
export interface TableStatus {
  name: string;
  rows: number;
  /** With indexes, and with all partitions. */
  bytes: number;
  partitions: number;
}

/**
 * How far a backfill or a copy has come, in pages of the table.
 *
 * @public
 */
export interface WorkStatus {
  name: string;
  pagesDone: number;
  pages: number;
}

/**
 * The swap of phase 5, and the tables of before it.
 *
 * @public
 */
export interface SwapStatus {
  swapped: boolean;
  /** `null` also where the swap was not recorded, because its command was killed. */
  swappedAt: Date | null;
  oldTables: string[];
  /** From when on `cleanup` drops the old tables without `--force`. */
  cleanupFrom: Date | null;
}

/**
 * Something temporary, or unfinished, that a later command is expected to remove.
 *
 * @public
 */
export interface Leftover {
  kind:
    | 'temporary index'
    | 'invalid index'
    | 'constraint not validated'
    | 'table';
  name: string;
  table: string;
}

/**
 * Where the migration of a schema stands.
 *
 * @public
 */
export interface StatusReport {
  schema: string;
  /** The last phase that is complete, 0 before the first. */
  phase: PhaseNumber | 0;
  /** The phase that has begun and is not complete. */
  phaseBegun: PhaseNumber | null;
  steps: StepStatus[];
  /** What comes next, and the command for it. */
  next: { what: string; command: string | null };
  operator: Operator | null;
  tables: TableStatus[];
  work: WorkStatus[];
  swap: SwapStatus;
  changeLog: { rows: number; bytes: number } | null;
  leftovers: Leftover[];
}
