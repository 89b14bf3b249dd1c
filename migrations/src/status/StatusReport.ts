import type { DistributionStatus } from '../sharding/shards';
import type { AdoptedTenantStatus, AdoptionStatus } from '../adopt/status';
import type { PhaseNumber } from '../engine/Step';
import type { TenantRows } from '../rollback/losses';
import type { WayBack } from '../rollback/wayBack';
import type { Operator } from '../session/operatorLock';
import type { EnginesStatus } from './engines';

/** A step and, once it is done, when that was. */
export interface StepStatus {
  /** As it is recorded in the database. */
  name: string;
  /** A description in the imperative. */
  title: string;
  /** The phase that it belongs to. */
  phase: PhaseNumber;
  /** `null` while it is not done. */
  doneAt: Date | null;
}

/** A table, with numbers from PostgreSQL's statistics: rows are estimates. */
export interface TableStatus {
  /** Its name at this moment. */
  name: string;
  /** How many rows it holds, partitions included. */
  rows: number;
  /** With indexes, and with all partitions. */
  bytes: number;
  /** 0 for a table that is not partitioned. */
  partitions: number;
}

/** The swap of phase 5, and the tables of before it. */
export interface SwapStatus {
  /** Whether the partitioned tables are in use. */
  swapped: boolean;
  /** Whether a rollback has put the tables of before back, and kept the others. */
  undone: boolean;
  /** `null` also where the swap was not recorded, because its command was killed. */
  swappedAt: Date | null;
  /** The tables of before that are still there. */
  oldTables: string[];
  /** From when on `cleanup` drops the old tables without `--force`. */
  cleanupFrom: Date | null;
}

/** A partitioned table that is not in use, which a later command is expected to remove. */
export interface Leftover {
  name: string;
  /** What it holds of tenants for which the tables in use have no room. */
  otherTenants: TenantRows[];
}

/** Where the migration of a schema stands. */
export interface StatusReport {
  /** The schema that was looked at. */
  schema: string;
  /** The last phase that is complete, 0 before the first. */
  phase: PhaseNumber | 0;
  /** The phase that has begun and is not complete. */
  phaseBegun: PhaseNumber | null;
  /** Every step of every phase. */
  steps: StepStatus[];
  /** A rollback was begun and is not complete. */
  rollbackBegun: boolean;
  /** What comes next, and the command for it. */
  next: { what: string; command: string | null };
  /** The way back, and the command for it; `null` where there is none. */
  back: WayBack | null;
  /** The operator who works on the schema now. */
  operator: Operator | null;
  /** The tables of the tenants, in use or not. */
  tables: TableStatus[];
  /** How things stand with the swap. */
  swap: SwapStatus;
  /** The log of changes that wait to be replayed, where there is one. */
  changeLog: { rows: number; bytes: number } | null;
  /** The catalog whose entities are the default tenant's; `null` where there is none. */
  adoption: AdoptionStatus | null;
  /** The tenants with an adopted engine, the default one first. */
  adoptedTenants: AdoptedTenantStatus[];
  /** The engines of tenants; `null` where their tables can't be read. */
  engines: EnginesStatus | null;
  /** What is left to be removed. */
  leftovers: Leftover[];
  /** Where the rows of tenants are, if Citus has distributed the tables over nodes. */
  distribution: DistributionStatus | null;
}
