import { withLockRetries } from '../session/lockRetries';
import type { MigrationSession } from '../session/MigrationSession';
import { lockStatements } from './Executor';
import type { BriefTransaction, StepExecutor, Work } from './Executor';
import type { Reporter } from '../Reporter';
import type { MigrationSettings, Step } from './Step';

/** Runs the statements of steps. */
export class LiveExecutor implements StepExecutor {
  readonly dryRun = false;

  constructor(
    private readonly session: MigrationSession,
    private readonly settings: Pick<
      MigrationSettings,
      'lockTimeoutMs' | 'maxPauseMs'
    >,
    private readonly reporter: Reporter,
  ) {}

  read<Row>(sql: string, values?: unknown[]): Promise<Row[]> {
    return this.session.query<Row>(sql, values);
  }

  async execute(statement: string): Promise<void> {
    await this.session.query(statement);
  }

  async transaction(transaction: BriefTransaction): Promise<void> {
    const { title, tables = [], statements, patienceMs } = transaction;
    const { lockTimeoutMs, maxPauseMs } = this.settings;
    await withLockRetries(
      {
        title,
        session: this.session,
        reporter: this.reporter,
        lockTimeoutMs,
        queues: tables.length > 0,
        maxPauseMs,
        patienceMs,
      },
      async request => {
        // In one message: no round trip while locks are held.
        const text = [
          'begin',
          ...lockStatements(transaction, request),
          ...statements,
          'commit',
        ].join(';\n');
        try {
          await this.session.query(text);
        } catch (error) {
          await this.session.rollback();
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
