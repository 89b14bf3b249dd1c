import { engineSchemaOf } from '../adopt/engine';
import { reading } from '../adopt/rights';
import type { Executor } from '../engine/Executor';
import type { StepContext } from '../engine/Step';
import {
  DEFAULT_TENANT_ID,
  ENGINE_STATUS_TABLE,
  ENGINES_TABLE,
  LEASES_TABLE,
  PROCESSES_TABLE,
} from '../schema/tables';
import { escapeIdentifier, escapeLiteral } from '../sql';
import { enumerate, formatSeconds, formatThings, formatTime } from '../text';

/**
 * The engine of a tenant that an operator should know of.
 *
 * @public
 */
export interface NoticedEngine {
  /** The id of its tenant. */
  tenantId: string;
  /** The slug of its tenant. */
  slug: string;
  /** As in {@link EnginesStatus.states}. */
  state: string;
  /** Why it failed, while it has. */
  reason: string | null;
  /** For how long its oldest item is due; `null` where that can't be read. */
  lagSeconds: number | null;
  /** Since when it is paused. */
  pausedAt: Date | null;
  /** The user or service that paused it. */
  pausedBy: string | null;
}

/**
 * What the engines of active tenants do.
 *
 * @public
 */
export interface EnginesStatus {
  /** How many tenants have one. */
  engines: number;
  /** How many are in each state: `running`, `failed`, `paused`, `unassigned` and others. */
  states: Record<string, number>;
  /** The live processes, and of how many tenants each does the background work. */
  processes: { name: string; tenants: number }[];
  /** Those that failed, have no process, are far behind or are paused, in this order. */
  noticed: NoticedEngine[];
}

const TABLES = [
  ENGINES_TABLE,
  LEASES_TABLE,
  PROCESSES_TABLE,
  ENGINE_STATUS_TABLE,
  'tenants',
];

/** An engine that is less behind is not worth a line. */
const LAGGING_SECONDS = 600;
const SCHEMAS_PER_QUERY = 100;
/** Behind the failed, the unassigned, those that lag and the paused. */
const NOT_URGENT = 4;

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
  const engines = await executor.read<Omit<NoticedEngine, 'lagSeconds'>>(
    // A row of which no process is known was written where there are no leases.
    `select t.tenant_id::text as "tenantId", t.tenant_slug as slug,
            e.paused_at as "pausedAt", e.paused_by as "pausedBy",
            case when e.paused_at is not null then 'paused'
                 when p.process_id is null and (s.tenant_id is null or s.process_id is not null)
                   then 'unassigned'
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
  const lags = await readLags(
    context,
    engines.map(({ tenantId }) => tenantId),
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
    noticed: engines
      .map(engine => ({
        ...engine,
        lagSeconds: lags.get(engine.tenantId) ?? null,
      }))
      .filter(engine => urgencyOf(engine) < NOT_URGENT)
      .sort(
        (one, other) =>
          urgencyOf(one) - urgencyOf(other) ||
          (other.lagSeconds ?? 0) - (one.lagSeconds ?? 0),
      ),
  };
}

function urgencyOf({ state, lagSeconds }: NoticedEngine): number {
  const order = ['failed', 'unassigned', undefined, 'paused'].indexOf(state);
  if (order >= 0) {
    return order;
  }
  return (lagSeconds ?? 0) > LAGGING_SECONDS ? 2 : NOT_URGENT;
}

/** Of the engines whose tables the login may read, in seconds. */
async function readLags(
  { executor }: Pick<StepContext, 'executor'>,
  tenantIds: string[],
): Promise<Map<string, number>> {
  const bySchema = new Map(tenantIds.map(id => [engineSchemaOf(id), id]));
  const [first] = await executor.read<{ schema: string }>(
    `select n.nspname as schema
       from pg_namespace n join pg_class c on c.relnamespace = n.oid
      where n.nspname = any ($1) and c.relname = 'final_entities' limit 1`,
    [[...bySchema.keys()]],
  );
  if (!first) {
    return new Map();
  }
  const engine = { tenantId: tenantIds[0], schema: first.schema };
  // The schemas are the login's, all of them.
  return reading({ executor }, engine, async () => {
    const readable = await executor.read<{ schema: string }>(
      `select n.nspname as schema
         from pg_namespace n join pg_class c on c.relnamespace = n.oid
        where n.nspname = any ($1) and c.relname in ('refresh_state', 'stitch_queue')
          and has_schema_privilege(n.oid, 'usage') and has_table_privilege(c.oid, 'select')
        group by n.nspname having count(*) = 2`,
      [[...bySchema.keys()]],
    );
    const lags = new Map<string, number>();
    for (let from = 0; from < readable.length; from += SCHEMAS_PER_QUERY) {
      const rows = await readDue(
        executor,
        readable.slice(from, from + SCHEMAS_PER_QUERY),
      );
      for (const { schema, seconds } of rows) {
        lags.set(bySchema.get(schema) ?? schema, seconds);
      }
    }
    return lags;
  });
}

/** Two look-ups in an index for each schema. */
async function readDue(
  executor: Executor,
  schemas: { schema: string }[],
): Promise<{ schema: string; seconds: number }[]> {
  const first = (schema: string, table: string, column: string) =>
    `(select min(${column}) from ${escapeIdentifier(
      schema,
    )}.${table} where ${column} <= now())`;
  return executor.read(
    schemas
      .map(
        ({ schema }) =>
          `select ${escapeLiteral(schema)} as schema,
                  coalesce(extract(epoch from now() - least(
                    ${first(schema, 'refresh_state', 'next_update_at')},
                    ${first(
                      schema,
                      'stitch_queue',
                      'next_stitch_at',
                    )})), 0)::int as seconds`,
      )
      .join('\nunion all\n'),
  );
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
  const { lagSeconds, pausedAt, pausedBy, reason, state } = engine;
  const behind = lagSeconds ? `, ${formatSeconds(lagSeconds)} behind` : '';
  switch (state) {
    case 'failed':
      return `failed${behind}: ${reason}`;
    case 'unassigned':
      return `no process does its background work${behind}`;
    case 'paused':
      return `paused by ${pausedBy} since ${
        pausedAt ? formatTime(pausedAt) : 'an unknown time'
      }${behind}`;
    default:
      return `${state}${behind}`;
  }
}
