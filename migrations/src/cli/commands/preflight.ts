import { AGAIN } from '../../checks/examineShape';
import { RefusedError } from '../../errors';
import { operatorCommand } from '../../operatorCommand';
import { assertPreflight, runPreflight } from '../../preflight/runPreflight';
import type { Finding, PreflightOptions } from '../../preflight/PreflightCheck';
import { readNext } from '../../status/next';
import { formatThings } from '../../text';
import { preflightForceOption, preflightOptions } from '../options';
import type { CommandOptions } from '../options';
import type { CommandDefinition, Invocation } from '../run';

/** Checks everything that a migration depends on. */
export const preflight: CommandDefinition = {
  name: 'preflight',
  description:
    'Look at everything that a migration depends on: the server, extensions, privileges, disk, tables and rows.',
  details:
    'It changes nothing, and reports all that it finds: exit code 3 if anything has to be\n' +
    'put right first. phase1 and all do the same before they begin.',
  access: 'read',
  options: [...preflightOptions, preflightForceOption],
  async run({ migration, options, report, print }) {
    const findings = await runPreflight(
      migration.context,
      preflightOptionsOf(options),
    );
    report({ findings });
    print(findings.map(renderFinding).join('\n'));
    const failures = findings.filter(({ level }) => level === 'failure');
    const { what, command } = await readNext(migration);
    report({ next: { what, command } });
    if (failures.length > 0) {
      throw new RefusedError(
        `The preflight has found ${formatThings(
          failures.length,
          'failure',
        )}, to be put right first: ` +
          `${[...new Set(failures.map(({ check }) => check))].join(', ')}.`,
      );
    }
    const phase = await migration.completedPhase();
    return phase === 0
      ? `The migration can begin. Next: ${command ?? what}${
          command === operatorCommand('phase1') ? ' with the same options' : ''
        }.`
      : `Nothing stands in the way of the migration. Next: ${command ?? what}.`;
  },
};

function renderFinding({
  check,
  level,
  message,
  advice,
  sql,
  again,
}: Finding): string {
  return [
    `${level.padEnd(8)} ${check}: ${message}`,
    ...[advice, sql, again && `${AGAIN}\n${again}`]
      .filter((text): text is string => Boolean(text))
      .map(text => text.replace(/^/gm, ' '.repeat(9))),
  ].join('\n');
}

/**
 * The preflight before a command that begins a migration. A dry run changes nothing, so it
 * prints failures as warnings.
 *
 * @param except - the names of checks that do not matter to the command
 * @throws {@link RefusedError} for failures, except in a dry run
 */
export async function checkFirst(
  invocation: Invocation,
  except: string[] = [],
): Promise<void> {
  const { migration, options, reporter, report } = invocation;
  const findings = (
    await runPreflight(migration.context, preflightOptionsOf(options))
  ).filter(({ check }) => !except.includes(check));
  report({ findings });
  for (const { check, level, message, advice, sql, again } of findings) {
    if (level === 'warning' || (level === 'failure' && options.dryRun)) {
      const words = [message, advice].filter(Boolean).join(' ');
      reporter.warn(
        `${check}: ${[words, sql, again && `${AGAIN}\n${again}`]
          .filter(Boolean)
          .join('\n')}`,
      );
    }
  }
  if (!options.dryRun) {
    assertPreflight(findings);
  }
}

function preflightOptionsOf(options: CommandOptions): PreflightOptions {
  return {
    allowMissing: options.allowMissing ?? [],
    backupCompleted: options.backupCompleted ?? false,
  };
}
