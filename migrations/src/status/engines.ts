import type { StepContext } from '../engine/Step';
import {
  DEFAULT_TENANT_ID,
  ENGINE_STATUS_TABLE,
  ENGINES_TABLE,
  LEASES_TABLE,
  PROCESSES_TABLE,
} from '../schema/tables';
import { enumerate, formatThings, formatTime } from '../text';

/** The engine of a tenant that an operator should know of. */
interface NoticedEngine {
  slug: string;
  state: string;
  /** Why it failed, while it has. */
  reason: string | null;
  pausedAt: Date | null;
  pausedBy: string | null;
}

/** What the engines of active tenants do. */
export interface EnginesStatus {
  engines: number;
  /** How many are in each state: `running`, `asleep`, `failed`, `paused` and others. */
  states: Record<string, number>;
  /** The live processes, and of how many tenants each does the background work. */
  processes: { name: string; tenants: number }[];
  /** Those that failed, have no process or are paused, in this order. */
  noticed: NoticedEngine[];
}

const TABLES = [
  ENGINES_TABLE,
  LEASES_TABLE,
  PROCESSES_TABLE,
  ENGINE_STATUS_TABLE,
  'tenants',
];

/** The states to look at, in their order. */
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
  const [{ readable }] = await executor.read<{ readable: boolean }>(
    `select count(*) = $2 as readable
       from unnest($1::text[]) name
       join pg_class c on c.oid = to_regclass(quote_ident(name))
      where has_table_privilege(c.oid, 'select')`,
    [TABLES, TABLES.length],
  );
  if (!readable) {
    return null;
  }
  const engines = await executor.read<NoticedEngine>(
    // A row of which no process is known was written where there are no leases.
    `select t.tenant_slug as slug,
            e.paused_at as "pausedAt", e.paused_by as "pausedBy",
            case when e.paused_at is not null then 'paused'
                 when p.process_id is null and (s.tenant_id is null or s.process_id is not null)
                   then 'unassigned'
                 -- An earlier version of the table lacks the column.
                 when to_jsonb(s) ->> 'wake_at' is not null then 'asleep'
                 when s.process_id is distinct from p.process_id then 'starting'
                 else s.state end as state,
            case when s.state = 'failed' then s.reason end as reason
       from tenants t
       left join ${ENGINES_TABLE} e on e.tenant_id = t.tenant_id
       left join ${ENGINE_STATUS_TABLE} s on s.tenant_id = t.tenant_id
       left join ${LEASES_TABLE} l on l.tenant_id = t.tenant_id
       left join ${PROCESSES_TABLE} p
         on p.process_id = l.process_id and p.expires_at > now()
      where t.tenant_id <> '${DEFAULT_TENANT_ID}' and t.deleted_at is null
        -- In a database without engines there is none of these.
        and (e.tenant_id is not null or s.tenant_id is not null or l.tenant_id is not null)
      order by t.tenant_slug collate "C"`,
  );
  const states: Record<string, number> = {};
  for (const { state } of engines) {
    states[state] = (states[state] ?? 0) + 1;
  }
  return {
    engines: engines.length,
    states,
    processes: await executor.read(
      `select p.name, count(l.tenant_id)::int as tenants
         from ${PROCESSES_TABLE} p left join ${LEASES_TABLE} l using (process_id)
        where p.expires_at > now()
        group by p.process_id, p.name order by p.name collate "C", p.process_id`,
    ),
    noticed: NOTICED.flatMap(state =>
      engines.filter(engine => engine.state === state),
    ),
  };
}

// A portal may have hundreds of tenants.
const LISTED = 10;

/** The engines as text: a summary, and at most ten lines about single ones. */
export function renderEngines(status: EnginesStatus | null): string {
  if (!status || status.engines === 0) {
    return '';
  }
  const { engines, noticed, processes, states } = status;
  const more = noticed.length - LISTED;
  return [
    `Engines of ${formatThings(engines, 'tenant')}: ${Object.entries(states)
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([state, count]) => `${count} ${state}`)
      .join(', ')}.`,
    processes.length === 0
      ? 'No process does their background work.'
      : `Processes that do their background work: ${enumerate(
          processes.map(
            ({ name, tenants }) =>
              `${name} (${formatThings(tenants, 'tenant')})`,
          ),
        )}.`,
    ...noticed
      .slice(0, LISTED)
      .map(each => `  ${each.slug}: ${describe(each)}`),
    ...(more > 0 ? [`  and ${more} more`] : []),
  ].join('\n');
}

function describe(engine: NoticedEngine): string {
  const { pausedAt, pausedBy, reason, state } = engine;
  switch (state) {
    case 'failed':
      return `failed: ${reason}`;
    case 'paused':
      return `paused by ${pausedBy} since ${formatTime(pausedAt!)}`;
    default:
      return 'no process does its background work';
  }
}
