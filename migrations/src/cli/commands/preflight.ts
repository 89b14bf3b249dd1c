import { RefusedError } from '../../errors';
import { runPreflight } from '../../preflight';
import type { Finding } from '../../preflight';
import { readNext } from '../../status';
import type { CommandDefinition } from '../CommandDefinition';
import { preflightForceOption, preflightOptions } from '../options';
import { formatThings } from '../../text';
import { preflightOptionsOf } from './checkFirst';
import { operatorCommand } from '../../operatorCommand';

/** Looks at everything that a migration depends on. */
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
}: Finding): string {
  return [
    `${level.padEnd(8)} ${check}: ${message}`,
    ...[advice, sql]
      .filter((text): text is string => Boolean(text))
      .map(text => text.replace(/^/gm, ' '.repeat(9))),
  ].join('\n');
}
