import type { ClientConfig } from 'pg';
import { RefusedError } from '../errors';
import { phases } from '../phases';
import {
  applicationName,
  findOperator,
  takeHelperLock,
  takeOperatorLock,
} from '../session/operatorLock';
import type { Operator } from '../session/operatorLock';
import { MigrationSession } from '../session/MigrationSession';
import { actAsOwner } from '../session/ownerRole';
import { Bookkeeping, bookkeepingStatements } from './bookkeeping';
import {
  forgetStatement,
  readCompletedSteps,
  recordStatement,
} from './journal';
import { DryRunExecutor } from './DryRunExecutor';
import type { Executor } from './Executor';
import { LiveExecutor } from './LiveExecutor';
import { MigrationState } from './MigrationState';
import {
  refuseForeignRelations,
  refuseTakenNames,
  runOwned,
  undoBegun,
  undoOwned,
} from './ownership';
import { silentReporter } from '../Reporter';
import type { Reporter } from '../Reporter';
import type {
  MigrationSettings,
  Phase,
  PhaseNumber,
  Step,
  StepContext,
} from './Step';
import { operatorCommand } from '../operatorCommand';

export interface OpenOptions {
  connection: ClientConfig;
  /** The command, as other operators and `pg_stat_activity` see it. */
  command: string;
  settings: MigrationSettings;
  reporter?: Reporter;
  /**
   * `change` takes the operator's lock; `read` takes none; `dryRun` takes none
   * and hands the statements to `print`.
   */
  mode: 'change' | 'read' | 'dryRun';
  print?: (text: string) => void;
}

// Where an undo is remembered until it has come to its end.
const UNDO = 'undo';

const ALL_STEPS = phases.flatMap(({ steps }) => steps);

/** The migration of one schema, on one session. */
export class TenancyMigration {
  /**
   * @throws {@link OtherOperatorError} in mode `change`, if somebody is at work
   */
  static async open(options: OpenOptions): Promise<TenancyMigration> {
    const { connection, settings, mode, command } = options;
    const reporter = options.reporter ?? silentReporter;
    const name = applicationName(command);
    const session = await MigrationSession.open({
      connection,
      schema: settings.schema,
      applicationName: name,
    });
    try {
      if (mode === 'change') {
        await session.requireWritable();
        await takeOperatorLock(session, settings.schema);
      }
      const actsAsOwner = await actAsOwner(session, settings.schema);
      const script =
        mode === 'dryRun'
          ? await DryRunExecutor.create(
              session,
              settings,
              options.print ?? (() => undefined),
              actsAsOwner,
            )
          : undefined;
      const executor: Executor =
        script ?? new LiveExecutor(session, settings, reporter);
      const state = new MigrationState(executor);
      const { serverPid } = session;
      const sessions: [MigrationSession, ...MigrationSession[]] = [session];
      const context: StepContext = {
        executor,
        state,
        settings,
        reporter,
        serverPid,
        openSession: async () => {
          const helper = await openHelper(connection, settings.schema, name);
          sessions.push(helper);
          return helper;
        },
      };
      return new TenancyMigration(
        sessions,
        { connection, name },
        context,
        script,
      );
    } catch (error) {
      await session.close();
      throw error;
    }
  }

  private constructor(
    private readonly sessions: [MigrationSession, ...MigrationSession[]],
    private readonly login: { connection: ClientConfig; name: string },
    readonly context: StepContext,
    /** What a dry run prints with; it is the executor as well. */
    private readonly script: DryRunExecutor | undefined,
  ) {}

  async close(): Promise<void> {
    await Promise.all(this.sessions.map(session => session.close()));
  }

  /**
   * Has the queries of all sessions fail with an error from now on, until it is called
   * without one.
   *
   * @param except - a session of `openSession` that goes on
   * @returns the processes of the server whose statements are to be cancelled
   */
  interrupt(error: Error | undefined, except?: MigrationSession): number[] {
    return this.sessions
      .filter(session => session !== except)
      .flatMap(session => session.interrupt(error) ?? []);
  }

  /** Whoever else works on the schema. */
  async operator(): Promise<Operator | undefined> {
    return findOperator(this.sessions[0], this.context.settings.schema);
  }

  /** The names of the steps that are done. */
  async completedSteps(): Promise<string[]> {
    return readCompletedSteps(this.context.executor);
  }

  /** The last phase whose steps are all done; 0 before the first. */
  async completedPhase(): Promise<PhaseNumber | 0> {
    const completed = await this.completedSteps();
    let last: PhaseNumber | 0 = 0;
    for (const phase of phases) {
      if (phase.steps.some(step => !completed.includes(step.name))) {
        break;
      }
      last = phase.number;
    }
    return last;
  }

  /**
   * Runs what is left of one phase, or all of one that repeats.
   *
   * @param onBegin - is called once nothing refuses the phase
   * @returns whether there was anything to do
   * @throws {@link RefusedError} if the phase before it is not complete
   */
  async runPhase(
    number: PhaseNumber,
    onBegin?: (phase: Phase) => void,
  ): Promise<boolean> {
    const completed = await this.completedPhase();
    await this.giveUpUndo();
    const phase = phaseOf(number);
    if (completed >= number && !phase.repeats) {
      return false;
    }
    if (completed < number - 1) {
      throw new RefusedError(
        `Phase ${number} needs phase ${
          number - 1
        }, and phase ${completed} is the ` +
          `last that is complete. Run "${operatorCommand(
            `phase${completed + 1}`,
          )}".`,
      );
    }
    await refuseTakenNames(this.context, ALL_STEPS, phase.steps);
    await phase.check?.(this.context);
    onBegin?.(phase);
    if (completed >= number) {
      for (const step of phase.steps) {
        await step.up(this.context);
      }
      return true;
    }
    // A later phase is done already where a step was added to this one since.
    const done = await this.completedSteps();
    const steps = phases.flatMap(each =>
      each.steps.filter(
        ({ name }) => each.number <= number || done.includes(name),
      ),
    );
    const { script } = this;
    await (script
      ? script.outlined(`Phase ${number}, ${phase.title}`, () =>
          this.printUp(script, phase.steps),
        )
      : this.withBookkeeping(bookkeeping => bookkeeping.up(steps)));
    return true;
  }

  /**
   * Undoes steps, the last first, until only those are done that come before the
   * step `first`. One that was begun and killed is not recorded: what it may have
   * done is undone as well.
   */
  async undoFrom(first: Step): Promise<void> {
    const completed = await this.completedSteps();
    const later = ALL_STEPS.slice(ALL_STEPS.indexOf(first));
    const undone = later
      .filter(step => completed.includes(step.name))
      .reverse();
    const begun = later.find(step => !completed.includes(step.name));
    await refuseForeignRelations(this.context, ALL_STEPS, undone);
    for (const { steps, checkUndo } of phases) {
      if (undone.includes(steps[0])) {
        await checkUndo?.(this.context);
      }
    }
    const { script } = this;
    if (script) {
      await script.outlined('The way back, the last step first', async () => {
        if (begun) {
          script.step(`${begun.name} has not been done: ${begun.title}`);
        }
        await this.undoBegun(begun);
        await this.printDown(script, undone);
      });
      return;
    }
    await this.withBookkeeping(async bookkeeping => {
      const { executor, state } = this.context;
      await executor.execute(state.put(UNDO, first.name));
      await this.undoBegun(begun);
      for (let count = 0; count < undone.length; count += 1) {
        await bookkeeping.down(ALL_STEPS);
      }
      await executor.execute(state.forget(UNDO));
    });
  }

  /** The step from which an undo was begun that has not come to its end. */
  async unfinishedUndo(): Promise<Step | undefined> {
    const name = await this.context.state.get<string>(UNDO);
    return ALL_STEPS.find(step => step.name === name);
  }

  /** Whoever goes forward again does not want to come to the end of it. */
  private async giveUpUndo(): Promise<void> {
    const { executor, state } = this.context;
    if (!executor.dryRun && (await this.unfinishedUndo())) {
      await executor.execute(state.forget(UNDO));
    }
  }

  private async withBookkeeping(
    use: (bookkeeping: Bookkeeping) => Promise<void>,
  ): Promise<void> {
    const { executor, settings } = this.context;
    for (const statement of bookkeepingStatements(settings.schema)) {
      await executor.execute(statement);
    }
    const { connection, name } = this.login;
    const bookkeeping = await Bookkeeping.open(
      connection,
      name,
      this.context,
      ALL_STEPS,
    );
    try {
      await use(bookkeeping);
    } finally {
      await bookkeeping.close();
    }
  }

  private async printUp(script: DryRunExecutor, steps: Step[]): Promise<void> {
    const { executor, settings } = this.context;
    const completed = await this.completedSteps();
    for (const statement of bookkeepingStatements(settings.schema)) {
      await executor.execute(statement);
    }
    for (const step of steps.filter(({ name }) => !completed.includes(name))) {
      script.step(`${step.name}: ${step.title}`);
      await runOwned(this.context, ALL_STEPS, step);
      await executor.execute(recordStatement(step));
    }
  }

  private async printDown(
    script: DryRunExecutor,
    steps: Step[],
  ): Promise<void> {
    for (const step of steps) {
      script.step(`Undo ${step.name}: ${step.title}`);
      await this.context.executor.execute(forgetStatement(step));
      await undoOwned(this.context, step);
    }
  }

  private async undoBegun(step: Step | undefined): Promise<void> {
    if (step) {
      await undoBegun(this.context, ALL_STEPS, step);
    }
  }
}

/** A session beside that of the operator, with the same rights. */
async function openHelper(
  connection: ClientConfig,
  schema: string,
  name: string,
): Promise<MigrationSession> {
  const session = await MigrationSession.open({
    connection,
    schema,
    applicationName: name,
  });
  try {
    await takeHelperLock(session, schema);
    await actAsOwner(session, schema);
    return session;
  } catch (error) {
    await session.close();
    throw error;
  }
}

function phaseOf(number: PhaseNumber): Phase {
  return phases[number - 1];
}
