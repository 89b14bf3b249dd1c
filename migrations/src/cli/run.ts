import type { Config } from '@backstage/config';
import type { Option } from 'commander';
import { atMost } from '../atMost';
import type { MigrationSettings } from '../engine/Step';
import { TenancyMigration } from '../engine/TenancyMigration';
import { EXIT_CODES, MigrationError } from '../errors';
import type { OperatorCommandName } from '../operatorCommand';
import { phases } from '../phases';
import type { Reporter } from '../Reporter';
import { isSharded } from '../schema/partitions';
import { DEFAULT_TENANT_SLUG } from '../schema/tables';
import { explainConnect } from '../session/explainConnect';
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
  /** The configuration of Backstage, if the connection is from it. */
  backstage?: Config;
  reporter: Reporter;
  /** Has no output show these, such as a password. */
  conceal(secrets: Set<string>): void;
  /** Adds to the JSON document, which a failed command prints too. */
  report(fields: Record<string, unknown>): void;
  /**
   * Shows what is about to be deleted, and asks whether to go on, unless `--yes` is given
   * or it is a dry run.
   *
   * @param answer - what has to be typed; "yes" by default
   * @throws {@link RefusedError} unless the answer is yes, and where there is no
   *   terminal to ask on
   */
  confirm(losses: string[], answer?: string): Promise<void>;
  /** Prints at once, also for a command that fails later. */
  print(text: string): void;
}

/** A command of the operator. */
export interface CommandDefinition {
  name: OperatorCommandName;
  /** A word after the name. */
  subcommand?: string;
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

// The convention of shells: 128 plus the number of the signal.
const EXIT_CODE = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

/** A signal has stopped the command. */
class InterruptedError extends MigrationError {
  constructor(signal: keyof typeof EXIT_CODE, changes: boolean) {
    const after = changes
      ? 'What was committed stays: run the same command again, and it goes on from there.'
      : 'Nothing was changed.';
    super(`Stopped by ${signal}. ${after}`, EXIT_CODE[signal]);
  }
}

/**
 * Rejects what is awaited at a signal, which ends the command in good order. The
 * second signal ends the process at once.
 */
function listenForSignals(changes: boolean) {
  const controller = new AbortController();
  const { signal: aborted } = controller;
  const onSignal = (name: NodeJS.Signals) => {
    const signal = name as keyof typeof EXIT_CODE;
    if (aborted.aborted) {
      process.exit(EXIT_CODE[signal]);
    }
    controller.abort(new InterruptedError(signal, changes));
  };
  const signals = Object.keys(EXIT_CODE) as (keyof typeof EXIT_CODE)[];
  signals.forEach(each => process.on(each, onSignal));
  const signalled = new Promise<never>((_, reject) => {
    aborted.addEventListener('abort', () => reject(aborted.reason));
  });
  // A rejection that no `or` awaits must not end the process.
  signalled.catch(() => undefined);
  return {
    or: <T>(work: Promise<T>): Promise<T> => Promise.race([work, signalled]),
    close: () => signals.forEach(each => process.off(each, onSignal)),
  };
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
  const { name, subcommand, access } = definition;
  const command = [name, subcommand].filter(Boolean).join(' ');
  const dryRun = options.dryRun ?? false;
  const printed: string[] = [];
  const output = new Output(
    streams,
    { json: options.json },
    { command, schema: options.schema, phase: null, done: null },
  );
  const reporter = createReporter(streams.stderr);
  const interruption = listenForSignals(access === 'change' && !dryRun);
  try {
    const { config, secrets, catalogSchema, backstage, fault } =
      await interruption.or(resolveConnection(options));
    output.conceal(secrets);
    output.conceal([process.env[TOKEN_VARIABLE] ?? '']);
    if (fault) {
      throw explainConnect(fault, config);
    }
    const settings = settingsOf({
      ...options,
      schema: options.schema ?? backstage?.getOptionalString('tenancy.schema'),
      catalogSchema: options.catalogSchema ?? ownSchema(options, catalogSchema),
    });
    output.add({ schema: settings.schema });
    const migration = await interruption.or(
      TenancyMigration.open({
        phases,
        connection: config,
        command,
        settings,
        reporter,
        mode: dryRun ? 'dryRun' : access,
        print: text => {
          printed.push(text);
          output.print(text);
        },
      }),
    );
    let summary: string;
    try {
      await refuseOnCitus(definition, migration);
      const before = await migration.completedSteps();
      if (access === 'read' || dryRun) {
        await warnOfOperator(migration);
      }
      const work = definition.run({
        migration,
        settings,
        options,
        args,
        backstage,
        reporter,
        conceal: more => output.conceal(more),
        // Of what was done, which a dry run does not do.
        report: fields => (dryRun ? undefined : output.add(fields)),
        confirm: (losses, answer) =>
          confirmLosses(
            losses,
            { ...options, yes: options.yes || dryRun },
            streams,
            output,
            answer,
          ),
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
        output.add(await changedSteps(migration, before));
      }
    } finally {
      await atMost(STOP_PATIENCE_MS, [migration.close()]);
    }
    if (dryRun) {
      output.add({ dryRun, sql: printed.join('\n') });
    }
    output.succeed(
      dryRun ? '-- These were printed, and nothing was changed.' : summary,
    );
    return EXIT_CODES.done;
  } catch (error) {
    const failure = explainFailure(error);
    output.fail(failure, process.env.DEBUG && (error as Error)?.stack);
    return failure.exitCode;
  } finally {
    interruption.close();
  }
}

/** The steps that the command has done or undone; `null` if the connection is lost. */
async function changedSteps(
  migration: TenancyMigration,
  before: string[],
): Promise<Record<string, unknown>> {
  try {
    const after = await migration.completedSteps();
    const undone = before.filter(step => !after.includes(step)).reverse();
    return {
      phase: await migration.completedPhase(),
      done: after.filter(step => !before.includes(step)),
      ...(undone.length > 0 ? { undone } : {}),
    };
  } catch {
    return { phase: null, done: null };
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
