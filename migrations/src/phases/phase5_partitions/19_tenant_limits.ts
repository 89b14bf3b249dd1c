import type { Executor } from '../../engine/Executor';
import type { Step } from '../../engine/Step';
import { columnExists } from '../../schema/lookups';
import { TENANT_LIMITS } from '../../schema/tables';
import { formatThings } from '../../text';

// What the API of the registry takes. Null, as for all tenants that are there, stands for the
// configured default.
const ADD_COLUMNS = `alter table tenants
  ${Object.entries(TENANT_LIMITS)
    .map(
      ([column, most]) => `add column if not exists ${column} int
    constraint tenants_${column}_check check (${column} between 1 and ${most})`,
    )
    .join(',\n  ')}`;

const DROP_COLUMNS = `alter table if exists tenants
  ${Object.keys(TENANT_LIMITS)
    .map(column => `drop column if exists ${column}`)
    .join(',\n  ')}`;

const COMMENTS = [
  `comment on column tenants.concurrency is 'How many operations the tenant may have under way in each process; null for the configured default'`,
  `comment on column tenants.requests_per_second is 'How many requests a second the tenant may send to each process; null for the configured default'`,
  `comment on column tenants.burst is 'How many of these requests may come at once; null for as many as in a second'`,
];

// A backend that starts is not to wait for a writer that does not end: it serves without the
// columns, says so, and tries again at its next start.
const PATIENCE_MS = 30_000;

/**
 * Limits of single tenants, in the registry.
 *
 * A backend that starts adds the columns to a database of which an earlier version completed
 * phase 5. An earlier version that runs beside it does not read them.
 */
export const tenantLimits: Step = {
  name: '5_19_tenant_limits',
  title: 'Add the columns for limits of single tenants',
  isAddition: true,

  creates: () =>
    Object.keys(TENANT_LIMITS).map(name => ({
      kind: 'column',
      name,
      table: 'tenants',
    })),

  async up({ executor }) {
    await executor.transaction({
      title: 'Add the columns for limits of single tenants to tenants',
      locks:
        'ACCESS EXCLUSIVE on tenants, for a change of the catalog and a scan of its few rows. ' +
        'Blocks readers of the registry and writers of rows of tenants meanwhile.',
      tables: ['tenants'],
      patienceMs: PATIENCE_MS,
      statements: [ADD_COLUMNS, ...COMMENTS],
    });
  },

  async down({ executor, reporter }) {
    const limits = await describeLimits(executor);
    if (limits) {
      reporter.warn(`tenants loses ${limits}.`);
    }
    await executor.transaction({
      title: 'Drop the columns for limits of single tenants',
      locks:
        'ACCESS EXCLUSIVE on tenants, for a change of the catalog that reads no row. Who reads ' +
        'the registry, and who writes rows of tenants, waits behind it.',
      tables: ['tenants'],
      statements: [DROP_COLUMNS],
    });
  },
};

/** `the limits of 3 tenants`; nothing where none has limits of its own. */
export async function describeLimits(
  executor: Executor,
): Promise<string | undefined> {
  const columns = Object.keys(TENANT_LIMITS);
  for (const column of columns) {
    if (!(await columnExists(executor, 'tenants', column))) {
      return undefined;
    }
  }
  const [{ limited }] = await executor.read<{ limited: number }>(
    `select count(*)::int as limited from tenants
      where coalesce(${columns.join(', ')}) is not null`,
  );
  return limited === 0
    ? undefined
    : `the limits of ${formatThings(limited, 'tenant')}`;
}
