import type { Option } from 'commander';
import { readAdoptionStatus } from '../../adopt/status';
import type { PhaseNumber } from '../../engine/Step';
import { phases } from '../../phases';
import { beginCreation } from '../../phases/create';
import { describeNext, readNext, refuseWithoutTables } from '../../status/next';
import { formatThings } from '../../text';
import {
  backupOption,
  baseUrlOption,
  dryRunOption,
  option,
  noAdminGrantOption,
  tenantNameOption,
} from '../options';
import type { CommandDefinition, Invocation } from '../run';
import { checkFirst } from './preflight';

const OPTIONS: Partial<Record<PhaseNumber, Option[]>> = {
  1: [backupOption],
  2: [tenantNameOption],
  4: [
    noAdminGrantOption,
    option('--force', 'go on although an old application is still connected'),
  ],
  6: [baseUrlOption],
};

/** The commands of the phases. */
export const phaseCommands: CommandDefinition[] = phases.map(
  ({ number, title, steps }) => ({
    name: `phase${number}`,
    description: `Phase ${number}: ${title}.`,
    details: [
      'Its steps:',
      ...steps.map(step => `  - ${step.title}`),
      'A command that was stopped goes on where it was when it is run again.',
    ].join('\n'),
    access: 'change',
    options: [dryRunOption, ...(OPTIONS[number] ?? [])],
    async run(invocation) {
      const { migration } = invocation;
      if (number === 1 && (await migration.completedPhase()) === 0) {
        await checkFirst(invocation);
        const { engineTables } = await readAdoptionStatus(migration.context);
        // Beside Backstage's own catalog, which has other tables, those of the phases are created.
        if (!(engineTables && (await beginCreation(migration)))) {
          await refuseWithoutTables(migration);
        }
      }
      return runPhase(invocation, number);
    },
  }),
);

/** After an update of the product. */
export const upgrade: CommandDefinition = {
  name: 'upgrade',
  description:
    "Bring the product's own tables up to date. A backend that starts does it, too.",
  access: 'change',
  options: [dryRunOption],
  async run({ migration }) {
    const titles = await migration.upgrade();
    if (titles.length === 0) {
      return "The product's own tables are up to date.";
    }
    return ['Done:', ...titles.map(title => `  ${title}`)].join('\n');
  },
};

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
    dryRunOption,
    tenantNameOption,
    noAdminGrantOption,
    backupOption,
    baseUrlOption,
    option('--force', 'go on where one of the phases goes on with it'),
  ],
  run: runAll,
};

async function runAll(invocation: Invocation): Promise<string> {
  const { migration, options, reporter } = invocation;
  const completed = await migration.completedPhase();
  const missing = phases
    .map(({ number }) => number)
    .filter(number => number > completed && (number < 6 || options.baseUrl));
  if (missing.length > 0) {
    await checkFirst(invocation);
  }
  if (completed < 5 && (await beginCreation(migration))) {
    reporter.info('The three tables are created, empty.');
  }
  for (const number of options.dryRun ? missing.slice(0, 1) : missing) {
    await runPhase(invocation, number);
  }
  const phase = await migration.completedPhase();
  return [
    `All phases up to ${phase} are complete.`,
    describeNext(await readNext(migration)),
  ].join('\n');
}

/** Runs one phase, and returns its summary with the next command. */
async function runPhase(
  { migration }: Invocation,
  number: PhaseNumber,
): Promise<string> {
  const before = await migration.completedSteps();
  const begun = await migration.runPhase(number);
  const done = (await migration.completedSteps()).filter(
    step => !before.includes(step),
  );
  return [
    summary(number, begun, done.length),
    ...done.map(step => `  ${step}`),
    describeNext(await readNext(migration)),
  ].join('\n');
}

function summary(number: number, begun: boolean, done: number): string {
  if (!begun) {
    return `Phase ${number} was complete already.`;
  }
  return done === 0
    ? `Phase ${number} has succeeded again.`
    : `Phase ${number} is complete: ${formatThings(done, 'step')} done.`;
}
