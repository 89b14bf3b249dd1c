import { cleanup as dropOldTables } from '../../cleanup/cleanup';
import type { PhaseNumber } from '../../engine/Step';
import { refuseProblems } from '../../errors';
import { readLosses } from '../../rollback/losses';
import { rollback as goBack } from '../../rollback/rollback';
import { RETENTION_HOURS } from '../../schema/tables';
import { readStatus } from '../../status/readStatus';
import { formatThings } from '../../text';
import { verify as runChecks } from '../../verify/verify';
import { dryRunOption, option, wholeNumber, yesOption } from '../options';
import type { CommandDefinition, Invocation } from '../run';
import { renderHeadline } from './status';

/** Checks the data itself. */
export const verify: CommandDefinition = {
  name: 'verify',
  description:
    'Check on the data itself everything that must hold after the phases that are complete.',
  details:
    'It changes nothing and may be run while the application writes. It reads all rows,\n' +
    'which takes time in large tables.',
  access: 'read',
  options: [],
  async run({ migration, report }) {
    const { phase, checks } = await runChecks(migration);
    report({ checks });
    refuseProblems(checks.flatMap(({ problems }) => problems));
    return checks.length === 0
      ? 'No phase is complete after which there is anything to check.'
      : [
          `All that must hold after phase ${phase} holds:`,
          ...checks.map(({ name }) => `  ${name}`),
        ].join('\n');
  },
};

/** Drops what only served the way back. */
export const cleanup: CommandDefinition = {
  name: 'cleanup',
  description:
    'Drop the tables of before the swap, the change log and the temporary indexes. After that there is no way back.',
  access: 'change',
  options: [
    dryRunOption,
    option('--force', `do it within ${RETENTION_HOURS} hours of the swap`),
  ],
  async run({ migration, report }) {
    const dropped = await dropOldTables(migration.context);
    report({ dropped });
    if (!dropped) {
      return 'There was nothing to clean up.';
    }
    return 'The old tables and the change log are gone. The migration is finished.';
  },
};

/** Goes back to an earlier phase, the last step first. */
export const rollback: CommandDefinition = {
  name: 'rollback',
  description:
    'Go back: out of the swapped tables if they are in use, otherwise out of the last phase that has begun; or as far as --to says.',
  details:
    'Set MULTI_TENANCY_ENABLED to false and restart every instance of the application first.\n' +
    'No write of the default tenant is lost; where --force deletes rows, it says which, and asks.',
  access: 'change',
  refusedOnCitus: 'of which the tables of before know nothing',
  options: [
    dryRunOption,
    option(
      '--to <phase>',
      'the phase to go back to, 0 to 5 (default: undo the last phase that has begun)',
      wholeNumber(0, 5, 'of a phase'),
    ),
    option(
      '--force',
      'go on although the application is connected, or rows of other tenants will be deleted',
    ),
    yesOption,
  ],
  run: runRollback,
};

async function runRollback(invocation: Invocation): Promise<string> {
  const { migration, options, settings, confirm } = invocation;
  const to = options.to as PhaseNumber | 0 | undefined;
  if (settings.force) {
    await confirm(await readLosses(migration, to));
  }
  const undone = await goBack(migration, to);
  const status = await readStatus(migration);
  const stand = renderHeadline(status);
  if (undone.length === 0) {
    return `There was nothing to undo.\n${stand}`;
  }
  return [
    `Rolled back to phase ${status.phase}: ${formatThings(
      undone.length,
      'step',
    )} undone.`,
    ...undone.map(name => `  ${name}`),
    stand,
  ].join('\n');
}
