import type { Option } from 'commander';
import type { ClientConfig } from 'pg';
import type { MigrationSettings } from '../engine/Step';
import { TenancyMigration } from '../engine/TenancyMigration';
import { EXIT_CODES, MigrationError } from '../errors';
import type { OperatorCommandName } from '../operatorCommand';
import { phases } from '../phases';
import type { Reporter } from '../Reporter';
import { isSharded } from '../schema/partitions';
import { DEFAULT_TENANT_SLUG } from '../schema/tables';
import { describeOperator } from '../session/operatorLock';
import { refuseDistributed } from '../sharding/distribute';
import { resolveConnection } from './connection';
import { explainFailure } from './failures';
import { settingsOf, TOKEN_VARIABLE } from './options';
import type { CommandOptions } from './options';
import { confirmLosses, Output } from './output';
import type { Streams } from './output';
import { createReporter } from './reporters';

/** One run of a command. */
export interface Invocation {
  migration: TenancyMigration;
  settings: MigrationSettings;
  options: CommandOptions;
  /** What follows the name of the command, such as a slug. */
  args: string[];
  reporter: Reporter;
  /** The steps that were done or undone since the command began. */
  steps: StepTracker;
  /** Adds to the JSON document, which a failed command prints too. */
  report(fields: Record<string, unknown>): void;
  /**
   * Shows what is about to be deleted, and asks whether to go on. Does not ask with `--yes`
   * and in a dry run.
   *
   * @throws {@link RefusedError} unless the answer is yes, and where there is no
   *   terminal to ask on
   */
  confirm(losses: string[]): Promise<void>;
  /** Prints at once, also for a command that fails later. */
  print(text: string): void;
}

/** A command of the operator. */
export interface CommandDefinition {
  name: OperatorCommandName;
  /** In commander's syntax: `<slug>`. */
  arguments?: string;
  description: string;
  /** More text, at the end of its help. */
  details?: string;
  /** Whether it changes the database, and so needs the operator's lock. */
  access: 'change' | 'read';
  /** The options besides the common ones. */
  options: Option[];
  /** Why it does not work on tables that Citus has distributed, if it does not. */
  refusedOnCitus?: string;
  /** @returns the summary for the operator */
  run(invocation: Invocation): Promise<string>;
}

/** Compares the completed steps with those at the beginning of the command. */
class StepTracker {
  static async begin(migration: TenancyMigration): Promise<StepTracker> {
    return new StepTracker(migration, await migration.completedSteps());
  }

  private constructor(
    private readonly migration: TenancyMigration,
    private readonly before: string[],
  ) {}

  async done(): Promise<string[]> {
    const after = await this.migration.completedSteps();
    return after.filter(step => !this.before.includes(step));
  }

  /** For the JSON document: `null` if the connection is lost. */
  async report(): Promise<Record<string, unknown>> {
    try {
      const after = await this.migration.completedSteps();
      const undone = this.before
        .filter(step => !after.includes(step))
        .reverse();
      return {
        phase: await this.migration.completedPhase(),
        done: await this.done(),
        ...(undone.length > 0 ? { undone } : {}),
      };
    } catch {
      return { phase: null, done: null };
    }
  }
}

// The convention of shells: 128 plus the number of the signal.
const EXIT_CODE = { SIGINT: 130, SIGTERM: 143 } as const;

type Signal = keyof typeof EXIT_CODE;

/** A signal has stopped the command. */
class InterruptedError extends MigrationError {
  constructor(signal: Signal, changes: boolean) {
    super(
      `Stopped by ${signal}. ${
        changes
          ? 'What was committed stays, and the server rolls back the rest: run the ' +
            'same command again, and it goes on from there.'
          : 'Nothing was changed.'
      }`,
      EXIT_CODE[signal],
    );
  }
}

/**
 * Waits for SIGINT and SIGTERM. The first ends the command in good order; the
 * second ends the process at once.
 */
class Interruption {
  /** Rejects at the first signal, and never resolves. */
  private readonly signalled: Promise<never>;
  private readonly unlisten: () => void;

  constructor({ changes }: { changes: boolean }) {
    let reject: (error: Error) => void;
    this.signalled = new Promise<never>((_, fail) => {
      reject = fail;
    });
    // A rejection that no `or` awaits must not end the process.
    this.signalled.catch(() => undefined);
    let count = 0;
    const onSignal = (signal: NodeJS.Signals) => {
      count += 1;
      if (count > 1) {
        process.exit(EXIT_CODE[signal as Signal]);
      }
      reject(new InterruptedError(signal as Signal, changes));
    };
    process.on('SIGINT', onSignal);
    process.on('SIGTERM', onSignal);
    this.unlisten = () => {
      process.off('SIGINT', onSignal);
      process.off('SIGTERM', onSignal);
    };
  }

  /** The outcome of work, or {@link InterruptedError} where a signal comes first. */
  or<T>(work: Promise<T>): Promise<T> {
    return Promise.race([work, this.signalled]);
  }

  /** Signals end the process again. */
  close(): void {
    this.unlisten();
  }
}

// How long the process waits for running work after a signal.
const STOP_PATIENCE_MS = 5000;

/** Runs a command from its options to its last line, and resolves to the exit code. */
export async function runCommand(
  definition: CommandDefinition,
  options: CommandOptions,
  args: string[],
  streams: Streams,
): Promise<number> {
  const { name: command, access } = definition;
  const mode = access === 'change' && options.dryRun ? 'dryRun' : access;
  const output = new Output(
    streams,
    { json: options.json, dryRun: mode === 'dryRun' },
    { command, schema: options.schema, phase: null, done: null },
  );
  const reporter = createReporter(streams.stderr);
  const interruption = new Interruption({ changes: mode === 'change' });
  let connection: ClientConfig | undefined;
  try {
    const { config, secrets, catalogSchema, fault } = await interruption.or(
      resolveConnection(options),
    );
    connection = config;
    output.conceal(secrets);
    output.conceal([process.env[TOKEN_VARIABLE] ?? '']);
    if (fault) {
      throw fault;
    }
    const settings = settingsOf({
      ...options,
      catalogSchema: options.catalogSchema ?? ownSchema(options, catalogSchema),
    });
    const migration = await interruption.or(
      TenancyMigration.open({
        phases,
        connection,
        command,
        settings,
        reporter,
        mode,
        print: output.printSql,
      }),
    );
    let summary: string;
    try {
      await refuseOnCitus(definition, migration);
      const steps = await StepTracker.begin(migration);
      if (mode !== 'change') {
        await warnOfOperator(migration);
      }
      const work = definition.run({
        migration,
        settings,
        options,
        args,
        reporter,
        steps,
        report: fields => output.add(fields),
        confirm: losses => confirmLosses(losses, options, streams, output),
        print: text => output.print(text),
      });
      try {
        summary = await interruption.or(work);
      } catch (error) {
        if (error instanceof InterruptedError) {
          // Closing also cancels the statement on the server.
          await atMost(STOP_PATIENCE_MS, [migration.close(), work]);
        }
        throw error;
      } finally {
        output.add(await steps.report());
      }
    } finally {
      await atMost(STOP_PATIENCE_MS, [migration.close()]);
    }
    reporter.close();
    output.succeed(summary);
    return EXIT_CODES.done;
  } catch (error) {
    reporter.close();
    const failure = explainFailure(error, connection);
    output.fail(failure, process.env.DEBUG && (error as Error)?.stack);
    return failure.exitCode;
  } finally {
    interruption.close();
  }
}

/** The engine of the default tenant is that of the backend whose configuration was given. */
function ownSchema(
  { tenant = DEFAULT_TENANT_SLUG }: CommandOptions,
  catalogSchema?: string,
): string | undefined {
  return tenant === DEFAULT_TENANT_SLUG ? catalogSchema : undefined;
}

/** @throws {@link RefusedError} before anything is changed */
async function refuseOnCitus(
  { refusedOnCitus }: CommandDefinition,
  { context: { executor } }: TenancyMigration,
): Promise<void> {
  if (refusedOnCitus && (await isSharded(executor))) {
    throw refuseDistributed(refusedOnCitus);
  }
}

/** Warns a command that changes nothing of an operator at work. */
async function warnOfOperator(migration: TenancyMigration): Promise<void> {
  const operator = await migration.operator();
  if (operator) {
    migration.context.reporter.warn(
      `another operator is at work: ${describeOperator(operator)}.`,
    );
  }
}

/** Waits until all work has settled, or for a number of milliseconds. */
async function atMost(
  milliseconds: number,
  work: Promise<unknown>[],
): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  await Promise.race([
    Promise.allSettled(work),
    new Promise(resolve => {
      timer = setTimeout(resolve, milliseconds);
    }),
  ]);
  clearTimeout(timer);
}
