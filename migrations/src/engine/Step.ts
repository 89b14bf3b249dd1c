import type { MigrationSession } from '../session/MigrationSession';
import type { Executor } from './Executor';
import type { MigrationState } from './MigrationState';
import type { Reporter } from '../Reporter';

/** What the operator has chosen. */
export interface MigrationSettings {
  /** The schema of the tables. */
  schema: string;
  /** For how long, in milliseconds, a request for a lock may hold up writers. */
  lockTimeoutMs: number;
  /**
   * For how long, in milliseconds, such requests may hold up the application at most,
   * where those of `lockTimeoutMs` are not granted. Without it none is longer.
   */
  maxPauseMs?: number;
  /** Rows of a batch. */
  batchSize: number;
  /** `tenant_name` of the default tenant. */
  defaultTenantName: string;
  /** Whether `portal_admin` is granted to `portal_app` (specification, B). */
  adminGrant: boolean;
  /** Goes on where a step would refuse because of what may be lost or broken. */
  force: boolean;
  /** The schema of the stock catalog's own tables, where it has to be told. */
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
  /**
   * Opens one more session, for work that runs beside that of the first. The caller
   * closes it. No other command begins before it has ended.
   */
  openSession(): Promise<MigrationSession>;
}

/**
 * Something that a step creates, under a name that may be taken by somebody else.
 *
 * A relation is a table, an index or a sequence; a function is named by its
 * signature. Columns, constraints, triggers and policies belong to a table, whose
 * name is SQL.
 */
export type Creation =
  | { kind: 'relation' | 'function'; name: string }
  | {
      kind: 'column' | 'constraint' | 'trigger' | 'policy';
      name: string;
      table: string;
    };

/**
 * One step of a phase. Both directions can be repeated: a command that is killed
 * in the middle of a step begins that step again.
 */
export interface Step {
  /** Recorded in the database once done; sorts by phase and order. */
  name: string;
  /** What it does, in the imperative. */
  title: string;
  /**
   * It was added to a phase that databases have begun, or completed, without it: steps
   * behind it may be done although it is not.
   */
  isAddition?: boolean;
  /**
   * All that it creates, or that its undo drops: names that must be free before it
   * begins. A step that creates nothing with a name has none.
   */
  creates?(context: StepContext): Creation[] | Promise<Creation[]>;
  up(context: StepContext): Promise<void>;
  down(context: StepContext): Promise<void>;
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
  /** Refuses the phase where a condition of it does not hold. */
  check?(context: StepContext): Promise<void>;
  /**
   * It changes nothing of the database and only checks: a phase that is complete is
   * run again whenever it is asked for. Its record stays whatever comes out.
   */
  repeats?: boolean;
  /** Refuses to undo the phase as a whole where something would be lost. */
  checkUndo?(context: StepContext): Promise<void>;
  steps: Step[];
}
