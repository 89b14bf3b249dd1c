import { lockStatements } from '../session/lockRetries';
import { MigrationSession } from '../session/MigrationSession';
import { SET_OWNER_ROLE } from '../session/ownerRole';
import type { BriefTransaction, StepExecutor, Work } from './Executor';
import type { MigrationSettings, Step } from './Step';

type ScriptSettings = Pick<MigrationSettings, 'schema' | 'maxPauseMs'>;

// psql ends at \quit, and other clients fail: batches that are missing would be lost rows.
const HEAD = `-- What the command would run, to be read: a batch stands here once.
\\quit

`;

/**
 * Prints the statements of steps, each followed by an empty line. It reads in a READ ONLY
 * transaction, in which PostgreSQL refuses writes.
 */
export class DryRunExecutor implements StepExecutor {
  readonly dryRun = true;

  private hasPrinted = false;

  /** @param session - in a READ ONLY transaction */
  constructor(
    private readonly session: MigrationSession,
    private readonly settings: ScriptSettings,
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
    lockStatements(transaction, this.settings.maxPauseMs).forEach(statement =>
      this.printStatement(statement),
    );
    statements.forEach(statement => this.printStatement(statement));
    this.printStatement('commit');
  }

  async work({ title, script }: Work): Promise<void> {
    this.comment(title);
    script.forEach(statement => this.printStatement(statement));
  }

  announce({ name, title }: Step, direction: 'up' | 'down' | 'begun'): void {
    const what = {
      up: 'Step',
      down: 'Undo of the step',
      begun: 'What may be there of the step',
    }[direction];
    this.comment(`${what} ${name}: ${title}`);
  }

  private comment(text: string): void {
    this.printHead();
    this.print(`${text.replace(/^/gm, '-- ')}\n`);
  }

  private printStatement(statement: string): void {
    this.printHead();
    this.print(`${statement.trim().replace(/\n\s*\n/g, '\n')};\n\n`);
  }

  private printHead(): void {
    if (!this.hasPrinted) {
      this.hasPrinted = true;
      this.print(HEAD);
      this.printStatement(MigrationSession.settings(this.settings.schema));
      if (this.actsAsOwner) {
        this.printStatement(SET_OWNER_ROLE);
      }
    }
  }
}
