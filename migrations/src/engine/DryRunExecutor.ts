import { MigrationSession } from '../session/MigrationSession';
import { SET_OWNER_ROLE } from '../session/ownerRole';
import { lockStatements } from './Executor';
import type { BriefTransaction, Executor, Work } from './Executor';
import type { MigrationSettings } from './Step';

/**
 * Prints what steps ask for, each statement followed by an empty line. It reads
 * in a transaction that PostgreSQL itself keeps from writing.
 */
export class DryRunExecutor implements Executor {
  static async create(
    session: MigrationSession,
    settings: Pick<MigrationSettings, 'schema' | 'lockTimeoutMs'>,
    print: (text: string) => void,
    actsAsOwner: boolean,
  ): Promise<DryRunExecutor> {
    await session.query('begin transaction read only');
    return new DryRunExecutor(session, settings, print, actsAsOwner);
  }

  readonly dryRun = true;

  private hasPrinted = false;

  private constructor(
    private readonly session: MigrationSession,
    private readonly settings: Pick<
      MigrationSettings,
      'schema' | 'lockTimeoutMs'
    >,
    private readonly print: (text: string) => void,
    private readonly actsAsOwner: boolean,
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
    lockStatements(transaction, this.settings.lockTimeoutMs).forEach(
      statement => this.printStatement(statement),
    );
    statements.forEach(statement => this.printStatement(statement));
    this.printStatement('commit');
  }

  async work({ title, script }: Work): Promise<void> {
    this.comment(title);
    script.forEach(statement => this.printStatement(statement));
  }

  private comment(text: string): void {
    this.printPreamble();
    this.print(`${text.replace(/^/gm, '-- ')}\n`);
  }

  private printStatement(statement: string): void {
    this.printPreamble();
    // An empty line is the end of a statement to whoever splits the script.
    this.print(`${statement.trim().replace(/\n\s*\n/g, '\n')};\n\n`);
  }

  /** The script runs in a session that has none of our settings. */
  private printPreamble(): void {
    if (!this.hasPrinted) {
      this.hasPrinted = true;
      this.printStatement(MigrationSession.settings(this.settings.schema));
      if (this.actsAsOwner) {
        this.printStatement(SET_OWNER_ROLE);
      }
    }
  }
}
