import type { ClientConfig } from 'pg';
import { EXIT_CODES } from '../errors';
import { TenancyMigration } from '../engine/TenancyMigration';
import { phases } from '../phases';
import { describeOperator } from '../session/operatorLock';
import type { CommandDefinition } from './CommandDefinition';
import { confirmLosses } from './confirmation';
import { resolveConnection } from './connection';
import { explainFailure } from './failures';
import { InterruptedError, Interruption } from './interruption';
import type { CommandOptions } from './options/CommandOptions';
import { settingsOf, TOKEN_VARIABLE } from './options/common';
import { Output } from './output';
import type { Streams } from './output';
import { createReporter } from './reporters';
import type { CloseableReporter } from './reporters';
import { StepTracker } from './StepTracker';

// For what is at work to end after a signal, before the process does.
const STOP_PATIENCE_MS = 5000;

interface Run {
  definition: CommandDefinition;
  options: CommandOptions;
  args: string[];
  streams: Streams;
  output: Output;
  reporter: CloseableReporter;
  interruption: Interruption;
}

/** Runs a command from its options to its last line, and resolves to the exit code. */
export async function runCommand(
  definition: CommandDefinition,
  options: CommandOptions,
  args: string[],
  streams: Streams,
): Promise<number> {
  const mode = modeOf(definition, options);
  const output = new Output(
    streams,
    { json: options.json, dryRun: mode === 'dryRun' },
    {
      command: definition.name,
      schema: options.schema,
      phase: null,
      done: null,
    },
  );
  const reporter = createReporter(streams.stderr);
  const changes = mode === 'change';
  const interruption = new Interruption({ changes });
  const run = {
    definition,
    options,
    args,
    streams,
    output,
    reporter,
    interruption,
  };
  let connection: ClientConfig | undefined;
  try {
    const { config, secrets } = await orInterrupted(
      resolveConnection(options),
      run,
    );
    connection = config;
    output.conceal(secrets);
    output.conceal([process.env[TOKEN_VARIABLE] ?? '']);
    const summary = await runOn(config, run);
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

async function runOn(connection: ClientConfig, run: Run): Promise<string> {
  const { definition, options, args, streams, output, reporter } = run;
  const settings = settingsOf(options);
  const migration = await orInterrupted(
    TenancyMigration.open({
      phases,
      connection,
      command: definition.name,
      settings,
      reporter,
      mode: modeOf(definition, options),
      print: output.printSql,
    }),
    run,
  );
  try {
    const steps = await StepTracker.begin(migration);
    await nameOperator(migration, run);
    const work = definition.run({
      migration,
      connection,
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
      return await orInterrupted(work, run);
    } catch (error) {
      if (error instanceof InterruptedError) {
        // Ends what is at work, on the server as well.
        await atMost(STOP_PATIENCE_MS, [migration.close(), work]);
      }
      throw error;
    } finally {
      output.add({ ...(await steps.report()) });
    }
  } finally {
    await atMost(STOP_PATIENCE_MS, [migration.close()]);
  }
}

function modeOf(
  { access }: CommandDefinition,
  { dryRun }: CommandOptions,
): 'read' | 'dryRun' | 'change' {
  if (access === 'read') {
    return 'read';
  }
  return dryRun ? 'dryRun' : 'change';
}

/** Whoever changes nothing may go on, but should know. */
async function nameOperator(
  migration: TenancyMigration,
  { definition, options, reporter }: Run,
): Promise<void> {
  if (modeOf(definition, options) !== 'change') {
    const operator = await migration.operator();
    if (operator) {
      reporter.warn(
        `another operator is at work: ${describeOperator(operator)}.`,
      );
    }
  }
}

async function orInterrupted<T>(work: Promise<T>, run: Run): Promise<T> {
  return Promise.race([work, run.interruption.signalled]);
}

/** Waits for all of it to end, well or not, but no longer than so many milliseconds. */
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
