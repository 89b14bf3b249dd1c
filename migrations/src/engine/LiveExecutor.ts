import { lockStatements, withLockRetries } from '../session/lockRetries';
import type { MigrationSession } from '../session/MigrationSession';
import type { BriefTransaction, StepExecutor, Work } from './Executor';
import {
  explainDuplicate,
  recordStatement,
  refuseStatement,
} from './ownership';
import type { Reporter } from '../Reporter';
import type { Creation, MigrationSettings, Step, StepContext } from './Step';

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

/**
 * The context in which each transaction fails unless the names of creations are free or
 * ours, and records what it creates.
 */
export function recording(
  context: StepContext,
  creations: Creation[],
): StepContext {
  const { executor } = context;
  if (executor.dryRun || creations.length === 0) {
    return context;
  }
  const check = refuseStatement(creations);
  const record = recordStatement(creations);
  const explained = (work: Promise<void>) =>
    work.catch(error => {
      throw explainDuplicate(error);
    });
  return {
    ...context,
    executor: {
      dryRun: false,
      read: (sql, values) => executor.read(sql, values),
      work: work => explained(executor.work(work)),
      execute: statement =>
        explained(
          executor.execute(check).then(() => executor.execute(statement)),
        ),
      transaction: transaction =>
        explained(
          executor.transaction({
            ...transaction,
            statements: [check, ...transaction.statements, record],
          }),
        ),
    },
  };
}
