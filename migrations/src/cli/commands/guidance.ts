import type { Executor } from '../../engine/Executor';
import type { PhaseNumber, StepContext } from '../../engine/Step';
import { operatorCommand } from '../../operatorCommand';
import { TENANT_TABLES } from '../../schema/tables';
import type { TenantTable } from '../../schema/tables';
import { formatThings } from '../../text';

/** The texts about a phase, after the specification's table. */
interface Guidance {
  /** For its help. */
  description: string;
  /** Its effect on the application. */
  notice: string;
  /** Work that its duration does not include, if any. */
  besides?: string;
  /** What the operator does after it. */
  next: string;
}

export const guidance: Record<PhaseNumber, Guidance> = {
  1: {
    description:
      'Phase 1: create the table tenants, and add a nullable tenant_id to entities, relations and refresh_state.',
    notice: 'no downtime',
    next:
      'The application goes on as it is; rows that it writes from now on get the default tenant. ' +
      `Next: ${operatorCommand(
        'phase2',
        '--tenant-name "<name of your organisation>"',
      )}.`,
  },
  2: {
    description:
      'Phase 2: create the default tenant and give it all rows; then tenant_id is NOT NULL and references tenants.',
    notice: 'no downtime',
    next:
      `The application goes on as it is. Next: ${operatorCommand('phase3')}, ` +
      'which prepares what the new application needs, and then deploy that.',
  },
  3: {
    description:
      'Phase 3: prepare the roles, grants, unique keys and constraints that the new application works with.',
    notice: 'no downtime',
    besides: 'the deployment that follows',
    next:
      'Give portal_app a password (\\password portal_app in psql), and deploy the new application with ' +
      `MULTI_TENANCY_ENABLED unset. Next, when no old one is connected: ${operatorCommand(
        'phase4',
      )}.`,
  },
  4: {
    description:
      'Phase 4: enable row-level security with one policy for each table, and grant portal_admin to portal_app.',
    notice: 'no downtime',
    next:
      'Watch the application for "permission denied for table", which means a query without a tenant. ' +
      `Next: ${operatorCommand('phase5')}, which copies while the ` +
      'application writes, and then swaps the tables.',
  },
  5: {
    description:
      'Phase 5: copy into partitioned tables, compare, and swap them in with composite keys.',
    notice: 'the swap is one short transaction for which writers wait',
    next:
      'Next: set MULTI_TENANCY_ENABLED=true, restart the application, and run ' +
      `${operatorCommand('phase6', '--base-url <url>')}. ` +
      `The way back stays until ${operatorCommand('cleanup')}.`,
  },
  6: {
    description:
      'Phase 6: check with the smoke tests that multi-tenancy is active.',
    notice: 'no downtime',
    besides: 'the rollout',
    next:
      'Watch the application through the gradual rollout. When the old tables are not needed any more, ' +
      `24 to 48 hours after the swap: ${operatorCommand('cleanup')}.`,
  },
};

/** The rows that a phase processes. */
export interface RowCounts {
  entities: number;
  /** Those of relations and refresh_state. */
  others: number;
}

/**
 * The duration of a phase, in seconds: the least, and in addition for a million rows and for
 * a million entities. From the benchmark of 5,000,000 rows on two idle processors, and the
 * fill of entity_terms of the runbook.
 */
const COSTS: Record<
  PhaseNumber,
  { least: number; rows: number; entities: number }
> = {
  1: { least: 1, rows: 1, entities: 0 },
  2: { least: 1, rows: 17, entities: 0 },
  3: { least: 1, rows: 2.5, entities: 0 },
  4: { least: 1, rows: 1.5, entities: 0 },
  5: { least: 2, rows: 22, entities: 250 },
  6: { least: 5, rows: 0, entities: 0 },
};

const UNITS = [
  { unit: 's', seconds: 1, until: 100 },
  { unit: 'min', seconds: 60, until: 6000 },
  { unit: 'h', seconds: 3600, until: Infinity },
];

// The factor for slower disks and an application that writes all the time.
const SLOWEST = 5;

/** The expected duration of a phase, and its effect on the application. */
export function expectation(number: PhaseNumber, rows: RowCounts): string {
  const { notice, besides } = guidance[number];
  const cost = COSTS[number];
  const all = rows.entities + rows.others;
  const seconds =
    cost.least + (cost.rows * all + cost.entities * rows.entities) / 1_000_000;
  return [
    formatRange(seconds, seconds * SLOWEST),
    ...(cost.rows > 0 ? [`for about ${formatThings(all, 'row')}`] : []),
    ...(besides ? [`without ${besides}`] : []),
  ]
    .join(' ')
    .concat(`; ${notice}`);
}

/** A range of seconds, in the unit that fits its end. */
function formatRange(from: number, to: number): string {
  if (to <= 15) {
    return 'a few seconds';
  }
  const { unit, seconds } = UNITS.find(({ until }) => to < until)!;
  const first = Math.floor(from / seconds);
  const last = Math.ceil(to / seconds);
  return first < 1 ? `up to ${last} ${unit}` : `${first} to ${last} ${unit}`;
}

/** Estimates the rows by PostgreSQL's planner, which reads none of them. */
export async function estimateRows({
  executor,
}: Pick<StepContext, 'executor'>): Promise<RowCounts> {
  const counts: RowCounts = { entities: 0, others: 0 };
  for (const table of TENANT_TABLES) {
    counts[table === 'entities' ? 'entities' : 'others'] += await plannedRows(
      executor,
      table,
    );
  }
  return counts;
}

async function plannedRows(
  executor: Executor,
  table: TenantTable,
): Promise<number> {
  // In a dry run on a fresh database the tables do not exist. For an empty table the planner
  // would estimate some pages.
  const [{ bytes }] = await executor.read<{ bytes: number }>(
    `select coalesce(sum(pg_relation_size(oid)), 0)::float8 as bytes
       from (select to_regclass($1)::oid as oid
              union select relid from pg_partition_tree(to_regclass($1))) as parts`,
    [table],
  );
  if (bytes === 0) {
    return 0;
  }
  const [plan] = await executor.read<{
    'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }];
  }>(`explain (format json) select from ${table}`);
  return plan['QUERY PLAN'][0].Plan['Plan Rows'];
}
