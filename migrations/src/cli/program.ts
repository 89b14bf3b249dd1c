import { Command, CommanderError } from 'commander';
import { readFileSync } from 'node:fs';
import { EXIT_CODES, UsageError } from '../errors';
import { operatorCommand, usageOfCommands } from '../operatorCommand';
import type { OperatorCommandName } from '../operatorCommand';
import { adopt, unadopt } from './commands/adopt';
import { cleanup, rollback, verify } from './commands/maintenance';
import { partition, unpartition } from './commands/partition';
import { all, phaseCommands, upgrade } from './commands/phases';
import { distribute, moveTenant, undistribute } from './commands/distribute';
import { preflight } from './commands/preflight';
import { status } from './commands/status';
import { exportCommand, importCommand, move, purge } from './commands/tenant';
import {
  DOCTOR_DESCRIPTION,
  DOCTOR_DETAILS,
  doctorOptions,
  runDoctor,
} from './commands/doctor';
import { explainFailure } from './failures';
import { commonOptions, maxPauseOption } from './options';
import type { CommandOptions } from './options';
import { redact } from './output';
import type { Streams } from './output';
import { runCommand } from './run';
import type { CommandDefinition } from './run';

/** The commands, in the order of the help. */
export const commands: CommandDefinition[] = [
  preflight,
  ...phaseCommands,
  all,
  upgrade,
  status,
  verify,
  rollback,
  cleanup,
  partition,
  unpartition,
  distribute,
  undistribute,
  moveTenant,
  adopt,
  unadopt,
  exportCommand,
  importCommand,
  move,
  purge,
];

const EXIT_CODES_HELP = `
Exit codes:
  0  done                        5  another operator is at work
  1  an unexpected failure       6  a lock was not granted
  2  wrong usage                 7  the connection was lost
  3  refused, nothing changed    8  refused: the application is connected
  4  a verification failed       9  cancelled in the database
  129 after SIGHUP, 130 after SIGINT, 143 after SIGTERM: run the command again to go on`;

type Act = (
  definition: CommandDefinition,
  options: CommandOptions,
  args: string[],
) => Promise<void>;

/** Runs the command line, and resolves to the exit code of the process. */
export async function main(argv: string[], streams: Streams): Promise<number> {
  let exitCode: number = EXIT_CODES.done;
  const program = buildProgram(streams, async (...invocation) => {
    exitCode = await runCommand(...invocation, streams);
  });
  addDoctor(program, async options => {
    exitCode = await runDoctor(options, streams);
  });
  try {
    await program.parseAsync(argv, { from: 'user' });
    return exitCode;
  } catch (error) {
    if (!(error instanceof CommanderError)) {
      throw error;
    }
    // Commander has told the operator.
    if (error.exitCode === 0) {
      return EXIT_CODES.done;
    }
    if (argv.includes('--json')) {
      const message = redact(error.message.replace(/^error: /, ''));
      const document = { error: explainFailure(new UsageError(message)) };
      streams.stdout.write(`${JSON.stringify(document, null, 2)}\n`);
    }
    return EXIT_CODES.usage;
  }
}

/** The command line; what a command does is left to `act`. */
export function buildProgram(streams: Streams, act: Act): Command {
  const program = new Command('migrate')
    .description(
      'Takes a single-tenant catalog database to the multi-tenant layout in six\n' +
        'phases, while the application goes on writing to it.',
    )
    .version(readVersion(), '--version')
    .exitOverride()
    .showHelpAfterError('(--help shows what is expected)')
    .configureOutput({
      writeOut: text => streams.stdout.write(text),
      // A mistyped option may hold a URL with its password.
      writeErr: text => streams.stderr.write(redact(text)),
    })
    .configureHelp({
      commandUsage: command =>
        command.parent
          ? operatorCommand(...typedAs(command))
          : usageOfCommands(),
      subcommandTerm: command => command.name(),
    })
    .helpCommand(false)
    .addHelpText('after', EXIT_CODES_HELP);
  commands.forEach(definition => register(program, definition, act));
  return program;
}

function readVersion(): string {
  const file = require.resolve(
    'backstage-catalog-tenancy-migrations/package.json',
  );
  return JSON.parse(readFileSync(file, 'utf8')).version;
}

/** The name of a command, and what follows it. */
function typedAs(command: Command): [OperatorCommandName, string] {
  const name = command.name();
  const parent = command.parent!;
  return parent.parent
    ? [parent.name() as OperatorCommandName, `${name} ${command.usage()}`]
    : [name as OperatorCommandName, command.usage()];
}

/** The command that has subcommands of a name. */
function groupOf(program: Command, name: string): Command {
  return (
    program.commands.find(each => each.name() === name) ??
    program
      .command(name)
      .description('Commands for one tenant.')
      .addHelpText(
        'after',
        `\nTenants as code, by the API: ${operatorCommand(
          'tenant',
          'apply --help',
        )}`,
      )
      .helpCommand(false)
  );
}

function register(
  program: Command,
  definition: CommandDefinition,
  act: Act,
): void {
  const { description, details, arguments: names = '' } = definition;
  const { name, subcommand } = definition;
  const command = (subcommand ? groupOf(program, name) : program)
    .command(`${subcommand ?? name} ${names}`.trim())
    .description(description)
    .addHelpText(
      'after',
      `${details ? `\n${details}\n` : ''}${EXIT_CODES_HELP}`,
    )
    .action(async () => {
      await act(definition, command.opts<CommandOptions>(), command.args);
    });
  [
    ...definition.options,
    ...(definition.access === 'change' ? [maxPauseOption] : []),
    ...commonOptions(),
  ].forEach(option => command.addOption(option));
}

/** `doctor` examines more than the migration, and has its own exit codes. */
export function addDoctor(
  program: Command,
  act: (options: CommandOptions) => Promise<void>,
): void {
  const command = program
    .command('doctor')
    .description(DOCTOR_DESCRIPTION)
    .addHelpText('after', DOCTOR_DETAILS)
    .action(() => act(command.opts<CommandOptions>()));
  doctorOptions().forEach(option => command.addOption(option));
}
