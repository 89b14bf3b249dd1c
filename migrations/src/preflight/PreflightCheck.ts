import type { StepContext } from '../engine/Step';
import type { TenantTable } from '../schema/tables';

/** What a check has found. A `failure` prevents the migration; a `warning` does not. */
export interface Finding {
  /** The name of the check: `free disk`. */
  check: string;
  level: 'ok' | 'warning' | 'failure';
  /** Empty for most of what is well. */
  message: string;
  /** How to resolve it. */
  advice?: string;
  /** Statements that resolve it, or that show more of it. */
  sql?: string;
  /** Statements that make again after phase 5 what was dropped. */
  again?: string;
  /** The single objects or rows; for `--json`. */
  details?: unknown[];
}

/** A finding without the name of its check. */
export type Outcome = Omit<Finding, 'check'>;

type More = Omit<Outcome, 'level' | 'message'>;

export function ok(message = ''): Outcome {
  return { level: 'ok', message };
}

export function warning(message: string, more: More = {}): Outcome {
  return { level: 'warning', message, ...more };
}

export function failure(message: string, more: More = {}): Outcome {
  return { level: 'failure', message, ...more };
}

/** One of the three tables. */
export interface TableFacts {
  name: TenantTable;
  oid: number;
  /** Its name as SQL, with the schema. */
  sql: string;
  /** `pg_class.relkind`: `r` for an ordinary table. */
  kind: string;
  /** Whether the login may read every row of it. */
  readable: boolean;
}

/** What several checks look at, read once. */
export interface PreflightFacts {
  schemaExists: boolean;
  /** Those of the three that exist. */
  tables: TableFacts[];
  /** The last phase with a completed step; 0 before any. */
  begunPhase: number;
  /** Whether the partitioned tables are in place. */
  swapped: boolean;
}

/** The operator's options for the preflight. */
export interface PreflightOptions {
  /** Whether the operator has confirmed that a backup was completed. */
  backupCompleted: boolean;
}

/** The context of a check. */
export interface PreflightContext extends StepContext {
  readonly options: PreflightOptions;
  readonly facts: PreflightFacts;
}

/** A check before a migration begins. */
export interface PreflightCheck {
  name: string;
  /**
   * Whether it examines the server, at any time; the tables, until phase 5 has swapped them;
   * or their rows as well, which the login must be able to read.
   */
  scope: 'server' | 'tables' | 'rows';
  /** Only reads, with the rights that its scope requires. */
  run(context: PreflightContext): Promise<Outcome[]>;
}
