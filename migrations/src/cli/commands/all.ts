import { DiskWatch } from '../../disk/DiskWatch';
import type { PhaseNumber } from '../../engine/Step';
import { phases } from '../../phases';
import {
  createCatalogTables,
  isFreshDatabase,
} from '../../schema/catalogTables';
import type { CommandDefinition, Invocation } from '../CommandDefinition';
import {
  baseUrlOption,
  forceOption,
  noAdminGrantOption,
  preflightOptions,
  tenantNameOption,
} from '../options';
import { checkFirst } from './checkFirst';
import { nameDefaultTenant, nextOf, runPhase } from './runPhase';

/** All phases in one go, for a fresh or small database. */
export const all: CommandDefinition = {
  name: 'all',
  description:
    'All phases in one go (6 only with --base-url), for a database that is fresh or small and has no old application to wait for.',
  details:
    'Where none of the three tables exists, they are created empty. A dry run prints the\n' +
    'first phase that is not complete: what the later ones do depends on its outcome.',
  access: 'change',
  options: [
    tenantNameOption,
    noAdminGrantOption,
    ...preflightOptions,
    baseUrlOption,
    forceOption(
      'go on although an old application is still connected, another schema looks like the one of the catalog, or things stay with the tables of before',
    ),
  ],
  run: runAll,
};

async function runAll(invocation: Invocation): Promise<string> {
  const { migration, options, reporter } = invocation;
  const missing = await missingPhases(invocation);
  if (missing.length > 0) {
    await checkFirst(invocation);
  }
  if (await isFreshDatabase(migration.context)) {
    reporter.info('None of the three tables exists: they are created empty.');
    await createCatalogTables(migration.context);
  }
  // --free-disk is what is free now, before the first phase.
  const disk = await DiskWatch.open(migration, options.freeDisk);
  for (const number of missing) {
    const summary = await runPhase(invocation, number, disk);
    if (options.dryRun) {
      return summary;
    }
  }
  const naming = await nameDefaultTenant(invocation);
  const phase = await migration.completedPhase();
  return [
    `All phases up to ${phase} are complete.`,
    ...naming.text,
    await nextOf(invocation),
  ].join('\n');
}

async function missingPhases({
  migration,
  options,
}: Invocation): Promise<PhaseNumber[]> {
  const completed = await migration.completedPhase();
  return phases
    .map(({ number }) => number)
    .filter(number => number > completed && (number < 6 || options.baseUrl));
}
