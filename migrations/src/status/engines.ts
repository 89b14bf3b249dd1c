import type { StepContext } from '../engine/Step';
import {
  DEFAULT_TENANT_ID,
  ENGINE_STATUS_TABLE,
  ENGINES_TABLE,
  LEASES_TABLE,
  PROCESSES_TABLE,
} from '../schema/tables';
import { areReadable } from '../schema/lookups';
import { enumerate, formatThings } from '../text';

/** What the engines of active tenants do. */
export interface EnginesStatus {
  engines: number;
  /** How many are in each state: `running`, `asleep`, `failed`, `paused` and others. */
  states: Record<string, number>;
  /** The live processes, and of how many tenants each does the background work. */
  processes: { name: string; tenants: number }[];
  /** The tenants whose engines failed, have no process or are paused, by these states. */
  noticed: Record<string, string[]>;
}

const TABLES = [
  ENGINES_TABLE,
  LEASES_TABLE,
  PROCESSES_TABLE,
  ENGINE_STATUS_TABLE,
  'tenants',
];

/** The states to look at. */
const NOTICED = ['failed', 'unassigned', 'paused'];

/**
 * Reads what the engines do; it takes no lock that anything waits for.
 *
 * @returns `null` where the tables are not there, or the login may not read them
 */
export async function readEngines(
  context: Pick<StepContext, 'executor'>,
): Promise<EnginesStatus | null> {
  const { executor } = context;
  if (!(await areReadable(executor, TABLES))) {
    return null;
  }
  const found = await executor.read<{ state: string; slugs: string[] }>(
    // A row of which no process is known was written where there are no leases.
    `select case when e.paused_at is not null then 'paused'
                 when p.process_id is null and (s.tenant_id is null or s.process_id is not null)
                   then 'unassigned'
                 -- An earlier version of the table lacks the column.
                 when to_jsonb(s) ->> 'wake_at' is not null then 'asleep'
                 when s.process_id is distinct from p.process_id then 'starting'
                 else s.state end as state,
            array_agg(t.tenant_slug order by t.tenant_slug collate "C") as slugs
       from tenants t
       left join ${ENGINES_TABLE} e on e.tenant_id = t.tenant_id
       left join ${ENGINE_STATUS_TABLE} s on s.tenant_id = t.tenant_id
       left join ${LEASES_TABLE} l on l.tenant_id = t.tenant_id
       left join ${PROCESSES_TABLE} p
         on p.process_id = l.process_id and p.expires_at > now()
      where t.tenant_id <> '${DEFAULT_TENANT_ID}' and t.deleted_at is null
        -- In a database without engines there is none of these.
        and (e.tenant_id is not null or s.tenant_id is not null or l.tenant_id is not null)
      group by 1 order by 1`,
  );
  return {
    engines: found.reduce((sum, { slugs }) => sum + slugs.length, 0),
    states: Object.fromEntries(
      found.map(({ state, slugs }) => [state, slugs.length]),
    ),
    noticed: Object.fromEntries(
      found
        .filter(({ state }) => NOTICED.includes(state))
        .map(({ state, slugs }) => [state, slugs]),
    ),
    processes: await executor.read(
      `select p.name, count(l.tenant_id)::int as tenants
         from ${PROCESSES_TABLE} p left join ${LEASES_TABLE} l using (process_id)
        where p.expires_at > now()
        group by p.process_id, p.name order by p.name collate "C", p.process_id`,
    ),
  };
}

/** The engines as text, with ten tenants at the most by name for each state. */
export function renderEngines(status: EnginesStatus | null): string {
  if (!status || status.engines === 0) {
    return '';
  }
  const { engines, noticed, processes, states } = status;
  const named = (state: string) =>
    noticed[state] ? ` (${enumerate(noticed[state])})` : '';
  return [
    `Engines of ${formatThings(engines, 'tenant')}: ${Object.entries(states)
      .map(([state, count]) => `${count} ${state}${named(state)}`)
      .join(', ')}.`,
    processes.length === 0
      ? 'No process does their background work.'
      : `Processes that do their background work: ${enumerate(
          processes.map(
            ({ name, tenants }) =>
              `${name} (${formatThings(tenants, 'tenant')})`,
          ),
        )}.`,
  ].join('\n');
}
