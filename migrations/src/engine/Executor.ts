import { inTurn, lockTogether } from '../session/lockRetries';
import type { LockRequest } from '../session/lockRetries';
import type { MigrationSession } from '../session/MigrationSession';

/** A transaction that is meant to be short. */
export interface BriefTransaction {
  /** What it does, for the log: `Add the column tenant_id`. */
  title: string;
  /**
   * Which locks it takes, for how long, and why that is safe. Printed in front of
   * the statements of a dry run.
   */
  locks: string;
  /** The tables in use that it changes: see {@link lockStatements}. */
  tables?: readonly string[];
  statements: string[];
  /** For how long the locks are asked for, where that is not as usual. */
  patienceMs?: number;
}

// Longer than deadlock_timeout (a second, by default), after which PostgreSQL
// cancels an autovacuum that is in somebody's way.
const AUTOVACUUM_TIMEOUT_MS = 5000;

/**
 * The statements at the beginning of a brief transaction.
 *
 * An autovacuum may hold a table for hours and is only cancelled by a request that
 * waits for longer than we let writers wait. SHARE UPDATE EXCLUSIVE stops no
 * writer, so that it can be waited for, and keeps the next autovacuum out.
 *
 * Where the request may wait for longer, the tables are locked at once in the strongest
 * mode that a statement may ask for: a second request, for a stronger one, would wait
 * with the first lock in the hand.
 */
export function lockStatements(
  { tables = [] }: BriefTransaction,
  request: LockRequest,
): string[] {
  const autovacuum = [
    `set local lock_timeout = ${AUTOVACUUM_TIMEOUT_MS}`,
    `lock table ${tables.join(', ')} in share update exclusive mode`,
  ];
  return [
    ...(tables.length > 0 ? autovacuum : []),
    ...(tables.length > 0 && request.queueMs > request.timeoutMs
      ? [lockTogether(inTurn(tables, request.turn), request)]
      : []),
    `set local lock_timeout = ${request.timeoutMs}`,
  ];
}

/** Work that is more than a list of statements. */
export interface Work {
  title: string;
  /** What a dry run prints: statements that come to the same. */
  script: string[];
  run(session: MigrationSession): Promise<void>;
}

/**
 * How steps reach the database. In a dry run what changes something is printed,
 * and the transaction that steps read in refuses to write.
 */
export interface Executor {
  readonly dryRun: boolean;
  /** Rows of a query that changes nothing. */
  read<Row = Record<string, unknown>>(
    sql: string,
    values?: unknown[],
  ): Promise<Row[]>;
  /**
   * Runs a statement by itself, for as long as it takes: one that blocks no
   * reader and no writer, such as CREATE INDEX CONCURRENTLY.
   */
  execute(statement: string): Promise<void>;
  /**
   * Runs statements in one transaction that gives up waiting for a lock after the
   * lock timeout, and begins again.
   */
  transaction(transaction: BriefTransaction): Promise<void>;
  /** Runs work in batches, each with transactions of its own. */
  work(work: Work): Promise<void>;
}

/** An executor as the engine has it, which runs several steps in turn. */
export interface StepExecutor extends Executor {
  /** Runs steps, which a dry run prints behind an outline of them. */
  outlined(title: string, run: () => Promise<void>): Promise<void>;
  /** Says which step is done or undone next, or was begun and is undone. */
  announce(
    step: { name: string; title: string },
    direction: 'up' | 'down' | 'begun',
  ): void;
}
