import { lockStatements, withLockRetries } from '../session/lockRetries';
import type { MigrationSession } from '../session/MigrationSession';
import type { BriefTransaction, StepExecutor, Work } from './Executor';
import type { Reporter } from '../Reporter';
import type { MigrationSettings, Step } from './Step';

/** Runs the statements of steps. */
export class LiveExecutor implements StepExecutor {
  readonly dryRun = false;

  constructor(
    private readonly session: MigrationSession,
    private readonly settings: Pick<MigrationSettings, 'maxPauseMs'>,
    private readonly reporter: Reporter,
  ) {}

  read<Row>(sql: string, values?: unknown[]): Promise<Row[]> {
    return this.session.query<Row>(sql, values);
  }

  async execute(statement: string): Promise<void> {
    await this.session.query(statement);
  }

  async transaction(transaction: BriefTransaction): Promise<void> {
    const { session, reporter } = this;
    const { maxPauseMs } = this.settings;
    await withLockRetries(
      { ...transaction, session, reporter, maxPauseMs },
      async timeoutMs => {
        // In one message: no round trip while locks are held.
        const text = [
          'begin',
          ...lockStatements(transaction, timeoutMs),
          ...transaction.statements,
          'commit',
        ].join(';\n');
        try {
          await session.query(text);
        } catch (error) {
          await session.rollback();
          throw error;
        }
      },
    );
  }

  async work({ run }: Work): Promise<void> {
    await run(this.session);
  }

  announce({ title }: Step, direction: 'up' | 'down' | 'begun'): void {
    if (direction !== 'begun') {
      this.reporter.info(direction === 'up' ? title : `Undo: ${title}`);
    }
  }
}
