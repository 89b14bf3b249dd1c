import type { StepContext } from '../engine/Step';
import type { TenantTable } from '../schema/tables';

/**
 * `warning` is for the operator to know, `failure` has to be put right first.
 *
 * @public
 */
export type FindingLevel = 'ok' | 'warning' | 'failure';

/**
 * What one check of the preflight has found.
 *
 * @public
 */
export interface Finding {
  /** The name of the check: `free disk`. */
  check: string;
  level: FindingLevel;
  message: string;
  /** What to do about it. */
  advice?: string;
  /** Statements that put it right, or that show more of it. */
  sql?: string;
  /** What was found, one by one; for `--json`. */
  details?: unknown[];
}

/** A finding, before it is known which check it is of. */
export type Outcome = Omit<Finding, 'check'>;

type More = Omit<Outcome, 'level' | 'message'>;

export function ok(message: string, more: More = {}): Outcome {
  return { level: 'ok', message, ...more };
}

export function warning(message: string, more: More = {}): Outcome {
  return { level: 'warning', message, ...more };
}

export function failure(message: string, more: More = {}): Outcome {
  return { level: 'failure', message, ...more };
}

/** What is known of one of the three tables. */
export interface TableFacts {
  name: TenantTable;
  oid: number;
  /** Its name as SQL, with the schema. */
  sql: string;
  /** As pg_class has it: `r` for an ordinary table. */
  kind: string;
  owner: string;
  /** Whether the login may read every row of it. */
  readable: boolean;
}

/** What many checks ask about, read once. */
export interface PreflightFacts {
  /** As `server_version_num` has it: 140005. */
  version: number;
  versionText: string;
  login: string;
  superuser: boolean;
  database: string;
  schemaExists: boolean;
  /** Those of the three that exist. */
  tables: TableFacts[];
  /** The last phase of which a step was done; 0 before any. */
  begunPhase: number;
  /** Whether the partitioned tables are in place. */
  swapped: boolean;
}

/**
 * What the operator tells the preflight.
 *
 * @public
 */
export interface PreflightOptions {
  /** Extensions that may be missing: `pg_cron` is the only one that can be. */
  allowMissing: string[];
  /** Whether the operator has confirmed that a backup was completed. */
  backupCompleted: boolean;
  /** Free space for the copy, where it can't be measured from here. */
  freeDiskBytes?: number;
  /** From which age on a transaction counts as long; 60 by default. */
  longTransactionSeconds?: number;
}

/** What a check works with. */
export interface PreflightContext extends StepContext {
  readonly options: PreflightOptions;
  readonly facts: PreflightFacts;
}

/** One thing that has to hold before a migration begins. */
export interface PreflightCheck {
  name: string;
  /**
   * What it looks at: the server, and so always; the tables as they are before
   * phase 5 has swapped them; or their rows, which the login must be able to read.
   */
  scope: 'server' | 'tables' | 'rows';
  /** What is said where nothing was found. */
  fine?: string;
  /** Whether `phases/obstacles.ts` has obstacles under this name, which come first. */
  obstacles?: boolean;
  /** Only reads, and needs no rights beyond those that its scope asks for. */
  run?(context: PreflightContext): Promise<Outcome[]>;
}
