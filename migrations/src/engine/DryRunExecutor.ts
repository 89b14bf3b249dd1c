import type { MigrationSession } from '../session/MigrationSession';
import type { BriefTransaction, Executor, Work } from './Executor';

/**
 * Prints what steps ask for, each statement followed by an empty line. It reads
 * in a transaction that PostgreSQL itself keeps from writing.
 */
export class DryRunExecutor implements Executor {
  static async create(
    session: MigrationSession,
    lockTimeoutMs: number,
    print: (text: string) => void,
  ): Promise<DryRunExecutor> {
    await session.query('begin transaction read only');
    return new DryRunExecutor(session, lockTimeoutMs, print);
  }

  readonly dryRun = true;

  private constructor(
    private readonly session: MigrationSession,
    private readonly lockTimeoutMs: number,
    private readonly print: (text: string) => void,
  ) {}

  read<Row>(sql: string, values?: unknown[]): Promise<Row[]> {
    return this.session.query<Row>(sql, values);
  }

  async execute(statement: string): Promise<void> {
    this.printStatement(statement);
  }

  async transaction(transaction: BriefTransaction): Promise<void> {
    const { title, locks, statements } = transaction;
    this.comment(`${title}. ${locks}`);
    this.printStatement('begin');
    this.printStatement(`set local lock_timeout = ${this.lockTimeoutMs}`);
    statements.forEach(statement => this.printStatement(statement));
    this.printStatement('commit');
  }

  async work({ title, script }: Work): Promise<void> {
    this.comment(title);
    script.forEach(statement => this.printStatement(statement));
  }

  private comment(text: string): void {
    this.print(`${text.replace(/^/gm, '-- ')}\n`);
  }

  private printStatement(statement: string): void {
    // An empty line is the end of a statement to whoever splits the script.
    this.print(`${statement.trim().replace(/\n\s*\n/g, '\n')};\n\n`);
  }
}
