import type { Option } from 'commander';
import { readAdoptionStatus } from '../../adopt/status';
import type { Phase, PhaseNumber } from '../../engine/Step';
import { operatorCommand } from '../../operatorCommand';
import { phases } from '../../phases';
import {
  readDefaultTenantName,
  renameDefaultTenant,
} from '../../phases/phase2_backfill/10_default_tenant';
import { createEmptyCatalog } from '../../phases/emptyCatalog';
import { isFreshDatabase } from '../../schema/catalogTables';
import { readCreatedCatalog } from '../../schema/createdCatalog';
import { DEFAULT_TENANT_NAME } from '../../schema/tables';
import { readNext, refuseWithoutTables } from '../../status/next';
import { formatThings } from '../../text';
import {
  baseUrlOption,
  forceOption,
  noAdminGrantOption,
  preflightForceOption,
  preflightOptions,
  tenantNameOption,
} from '../options';
import type { CommandDefinition, Invocation } from '../run';
import { estimateRows, expectation, guidance } from './guidance';
import type { RowCounts } from './guidance';
import { checkFirst } from './preflight';

// A large catalog, for the help.
const EXAMPLE = { entities: 1_000_000, others: 4_000_000 };

const OPTIONS: Partial<Record<PhaseNumber, Option[]>> = {
  1: [...preflightOptions, preflightForceOption],
  2: [tenantNameOption],
  4: [
    noAdminGrantOption,
    forceOption(
      'go on although an old application is still connected, or views show the rows of every tenant',
    ),
  ],
  5: [forceOption('go on although things stay with the tables of before')],
  6: [baseUrlOption],
};

/** The commands of the phases. */
export const phaseCommands: CommandDefinition[] = phases.map(
  ({ number, steps }) => ({
    name: `phase${number}`,
    description: guidance[number].description,
    details: [
      `It takes ${expectation(number, EXAMPLE)}.`,
      'When it begins, it says what to expect of your tables. Its steps:',
      ...steps.map(({ title }) => `  - ${title}`),
      'A command that was stopped goes on where it was when it is run again.',
    ].join('\n'),
    access: 'change',
    options: OPTIONS[number] ?? [],
    async run(invocation) {
      const { migration } = invocation;
      if (number === 1 && (await migration.completedPhase()) === 0) {
        await checkFirst(invocation);
        await createOrRequireTables(migration);
      }
      return runPhase(invocation, number);
    },
  }),
);

/** Beside Backstage's own catalog, which has other tables, those of the phases are created. */
async function createOrRequireTables(
  migration: Invocation['migration'],
): Promise<void> {
  const { engineTables } = await readAdoptionStatus(migration.context);
  if (engineTables) {
    await createEmptyCatalog(migration.context, false);
  } else {
    await refuseWithoutTables(migration);
  }
}

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
    const { engineTables } = await readAdoptionStatus(migration.context);
    await createEmptyCatalog(migration.context, !engineTables);
  }
  for (const number of missing) {
    const outcome = await runPhase(invocation, number);
    if (options.dryRun) {
      return outcome;
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

/** Runs one phase, and returns its summary with the next command. */
export async function runPhase(
  invocation: Invocation,
  number: PhaseNumber,
): Promise<string> {
  const { migration, options, steps } = invocation;
  const before = await migration.completedPhase();
  const done = await migration.completedSteps();
  const rows = await estimateRows(migration.context);
  const begun = await migration.runPhase(number, phase =>
    announce(invocation, { phase, done, rows }),
  );
  const naming = number === 2 ? await nameDefaultTenant(invocation) : undefined;
  if (options.dryRun) {
    return begun || naming?.renamed
      ? `Phase ${number} was printed. Nothing was changed.`
      : `Phase ${number} is complete already: there is nothing to print.`;
  }
  const now = await steps.done();
  return [
    summary({ number, begun, repeated: before >= number, done: now }),
    ...now.map(step => `  ${step}`),
    ...(naming?.text ?? []),
    await nextOf(invocation),
  ].join('\n');
}

/**
 * Renames the default tenant to the operator's `--tenant-name`, also if phase 2 was complete
 * before, and reports its name.
 */
async function nameDefaultTenant({
  migration,
  options,
  report,
}: Invocation): Promise<{ renamed: boolean; text: string[] }> {
  const { context } = migration;
  const name = await readDefaultTenantName(context);
  const { tenantName: wanted } = options;
  if (name === undefined) {
    return { renamed: false, text: [] };
  }
  if (wanted !== undefined && wanted !== name) {
    await renameDefaultTenant(context, wanted);
    report({ tenantName: options.dryRun ? name : wanted });
    return {
      renamed: true,
      text: [
        options.dryRun
          ? `Its default tenant is named "${name}" until then.`
          : `The default tenant is named "${wanted}" now; it was "${name}".`,
      ],
    };
  }
  report({ tenantName: name });
  const command = operatorCommand(
    'phase2',
    '--tenant-name "<name of your organisation>"',
  );
  return {
    renamed: false,
    text: [
      `The default tenant is named "${name}".`,
      ...(wanted === undefined && name === DEFAULT_TENANT_NAME
        ? [
            `That is the name by default. To rename it, at any time: ${command}.`,
          ]
        : []),
    ],
  };
}

function summary(run: {
  number: PhaseNumber;
  begun: boolean;
  repeated: boolean;
  done: string[];
}): string {
  const { number, begun, repeated, done } = run;
  if (!begun) {
    return `Phase ${number} was complete already.`;
  }
  return repeated
    ? `Phase ${number} was complete already, and has succeeded again.`
    : `Phase ${number} is complete: ${formatThings(done.length, 'step')} done.`;
}

function announce(
  { reporter }: Invocation,
  about: { phase: Phase; done: string[]; rows: RowCounts },
): void {
  const { number, title, steps } = about.phase;
  reporter.info(
    [
      `Phase ${number}: ${title} (${expectation(number, about.rows)})`,
      ...steps.map(step =>
        `  ${step.name}: ${step.title}`.concat(
          about.done.includes(step.name) ? ' (done)' : '',
        ),
      ),
    ].join('\n'),
  );
}

/** The next step of the operator after the last complete phase. */
export async function nextOf({ migration }: Invocation): Promise<string> {
  const phase = await migration.completedPhase();
  if (phase === 0) {
    return `Next: ${operatorCommand('phase1')}.`;
  }
  if (await readCreatedCatalog(migration.context)) {
    if (phase === 6) {
      return 'Watch the application through the gradual rollout.';
    }
    const { what, command } = await readNext(migration);
    return `Next: ${what}${command ? ` (${command})` : ''}.`;
  }
  return guidance[phase].next;
}
