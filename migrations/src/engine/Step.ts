import type { ClientConfig } from 'pg';
import type { LockMode } from '../session/lockRetries';
import type { MigrationSession } from '../session/MigrationSession';
import type { Executor } from './Executor';
import type { MigrationState } from './MigrationState';
import type { Reporter } from '../Reporter';

/** The operator's settings. */
export interface MigrationSettings {
  /** The schema of the tables. */
  schema: string;
  /** Up to how long, in milliseconds, a request for a lock may hold up the application. */
  maxPauseMs: number;
  /** Rows of a batch. */
  batchSize: number;
  /** `tenant_name` of the default tenant. */
  defaultTenantName: string;
  /** Whether `portal_admin` is granted to `portal_app` (specification, B). */
  adminGrant: boolean;
  /** Goes on where a step would otherwise refuse because of a possible loss. */
  force: boolean;
  /** The schema of the stock catalog's tables, if more than one has such tables. */
  catalogSchema?: string;
  /** How the smoke tests of phase 6 reach the application. */
  cutover?: {
    /** Such as `https://portal.example.com`. */
    baseUrl: string;
    /** Goes into the header `Authorization`, and is never shown. */
    token?: string;
  };
}

export interface StepContext {
  readonly executor: Executor;
  readonly state: MigrationState;
  readonly settings: MigrationSettings;
  readonly reporter: Reporter;
  /** The process of the server that answered when the session was opened. */
  readonly serverPid?: number;
  /** How the login connects to a database of the server. */
  connectionTo(database: string): ClientConfig;
  /** Opens another session for the command, which the caller closes. */
  openSession(connection: ClientConfig): Promise<MigrationSession>;
}

/**
 * One step of a phase. Both directions can be repeated: a command that is killed
 * in the middle of a step begins that step again.
 */
export interface Step {
  /** Recorded in the database once done; sorts by phase and order. */
  name: string;
  /** A description in the imperative. */
  title: string;
  /**
   * The relations, and functions by their signatures, that it creates or that its undo drops.
   * Their names must be free before the first phase begins, and each transaction records what it
   * has created. What belongs to a table in use is the business of the rules of the shape.
   */
  creates?: readonly string[];
  /**
   * It changes tables that a catalog is using: where the phases create the tables, it is recorded
   * and does nothing.
   */
  live?: true;
  /** Tables that its undo deletes rows of. */
  empties?: readonly string[];
  up(context: StepContext): Promise<void>;
  /** Refuses an undo that reaches it, before that changes anything. */
  refuseUndo?(context: StepContext): Promise<void>;
  /** Where an undo has anything to do. */
  down?(context: StepContext): Promise<void>;
}

/**
 * A migration of this product's own tables, which no phase of the specification knows. It is
 * one transaction, in which it is recorded too: it is done, or nothing of it is.
 */
export interface ProductMigration {
  /** Recorded in the database; begins with its number. */
  name: string;
  /** A description in the imperative. */
  title: string;
  /** Which locks it takes, for how long, and why that is safe. */
  locks: string;
  /** The tables in use that it locks; in ACCESS EXCLUSIVE mode unless `mode` says another. */
  tables?: readonly string[];
  mode?: LockMode;
  sql: string;
  /** What it creates: the way back drops that, and its names must be free before. */
  creates: CreatedByProduct;
}

interface ProductTable {
  /** Whether the application may read it. */
  read: boolean;
  /** Whether row-level security shows it the rows of the tenant that is set alone. */
  policy?: boolean;
  /** Whether people have made its rows, which are nowhere else: the way back says so. */
  kept?: boolean;
}

interface CreatedByProduct {
  /** The owner is portal_admin, the key `<table>_pkey`. */
  tables?: Readonly<Record<string, ProductTable>>;
  /** Indexes beside the primary keys. */
  indexes?: readonly string[];
  /** Columns of tables that another one creates. */
  columns?: Readonly<Record<string, readonly string[]>>;
}

/**
 * A phase of the specification's table.
 *
 * @public
 */
export type PhaseNumber = 1 | 2 | 3 | 4 | 5 | 6;

/** A phase of the specification's table. */
export interface Phase {
  number: PhaseNumber;
  title: string;
  /** Throws if a precondition of the phase does not hold. */
  check?(context: StepContext): Promise<void>;
  /** The same for the tables of a catalog; none are there where the phases create them. */
  checkTables?(context: StepContext): Promise<void>;
  /**
   * Its steps only check, and change no table: the phase runs each time it is requested. A
   * failure keeps the record of an earlier success.
   */
  repeats?: boolean;
  steps: Step[];
  /**
   * The product's own tables: the phase runs those that are missing before its steps, also once
   * it is complete, and they are undone with its first step.
   */
  productMigrations?: readonly ProductMigration[];
}
