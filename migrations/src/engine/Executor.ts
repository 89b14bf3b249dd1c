import type { TableLocks } from '../session/lockRetries';
import type { MigrationSession } from '../session/MigrationSession';

/** A short transaction. */
export interface BriefTransaction extends TableLocks {
  /** For the log: `Add the column tenant_id`. */
  title: string;
  /**
   * Which locks it takes, for how long, and why that is safe. Printed in front of
   * the statements of a dry run.
   */
  locks: string;
  statements: string[];
  /** For how long it retries for its locks; 10 minutes by default. */
  patienceMs?: number;
}

/** Work that is more than a list of statements. */
export interface Work {
  title: string;
  /** What a dry run prints: its statements, and of a batch one with its bounds as a comment. */
  script: string[];
  run(session: MigrationSession): Promise<void>;
}

/**
 * The access of steps to the database. A dry run prints changing statements, and its steps
 * read in a READ ONLY transaction.
 */
export interface Executor {
  readonly dryRun: boolean;
  /** Rows of a query that changes nothing. */
  read<Row = Record<string, unknown>>(
    sql: string,
    values?: unknown[],
  ): Promise<Row[]>;
  /**
   * Runs a statement outside of a transaction and without a timeout. It must block no reader
   * and no writer, such as CREATE INDEX CONCURRENTLY.
   */
  execute(statement: string): Promise<void>;
  /**
   * Runs statements in one transaction, which it repeats after each lock timeout.
   */
  transaction(transaction: BriefTransaction): Promise<void>;
  /** Runs work in batches of separate transactions. */
  work(work: Work): Promise<void>;
}

/** An executor with the methods by which the engine runs steps in turn. */
export interface StepExecutor extends Executor {
  /** Says which step is done or undone next, or was begun and is undone. */
  announce(
    step: { name: string; title: string },
    direction: 'up' | 'down' | 'begun',
  ): void;
}
