import type { ClientConfig } from 'pg';
import { requireRegistry } from '../adopt/engine';
import { refuseRules } from '../checks/Rule';
import { writable } from '../checks/server';
import { RefusedError } from '../errors';
import {
  applicationName,
  findOperator,
  takeOperatorLock,
} from '../session/operatorLock';
import type { Operator } from '../session/operatorLock';
import { MigrationSession } from '../session/MigrationSession';
import { actAsOwner } from '../session/ownerRole';
import {
  bookkeepingStatements,
  foreignBookkeeping,
  forgetStatement,
  Journal,
  recordStatement,
} from './journal';
import { asComment, dryRunExecutor, printWithHead } from './dryRunExecutor';
import { executorOf, readerOf } from './Executor';
import { MigrationState } from './MigrationState';
import {
  recordedBy,
  recordedOf,
  runProductMigration,
  undoProductMigrations,
} from './ProductMigration';
import {
  creationsOf,
  FORGET_CREATED,
  foreignNames,
  hasCreated,
  recording,
  recordStatement as recordCreations,
  refuseTaken,
  renewRecord,
  takenNames,
} from './ownership';
import { silentReporter } from '../Reporter';
import type { Reporter } from '../Reporter';
import type {
  MigrationSettings,
  Phase,
  PhaseNumber,
  ProductMigration,
  Step,
  StepContext,
} from './Step';
import { operatorCommand } from '../operatorCommand';
import {
  CREATED,
  readCreatedCatalog,
  refuseWhileDropping,
} from '../schema/createdCatalog';
import type { CreatedCatalog } from '../schema/createdCatalog';
import { refuseDependentsOf } from '../schema/dependents';

export interface OpenOptions {
  connection: ClientConfig;
  /** The command, for other operators and `pg_stat_activity`. */
  command: string;
  /** All of them, in their order. */
  phases: readonly Phase[];
  settings: MigrationSettings;
  reporter?: Reporter;
  /**
   * `change` takes the operator's lock; `read` takes none; `dryRun` takes none, and prints the
   * statements.
   */
  mode: 'change' | 'read' | 'dryRun';
  /** Prints statements of a dry run, or a comment. */
  print?: (text: string) => void;
}

/** The phases up to this one build the tables of tenants. */
export const LAST_BEFORE_CUTOVER = 5;

// The state key of an undo that is not complete.
const UNDO = 'undo';

/** The migration of one schema, on one session. */
export class TenancyMigration {
  /**
   * @throws {@link OtherOperatorError} in mode `change`, if another operator is at work
   */
  static async open(options: OpenOptions): Promise<TenancyMigration> {
    const { connection, settings, mode, command } = options;
    const { reporter: given = silentReporter } = options;
    const print = printWithHead(options.print ?? (() => undefined));
    const dryRun = mode === 'dryRun';
    // The titles of the steps stand above their statements.
    const reporter = dryRun
      ? { ...given, info: (text: string) => print(asComment(text)) }
      : given;
    const sessions = new Set<MigrationSession>();
    const openSession = async (to: ClientConfig) => {
      const opened = await MigrationSession.open({
        connection: to,
        schema: settings.schema,
        applicationName: applicationName(command),
        sessions,
      });
      if (mode === 'change') {
        await refuseRules(
          { executor: executorOf(opened, settings, reporter), settings },
          'The command cannot change anything',
          [writable],
        ).catch(async error => {
          await opened.close();
          throw error;
        });
      }
      return opened;
    };
    const session = await openSession(connection);
    try {
      const executor = dryRun
        ? dryRunExecutor(session, settings, print)
        : executorOf(session, settings, reporter);
      if (mode === 'change') {
        await takeOperatorLock(session, settings.schema);
      }
      refuseTaken(await foreignBookkeeping(readerOf(session)));
      await actAsOwner(session, settings.schema);
      const context = {
        executor,
        state: new MigrationState(executor),
        settings,
        reporter,
        serverPid: session.serverPid,
        connectionTo: (database: string) => inDatabase(connection, database),
        openSession,
      };
      return new TenancyMigration(session, sessions, context, options);
    } catch (error) {
      await session.close();
      throw error;
    }
  }

  /** Whether {@link beginCreation} was called, which a dry run does not record. */
  private isCreating = false;

  private constructor(
    private readonly session: MigrationSession,
    private readonly sessions: ReadonlySet<MigrationSession>,
    readonly context: StepContext,
    private readonly options: Pick<OpenOptions, 'phases'>,
  ) {}

  /** Closes its sessions in other databases, too: what still uses them fails. */
  async close(): Promise<void> {
    await Promise.all([...this.sessions].map(each => each.close()));
  }

  /** Another operator who works on the schema. */
  async operator(): Promise<Operator | undefined> {
    return findOperator(this.session, this.context.settings.schema);
  }

  /** The names of the steps that are done. */
  async completedSteps(): Promise<string[]> {
    return [...(await this.readJournal()).completed];
  }

  /** The last phase whose steps are all done; 0 before the first. */
  async completedPhase(): Promise<PhaseNumber | 0> {
    const { phases } = this.options;
    const journal = await this.readJournal();
    const next = phases.findIndex(
      ({ steps }) => !steps.every(step => journal.isDone(step)),
    );
    return phases[(next < 0 ? phases.length : next) - 1]?.number ?? 0;
  }

  /**
   * Runs what is left of one phase, or all of one that repeats.
   *
   * @returns whether there was anything to do
   * @throws {@link RefusedError} if the phase before it is not complete
   */
  async runPhase(number: PhaseNumber): Promise<boolean> {
    const { context } = this;
    await refuseWhileDropping(context);
    const completed = await this.completedPhase();
    await this.giveUpUndo();
    const phase = this.options.phases[number - 1];
    const missing = await this.missingMigrations(phase);
    if (completed >= number && !phase.repeats && missing.length === 0) {
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
    const journal = await this.readJournal();
    refuseUnknownSteps(journal);
    refuseTaken(await takenNames(context, journal));
    const creates = await this.creates();
    await phase.check?.(context);
    if (!creates) {
      await phase.checkTables?.(context);
    }
    context.reporter.info(`Phase ${number}: ${phase.title}`);
    if (completed >= number && phase.repeats) {
      for (const step of phase.steps) {
        await step.up(context);
      }
      return true;
    }
    await this.createBookkeeping();
    await renewRecord(context, journal);
    for (const migration of missing) {
      context.reporter.info(migration.title);
      await runProductMigration(context, migration);
    }
    for (const step of phase.steps.filter(each => !journal.isDone(each))) {
      if (!(creates && step.live)) {
        context.reporter.info(step.title);
        await this.run(step);
      }
      await this.record(step);
    }
    return true;
  }

  /** Runs what is left of the phases up to one; in a dry run, of the first of them. */
  async runPhases(last: PhaseNumber): Promise<void> {
    const completed = await this.completedPhase();
    for (const { number } of this.options.phases) {
      if (number > completed && number <= last) {
        await this.runPhase(number);
        if (this.context.executor.dryRun) {
          return;
        }
      }
    }
  }

  /** Whether the phases create the tables of tenants, in place of changing those of a catalog. */
  async creates(): Promise<boolean> {
    return (
      this.isCreating || (await readCreatedCatalog(this.context)) !== undefined
    );
  }

  /** Lets the phases create the tables, and remembers that the way back drops them. */
  async beginCreation(created: CreatedCatalog): Promise<void> {
    const { executor, state, settings } = this.context;
    this.isCreating = true;
    await executor.transaction({
      title: 'Begin the record of the migration',
      locks: 'New tables, which no session uses yet.',
      statements: [
        ...bookkeepingStatements(settings.schema),
        state.put(CREATED, created),
      ],
    });
  }

  /** The phase that brings the product's own tables. */
  private get home(): Phase {
    return this.options.phases[LAST_BEFORE_CUTOVER - 1];
  }

  /** The migrations of the product's own tables that are not done. */
  private async missingMigrations({
    productMigrations = [],
  }: Phase): Promise<ProductMigration[]> {
    const journal = await this.readJournal();
    return productMigrations.filter(each => !journal.isDone(each));
  }

  /**
   * Whether a complete phase misses no migration of the product's own tables, and no creation of
   * tables was stopped.
   */
  async isUpToDate(): Promise<boolean> {
    return (await this.completedPhase()) < LAST_BEFORE_CUTOVER
      ? !(await this.creates())
      : (await this.missingMigrations(this.home)).length === 0;
  }

  /** @throws {@link RefusedError} unless there are tenants, and the tables of this version are in use */
  async requireProductTables(): Promise<void> {
    await requireRegistry(this.context);
    const completed = await this.completedPhase();
    // After a rollback these tables stay, and those in use have the default tenant alone.
    if (completed < this.home.number) {
      throw new RefusedError(
        `Phase ${this.home.number} is not complete, which brings the tables of tenants into use. Run ` +
          `"${operatorCommand(`phase${completed + 1}`)}".`,
      );
    }
    const [missing] = await this.missingMigrations(this.home);
    if (missing) {
      const [{ database }] = await this.context.executor.read<{
        database: string;
      }>('select current_database() as database');
      throw new RefusedError(
        `The database "${database}" lacks tables of this version, or columns. Run "${operatorCommand(
          'upgrade',
        )}" on it first.`,
      );
    }
  }

  /**
   * Brings the product's own tables up to date, where the phases before are complete, and goes on
   * with a creation of tables that was stopped.
   *
   * @returns the titles of what was missing
   * @throws {@link RefusedError} if such a phase is not complete
   */
  async upgrade(): Promise<string[]> {
    const { home } = this;
    const { executor } = this.context;
    if (await this.creates()) {
      await this.runPhases(home.number);
    }
    const missing = await this.missingMigrations(home);
    const completed = await this.completedPhase();
    if (
      missing.length === 0 ||
      // A dry run has printed the next phase of a creation.
      (completed < home.number && executor.dryRun && (await this.creates()))
    ) {
      return [];
    }
    if (completed < home.number) {
      throw new RefusedError(
        `Phase ${home.number} is not complete, which brings these tables. Run ` +
          `"${operatorCommand(`phase${completed + 1}`)}".`,
      );
    }
    await this.runPhase(home.number);
    return missing.map(({ title }) => title);
  }

  /**
   * Undoes `first` and all later steps, the last one first, and the product's own tables with
   * the first step of their phase. This includes a killed step, which the journal does not record.
   *
   * @param begin - called once nothing refuses the undo any more, and it is recorded as begun
   */
  async undoFrom(first: Step, begin?: () => Promise<void>): Promise<void> {
    const { context } = this;
    const { executor, state } = context;
    const { home, options } = this;
    const journal = await this.readJournal();
    const all = options.phases.flatMap(({ steps }) => steps);
    const later = all.slice(all.indexOf(first));
    const lastDone = later.map(step => journal.isDone(step)).lastIndexOf(true);
    // The step after the last completed one may have begun.
    const reached = later.slice(0, lastDone + 2).reverse();
    const undone = reached.filter(step => journal.isDone(step));
    const migrations = reached.includes(home.steps[0])
      ? (home.productMigrations ?? []).filter(each => journal.isDone(each))
      : [];
    const recorded = [...undone, ...migrations.map(recordedOf)];
    refuseUnknownSteps(journal);
    const created = creationsOf(recorded);
    refuseTaken(await foreignNames(context, journal, created));
    await refuseDependentsOf(
      executor,
      created,
      undone.flatMap(({ empties = [] }) => empties),
    );
    for (const step of reached) {
      await step.refuseUndo?.(context);
    }
    await this.createBookkeeping();
    await renewRecord(context, journal);
    await this.write(state.put(UNDO, first.name));
    await begin?.();
    for (const step of reached) {
      if (undone.includes(step)) {
        await this.undo(step);
      } else if (await hasCreated(context, journal, step)) {
        await this.down(step);
      }
      if (step === home.steps[0]) {
        await undoProductMigrations(context, migrations);
      }
    }
    await this.write(state.forget(UNDO));
    if ((await this.completedSteps()).length === 0) {
      await this.write(FORGET_CREATED);
    }
  }

  /** The first step of an undo that is not complete. */
  async unfinishedUndo(): Promise<Step | undefined> {
    const name = await this.context.state.get<string>(UNDO);
    return this.options.phases
      .flatMap(({ steps }) => steps)
      .find(step => step.name === name);
  }

  /** Going forward ends an incomplete undo, which must not be continued later. */
  private async giveUpUndo(): Promise<void> {
    if (await this.unfinishedUndo()) {
      await this.write(this.context.state.forget(UNDO));
    }
  }

  private async run(step: Step): Promise<void> {
    const { context } = this;
    const { creates = [] } = step;
    await step.up(recording(context, creates));
    if (creates.length > 0) {
      // What was created outside of transactions.
      await this.write(recordCreations(creates));
    }
  }

  /** Fails where something else stands in the place of what the step has created. */
  private async down(step: Step): Promise<void> {
    await step.down?.(recording(this.context, step.creates ?? []));
  }

  private async undo(step: Step): Promise<void> {
    this.context.reporter.info(`Undo: ${step.title}`);
    // Before the undo: a killed undo leaves a partial step, which must not count as done
    // when a command goes forward again.
    await this.forget(step);
    try {
      await this.down(step);
    } catch (error) {
      if (error instanceof RefusedError) {
        await this.record(step);
      }
      throw error;
    }
  }

  private async createBookkeeping(): Promise<void> {
    const { schema } = this.context.settings;
    for (const statement of bookkeepingStatements(schema)) {
      await this.write(statement);
    }
  }

  private async record(step: Step): Promise<void> {
    await this.write(recordStatement(step));
  }

  private async forget(step: Step): Promise<void> {
    await this.write(forgetStatement(step));
  }

  /** Keeps the record of the migration, which a dry run does not print. */
  private async write(statement: string): Promise<void> {
    const { executor } = this.context;
    if (!executor.dryRun) {
      await executor.execute(statement);
    }
  }

  private async readJournal(): Promise<Journal> {
    return Journal.read(this.context.executor, recordedBy(this.options.phases));
  }
}

/** @throws {@link RefusedError} if the journal has steps of a newer version */
function refuseUnknownSteps(journal: Journal): void {
  const unknown = journal.unknown();
  if (unknown.length > 0) {
    throw new RefusedError(
      `This version does not know the recorded ${
        unknown.length === 1 ? 'step' : 'steps'
      } ${unknown.join(
        ', ',
      )}. Run the command with the version that recorded ` +
        'that, or a later one.',
    );
  }
}

/** The connection to another database of the same server. */
function inDatabase(
  { connectionString, ...connection }: ClientConfig,
  database: string,
): ClientConfig {
  if (connectionString === undefined) {
    return { ...connection, database };
  }
  // Not by URL, which takes none without a host, such as that of a socket.
  const [server] = /^[^:]+:\/\/[^/?]*/.exec(connectionString)!;
  const options = connectionString.replace(/^[^?]*/, '');
  return {
    ...connection,
    connectionString: `${server}/${encodeURIComponent(database)}${options}`,
  };
}
