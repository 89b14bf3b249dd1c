import { renderFinding } from '../../checks/Rule';
import type { Finding } from '../../checks/Rule';
import { RefusedError } from '../../errors';
import { runPreflight } from '../../preflight/runPreflight';
import { readNext } from '../../status/next';
import { formatThings } from '../../text';
import { backupOption } from '../options';
import type { CommandDefinition, Invocation } from '../run';

/** Checks everything that a migration depends on. */
export const preflight: CommandDefinition = {
  name: 'preflight',
  description:
    'Look at everything that a migration depends on: the server, extensions, privileges, disk, tables and rows.',
  details:
    'It changes nothing, and ends with exit code 3 if anything has to be put right first.\n' +
    'phase1, all and adopt do the same before they begin.',
  access: 'read',
  options: [backupOption],
  async run(invocation) {
    const { migration, report, print } = invocation;
    const findings = await find(invocation);
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
    return `Nothing stands in the way. Next: ${command ?? what}.`;
  },
};

/**
 * The preflight before a command that begins a migration.
 *
 * @param except - the names of checks that do not matter to the command
 * @throws {@link RefusedError} for failures
 */
export async function checkFirst(
  invocation: Invocation,
  except: string[] = [],
): Promise<void> {
  const findings = await find(invocation, except);
  const failures = findings.filter(({ level }) => level === 'failure');
  const warnings = findings.filter(({ level }) => level === 'warning');
  // The reporter names the level.
  warnings.forEach(each =>
    invocation.reporter.warn(renderFinding(each).replace(/^warning +/, '')),
  );
  if (failures.length > 0) {
    throw new RefusedError(
      `The preflight has found what has to be put right first:\n${failures
        .map(renderFinding)
        .join('\n')}`,
    );
  }
}

async function find(
  { migration, options, report }: Invocation,
  except: string[] = [],
): Promise<Finding[]> {
  const findings = await runPreflight(migration.context, {
    backupCompleted: options.backupCompleted ?? false,
  });
  const relevant = findings.filter(({ check }) => !except.includes(check));
  report({ findings: relevant });
  return relevant;
}
