import Table from 'cli-table3';
import { renderAdoptedTenants, renderAdoption } from '../../adopt/status';
import { describeRows } from '../../rollback/rollback';
import { describeOperator } from '../../session/operatorLock';
import { renderEngines } from '../../status/engines';
import { renderPackages } from '../../status/packages';
import { readStatus } from '../../status/readStatus';
import type {
  Leftover,
  StatusReport,
  SwapStatus,
} from '../../status/StatusReport';
import { formatBytes, formatCount, formatThings, formatTime } from '../../text';
import type { DistributionStatus } from '../../sharding/shards';
import { stepsOption } from '../options';
import type { CommandDefinition } from '../run';

/** Reports the state of the migration. */
export const status: CommandDefinition = {
  name: 'status',
  description:
    'Where the migration stands, which command is next, who is at work, and sizes.',
  details:
    'It changes nothing and locks nothing, so it may be run at any time.',
  access: 'read',
  options: [stepsOption],
  async run({ migration, options, report }) {
    const found = await readStatus(migration);
    report({ ...found });
    return renderStatus(found, options);
  },
};

/**
 * A status as text, for a terminal or a log: the phase and the next command first.
 *
 * @param options - with `steps`, every step of every phase too
 */
export function renderStatus(
  report: StatusReport,
  options: { steps?: boolean } = {},
): string {
  return [
    `${renderHeadline(report)}\n${renderOperator(report)}`,
    renderSwap(report.swap),
    ...(report.adoption ? [renderAdoption(report.adoption)] : []),
    renderAdoptedTenants(report.adoptedTenants),
    renderEngines(report.engines),
    renderPackages(report.packages),
    renderRest(report),
    renderTables(report),
    ...(report.distribution
      ? [renderDistribution(report.distribution, options)]
      : []),
    ...(options.steps ? [renderSteps(report)] : []),
  ]
    .filter(Boolean)
    .join('\n\n');
}

/** The completed phase, and the next commands. */
export function renderHeadline(report: StatusReport): string {
  const { schema, phase, next, back } = report;
  return [
    phase === 0
      ? `Schema "${schema}": no phase is complete.`
      : `Schema "${schema}": phase ${phase} is complete.`,
    ...describeUnfinished(report),
    `Next: ${next.what}${next.command ? ` (${next.command})` : ''}`,
    ...(back ? [`Or back: ${back.what} (${back.command})`] : []),
  ].join('\n');
}

function renderOperator({ operator }: StatusReport): string {
  return operator
    ? `At work: ${describeOperator(operator)}.`
    : 'No operator is at work.';
}

function describeUnfinished({
  phaseBegun,
  rollbackBegun,
  swap,
}: StatusReport): string[] {
  if (rollbackBegun) {
    return ['A rollback was begun and is not complete.'];
  }
  if (swap.undone) {
    return [
      'Phase 5 was rolled back: the tables of before are in use, and the partitioned ones are kept to go forward from.',
    ];
  }
  return phaseBegun ? [`Phase ${phaseBegun} has begun.`] : [];
}

function renderSteps({ steps }: StatusReport): string {
  return table(
    ['Step', 'What it does', 'Done'],
    steps.map(({ name, title, doneAt }) => [
      name,
      title,
      doneAt ? formatTime(doneAt) : '',
    ]),
  );
}

function renderTables({ tables }: StatusReport): string {
  if (tables.length === 0) {
    return 'None of the tables exists.';
  }
  return table(
    ['Table', 'Rows (about)', 'Size', 'Partitions'],
    tables.map(({ name, rows, bytes, partitions }) => [
      name,
      formatCount(rows),
      formatBytes(bytes),
      partitions > 0 ? formatCount(partitions) : '',
    ]),
  );
}

function renderDistribution(
  { citus, nodes, tenants, withoutForce }: DistributionStatus,
  { steps }: { steps?: boolean },
): string {
  return [
    `The tables of tenants are distributed by Citus ${citus}:`,
    table(
      ['Node', 'Tenants', 'Shards', 'Size', ''],
      nodes.map(({ name, isCoordinator, isActive, shards, bytes, ...node }) => [
        name,
        formatCount(node.tenants),
        formatCount(shards),
        bytes === null ? 'not known' : formatBytes(bytes),
        [isCoordinator ? 'coordinator' : '', isActive ? '' : 'not active']
          .filter(Boolean)
          .join(', '),
      ]),
    ),
    ...(withoutForce.length > 0
      ? [
          `Row-level security is not forced on ${withoutForce.join(
            ', ',
          )}: a move ` +
            'of a tenant is under way, or was killed. The next one restores it.',
        ]
      : []),
    ...(steps
      ? [
          table(
            ['Tenant', 'Node', 'Shard', 'Others in it'],
            tenants.map(({ slug, node, shard, neighbours }) => [
              slug,
              node,
              String(shard),
              formatCount(neighbours),
            ]),
          ),
        ]
      : []),
  ].join('\n');
}

function renderSwap(swap: SwapStatus): string {
  const { swapped, undone, swappedAt, oldTables, cleanupFrom } = swap;
  const when = swappedAt ? ` since ${formatTime(swappedAt)}` : '';
  return [
    ...(swapped ? [`The partitioned tables are in use${when}.`] : []),
    // The headline reports an undone swap.
    ...(swapped || undone ? [] : ['The tables are not swapped.']),
    ...(oldTables.length > 0
      ? [
          `The old tables are still there: ${oldTables.join(', ')}.`,
          cleanupFrom
            ? `Cleanup may drop them from ${formatTime(cleanupFrom)} on.`
            : 'Cleanup may drop them 24 hours after the swap.',
        ]
      : []),
  ].join('\n');
}

function renderRest({ work, changeLog, leftovers }: StatusReport): string {
  return [
    // Completed work shows among the steps.
    ...work
      .filter(({ pagesDone, pages }) => pagesDone < pages)
      .map(
        ({ name, pagesDone, pages }) =>
          `Progress of ${name}: ${formatCount(pagesDone)} of ` +
          `${formatThings(pages, 'page')} (${percent(pagesDone, pages)}).`,
      ),
    ...(changeLog
      ? [
          `Entries of the change log: about ${formatCount(changeLog.rows)} ` +
            `(${formatBytes(changeLog.bytes)}).`,
        ]
      : []),
    ...leftovers.map(leftover => `Left over: ${describeLeftover(leftover)}.`),
  ].join('\n');
}

function describeLeftover(leftover: Leftover): string {
  const { kind, name, table: on, otherTenants } = leftover;
  if (kind !== 'table') {
    return `${kind} ${name} of ${on}`;
  }
  const others = otherTenants?.length
    ? `${describeRows(otherTenants)}, which are nowhere else, and `
    : '';
  return `table ${name}. It holds ${others}a copy of the default tenant's rows`;
}

function percent(part: number, whole: number): string {
  return `${Math.floor(whole > 0 ? (100 * part) / whole : 100)} %`;
}

function table(head: string[], rows: string[][]): string {
  const rendered = new Table({
    head,
    // No colours: the output may go to a file.
    style: { head: [], border: [] },
    // No line between rows.
    chars: { mid: '', 'left-mid': '', 'mid-mid': '', 'right-mid': '' },
  });
  rendered.push(...rows);
  return rendered.toString();
}
