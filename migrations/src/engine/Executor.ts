import type { Reporter } from '../Reporter';
import { lockStatements, withLockRetries } from '../session/lockRetries';
import type { TableLocks } from '../session/lockRetries';
import type { MigrationSession } from '../session/MigrationSession';

/** A short transaction. */
export interface BriefTransaction extends TableLocks {
  /** For the log: `Add the column tenant_id`. */
  title: string;
  /** Which locks it takes, for how long, and why that is safe. A dry run prints it. */
  locks: string;
  statements: string[];
  /** For how long it retries for its locks; 10 minutes by default. */
  patienceMs?: number;
}

/** Work that is more than a list of statements. */
interface Work {
  /** What it does, with its locks. */
  title: string;
  /** What a dry run prints: its statements, and of a loop one batch. */
  script: string[];
  run(): Promise<void>;
}

/**
 * The access of steps to the database. In a dry run it reads, and prints what changes
 * something.
 */
export interface Executor {
  readonly dryRun: boolean;
  /** For work in batches of separate transactions. */
  readonly session: MigrationSession;
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
  /** Runs work that uses {@link session}. */
  work(work: Work): Promise<void>;
}

/** Lets a session read as an executor does. */
export function readerOf(
  session: Pick<MigrationSession, 'query'>,
): Pick<Executor, 'read'> {
  return { read: (sql, values) => session.query(sql, values) };
}

/** The executor of a session. */
export function executorOf(
  session: MigrationSession,
  settings: { maxPauseMs: number },
  reporter: Reporter,
): Executor {
  return {
    dryRun: false,
    session,
    ...readerOf(session),
    async execute(statement) {
      await session.query(statement);
    },
    async transaction(transaction) {
      const context = { executor: { session }, reporter, settings };
      await withLockRetries(context, transaction, timeoutMs =>
        session.queryAtOnce([
          'begin',
          ...lockStatements(transaction, timeoutMs),
          ...transaction.statements,
          'commit',
        ]),
      );
    },
    work: ({ run }) => run(),
  };
}
