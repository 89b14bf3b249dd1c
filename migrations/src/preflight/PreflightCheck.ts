import type { StepContext } from '../engine/Step';
import type { TableFacts } from '../schema/tableFacts';

/** What a check has found. A `failure` prevents the migration; a `warning` does not. */
export interface Outcome {
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

export interface Finding extends Outcome {
  /** The name of the check: `free disk`. */
  check: string;
}

/** The context of a check, with what several of them look at. */
export interface PreflightContext extends StepContext {
  readonly schemaExists: boolean;
  /** Those of the three tables that exist. */
  readonly tables: TableFacts[];
  /** Whether a step of the migration is done. */
  readonly begun: boolean;
  /** Whether the partitioned tables are in place. */
  readonly swapped: boolean;
  /** Whether the operator has confirmed that a backup was completed. */
  readonly backupCompleted: boolean;
}

/** A check before a migration begins. */
export interface PreflightCheck {
  name: string;
  /** Whether it examines the server, at any time, or the tables, until phase 5 has swapped them. */
  scope: 'server' | 'tables';
  /** Only reads, with the rights that its scope requires. Nothing is well, as far as it tells. */
  run(context: PreflightContext): Promise<Outcome[]>;
}
