import { readAdoptionStatus } from '../../adopt/readAdoption';
import { DiskWatch } from '../../disk/DiskWatch';
import type { Phase, PhaseNumber } from '../../engine/Step';
import { cutoverChecklist } from '../../phases/phase6_cutover';
import type { Invocation } from '../CommandDefinition';
import {
  readDefaultTenantName,
  renameDefaultTenant,
} from '../../phases/phase2_backfill/10_default_tenant';
import { DEFAULT_TENANT_NAME } from '../../schema/tables';
import { formatThings } from '../../text';
import { estimateRows, expectation, guidance } from './guidance';
import type { RowCounts } from './guidance';
import { operatorCommand } from '../../operatorCommand';

/**
 * Runs one phase and tells the operator what it was and what comes next.
 *
 * @param disk - the watch of a command that runs several phases
 */
export async function runPhase(
  invocation: Invocation,
  number: PhaseNumber,
  disk?: DiskWatch,
): Promise<string> {
  const { migration, options, steps } = invocation;
  const before = await migration.completedPhase();
  const done = await migration.completedSteps();
  const rows = await estimateRows(migration.context);
  const watch = disk ?? (await DiskWatch.open(migration, options.freeDisk));
  const begun = await watch.during(number, () =>
    migration.runPhase(number, phase =>
      announce(invocation, { phase, done, rows }),
    ),
  );
  const naming = number === 2 ? await nameDefaultTenant(invocation) : undefined;
  if (options.dryRun) {
    return begun || naming?.renamed
      ? `Phase ${number} was printed, its outline first. Nothing was changed.`
      : `Phase ${number} is complete already: there is nothing to print.`;
  }
  const now = await steps.done();
  return [
    summary({ number, begun, repeated: before >= number, done: now }),
    ...now.map(step => `  ${step}`),
    ...(naming?.text ?? []),
    await nextOf(invocation),
    ...(number === 6 ? ['', cutoverChecklist(invocation.settings)] : []),
  ].join('\n');
}

/**
 * Gives the default tenant the name that the operator has given, also where phase 2 was
 * complete before, and says which name it has.
 */
export async function nameDefaultTenant({
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
          ? `Its default tenant is named "${name}" until the script is run.`
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

/** What comes after the last phase that is complete. */
export async function nextOf({ migration }: Invocation): Promise<string> {
  const phase = await migration.completedPhase();
  if (phase === 0) {
    return `Next: ${operatorCommand('phase1')}.`;
  }
  const { next, nextWhenAdopted } = guidance[phase];
  if (nextWhenAdopted) {
    const { adopted } = await readAdoptionStatus(migration.context);
    return adopted ? nextWhenAdopted : next;
  }
  return next;
}
