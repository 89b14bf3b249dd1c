import { renderAdoptedTenants, renderAdoption } from '../../adopt/status';
import { describeOperator } from '../../session/operatorLock';
import type { DistributionStatus } from '../../sharding/shards';
import { renderEngines } from '../../status/engines';
import { describeNext } from '../../status/next';
import { readStatus } from '../../status/readStatus';
import type { StatusReport } from '../../status/readStatus';
import { formatBytes, formatThings, formatTime } from '../../text';
import type { CommandDefinition } from '../run';

/** Reports the state of the migration. */
export const status: CommandDefinition = {
  name: 'status',
  description:
    'Where the migration stands, which command is next, and who is at work.',
  details:
    'It changes nothing and locks nothing, so it may be run at any time.',
  access: 'read',
  options: [],
  async run({ migration, report }) {
    const found = await readStatus(migration);
    report({ ...found });
    return renderStatus(found);
  },
};

/** A status as text: the phase and the next command first. */
export function renderStatus(report: StatusReport): string {
  const { adoption, distribution, operator } = report;
  return [
    [
      renderHeadline(report),
      operator
        ? `At work: ${describeOperator(operator)}.`
        : 'No operator is at work.',
    ].join('\n'),
    renderSwap(report.swap),
    adoption && renderAdoption(adoption),
    renderAdoptedTenants(report.adoptedTenants),
    renderEngines(report.engines),
    distribution && renderDistribution(distribution),
  ]
    .filter(Boolean)
    .join('\n\n');
}

/** The completed phase, and the next commands. */
export function renderHeadline(report: StatusReport): string {
  const { schema, phase, phaseBegun, next, rollbackBegun, swap, unfinished } =
    report;
  return [
    `Schema "${schema}": ${
      phase === 0 ? 'no phase' : `phase ${phase}`
    } is complete.`,
    rollbackBegun &&
      'A rollback was begun and is not complete: run the same command again to end it.',
    !rollbackBegun &&
      swap.undone &&
      'Phase 5 was rolled back: the tables of before are in use, and the partitioned ones are kept to go forward from.',
    !rollbackBegun &&
      !swap.undone &&
      phaseBegun &&
      `Phase ${phaseBegun} has begun.`,
    describeNext(next),
    ...unfinished.map(({ what, command }) => `${what} (${command}).`),
  ]
    .filter(Boolean)
    .join('\n');
}

function renderDistribution({ citus, nodes }: DistributionStatus): string {
  return [
    `The tables of tenants are distributed by Citus ${citus}:`,
    ...nodes.map(({ name, isCoordinator, isActive, bytes, tenants }) =>
      [
        `  ${name}`,
        formatThings(tenants, 'tenant'),
        bytes === null ? 'size not known' : formatBytes(bytes),
        ...(isCoordinator ? ['coordinator'] : []),
        ...(isActive ? [] : ['not active']),
      ].join(', '),
    ),
  ].join('\n');
}

function renderSwap(swap: StatusReport['swap']): string {
  const { swapped, undone, swappedAt, oldTables, cleanupFrom } = swap;
  const when = swappedAt ? ` since ${formatTime(swappedAt)}` : '';
  return [
    swapped && `The partitioned tables are in use${when}.`,
    // The headline reports an undone swap.
    !swapped && !undone && 'The tables are not swapped.',
    oldTables.length > 0 &&
      `The old tables are still there: ${oldTables.join(', ')}.`,
    cleanupFrom && `Cleanup may drop them from ${formatTime(cleanupFrom)} on.`,
  ]
    .filter(Boolean)
    .join('\n');
}
