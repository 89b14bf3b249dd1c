import type { Executor } from '../engine/Executor';
import type { StepContext } from '../engine/Step';
import { columnExists, relationExists } from '../schema/lookups';
import { DEFAULT_TENANT_ID } from '../schema/tables';
import { formatThings } from '../text';
import {
  adoptCommand,
  describeTenant,
  engineTable,
  findEngines,
} from './engine';
import type { Engine } from './engine';
import { tablesWithoutTriggers } from './triggers';
import { reading } from './rights';
import { ADOPTION_STATE, FAULTS, readState } from './state';

// The faults and tenants that are named.
const LISTED = 10;

/** Of a large catalog, a count reads the whole table. */
const MOST_COUNTED = 10_000;

/**
 * A row of the catalog that could not be carried. The default tenant lacks it.
 *
 * @public
 */
export interface AdoptionFault {
  /** The table of the engine: `final_entities`. */
  source: string;
  /** The id of the entity, or `*` and the writing process where it is unknown. */
  key: string;
  /** Why it was not carried, in the words of PostgreSQL. */
  reason: string;
  /** When it failed first. */
  firstSeenAt: Date;
  /** How often it was tried. */
  attempts: number;
}

/**
 * How the catalog of the engine and the default tenant stand to each other.
 *
 * @public
 */
export interface AdoptionStatus {
  /**
   * Whether the default tenant has the entities of the catalog, and every change
   * of it is carried.
   */
  adopted: boolean;
  /** Whether an adoption was begun; it may have been stopped in the middle. */
  begun: boolean;
  /** Whether its end was begun, and is not complete. */
  ending: boolean;
  /** The schema of the engine's tables, if exactly one has them. */
  catalogSchema?: string;
  /** Whether the tables of a stock catalog exist. */
  engineTables: boolean;
  /**
   * How many entities the engine has stitched; an estimate above 10,000, and where the login may
   * not read them.
   */
  engineEntities: number;
  /** How many rows could not be carried. */
  faults: number;
  /** The ten that failed last. */
  latestFaults: AdoptionFault[];
  /** The tables of the engine whose changes are not carried, although they should be. */
  tablesWithoutTriggers: string[];
}

/**
 * A tenant with an adopted engine.
 *
 * @public
 */
export interface AdoptedTenantStatus {
  /** Its id. */
  tenantId: string;
  /** Null where the tenant was deleted for good. */
  slug: string | null;
  /** Whether the tenant is deleted. */
  isDeleted: boolean;
  /** The schema of the engine's tables. */
  catalogSchema: string;
  /** Whether these tables are there. */
  engineTables: boolean;
  /** Whether both sides were equal once, and every change is carried since. */
  isComplete: boolean;
  /** Whether the end of its adoption was begun, and is not complete. */
  isEnding: boolean;
  /** How many rows could not be carried. */
  faults: number;
}

/** Reads which tenants have an adopted engine, without a lock. */
export async function readAdoptedTenantStatus(
  context: StepContext,
): Promise<AdoptedTenantStatus[]> {
  const { executor } = context;
  if (!(await columnExists(executor, ADOPTION_STATE, 'tenant_id'))) {
    return [];
  }
  return executor.read<AdoptedTenantStatus>(
    `select s.tenant_id::text as "tenantId", t.tenant_slug as slug,
            t.deleted_at is not null as "isDeleted",
            s.value ->> 'schema' as "catalogSchema",
            r.oid is not null as "engineTables",
            coalesce((c.value -> 'done')::boolean, false) and not s.value ? 'ending' as "isComplete",
            s.value ? 'ending' as "isEnding",
            coalesce(f.faults, 0)::int as faults
       from ${ADOPTION_STATE} s
       left join tenants t on t.tenant_id = s.tenant_id
       left join ${ADOPTION_STATE} c on c.tenant_id = s.tenant_id and c.key = 'copy'
       left join pg_namespace n on n.nspname = s.value ->> 'schema'
       left join pg_class r on r.relnamespace = n.oid and r.relname = 'final_entities'
       left join (select tenant_id, count(*) as faults from ${FAULTS} group by 1) f
         on f.tenant_id = s.tenant_id
      where s.key = 'engine'
      order by s.tenant_id <> '${DEFAULT_TENANT_ID}', t.tenant_slug, s.tenant_id`,
  );
}

/** The adopted engines with the slugs of their tenants, for messages. */
export async function describeEngines(context: StepContext): Promise<Engine[]> {
  const tenants = await readAdoptedTenantStatus(context);
  return tenants.map(({ tenantId, slug, catalogSchema }) => ({
    tenantId,
    slug,
    schema: catalogSchema,
  }));
}

/** Reads the status of a tenant's adoption, without a lock. */
export async function readAdoptionStatus(
  { executor, settings }: StepContext,
  tenantId = DEFAULT_TENANT_ID,
): Promise<AdoptionStatus> {
  const { engine: adopted, copy } = await readState(executor, tenantId);
  const found = await findEngines(
    { executor, settings },
    tenantId,
    adopted?.schema,
  );
  const engine = found.length === 1 ? found[0] : undefined;
  const ending = adopted?.ending === true;
  const missing =
    adopted && engine && !ending
      ? await tablesWithoutTriggers(executor, engine)
      : [];
  const { faults, latestFaults } = await readFaults(executor, tenantId);
  return {
    adopted:
      engine !== undefined &&
      copy?.done === true &&
      !ending &&
      missing.length === 0,
    begun: adopted !== undefined,
    ending,
    catalogSchema: engine?.schema,
    engineTables: found.length > 0,
    engineEntities: engine ? await countEntities(executor, engine) : 0,
    faults,
    latestFaults,
    tablesWithoutTriggers: missing,
  };
}

async function readFaults(
  executor: Executor,
  tenantId: string,
): Promise<Pick<AdoptionStatus, 'faults' | 'latestFaults'>> {
  if (!(await relationExists(executor, FAULTS))) {
    return { faults: 0, latestFaults: [] };
  }
  const rows = await executor.read<AdoptionFault & { faults: number }>(
    `select source, key, reason, first_seen_at as "firstSeenAt", attempts,
            count(*) over ()::int as faults
       from ${FAULTS} where tenant_id = $1
      order by last_seen_at desc, source, key limit ${LISTED}`,
    [tenantId],
  );
  return {
    faults: rows[0]?.faults ?? 0,
    latestFaults: rows.map(({ faults, ...fault }) => fault),
  };
}

/** The planner's estimate where the login may not read the table, or they are many. */
async function countEntities(
  executor: Executor,
  engine: Engine,
): Promise<number> {
  const [{ may, estimate }] = await executor.read<{
    may: boolean;
    estimate: number;
  }>(
    `select has_schema_privilege(login, n.oid, 'usage')
              and has_table_privilege(login, r.oid, 'select') as may,
            greatest(r.reltuples, 0)::int as estimate
       from pg_class r join pg_namespace n on n.oid = r.relnamespace,
            (values (session_user), (current_user)) roles (login)
      where n.nspname = $1 and r.relname = 'final_entities'
      order by 1 desc limit 1`,
    [engine.schema],
  );
  if (!may) {
    return estimate;
  }
  const [{ entities }] = await reading({ executor }, engine, () =>
    executor.read<{ entities: number }>(
      `select count(*)::int as entities from (
         select from ${engineTable(engine, 'final_entities')}
          where final_entity is not null limit ${MOST_COUNTED}) counted`,
    ),
  );
  return entities < MOST_COUNTED ? entities : Math.max(entities, estimate);
}

const DEFAULT_ENGINE: Engine = { schema: '', tenantId: DEFAULT_TENANT_ID };

/** How many entities the engine has, in words. */
export function formatEntities({ engineEntities }: AdoptionStatus): string {
  const about = engineEntities < MOST_COUNTED ? '' : 'about ';
  return `${about}${formatThings(engineEntities, 'entity')}`;
}

/** The status of an adoption, as text; of the default tenant's by default. */
export function renderAdoption(
  status: AdoptionStatus,
  engine: Engine = DEFAULT_ENGINE,
): string {
  const { adopted, begun, catalogSchema } = status;
  const entities = formatEntities(status);
  const what = `${
    engine.tenantId === DEFAULT_TENANT_ID ? 'stock catalog' : 'engine'
  }${catalogSchema ? ` in the schema "${catalogSchema}"` : ''}`;
  const advice = `(${adoptCommand(engine)})`;
  if (!begun) {
    return `The ${what} with ${entities} is not adopted ${advice}.`;
  }
  if (status.ending) {
    return `The end of the adoption of the ${what} is not complete (${adoptCommand(
      engine,
      'unadopt',
    )}).`;
  }
  return [
    adopted
      ? `The ${what} is adopted: its ${entities} are ${describeTenant(
          engine,
        )}'s.`
      : `The adoption of the ${what} is not complete ${advice}.`,
    ...status.tablesWithoutTriggers.map(
      table =>
        `Changes of ${table} are not carried: its triggers are gone or disabled ${advice}.`,
    ),
    ...renderFaults(status),
  ].join('\n');
}

/** The adoption faults, a line for each. */
export function renderFaults({
  faults,
  latestFaults,
}: AdoptionStatus): string[] {
  const more = faults - latestFaults.length;
  return faults === 0
    ? []
    : [
        `Adoption faults, which could not be carried: ${formatThings(
          faults,
          'row',
        )}.`,
        ...latestFaults.map(
          ({ source, key, reason, attempts }) =>
            `  ${source} ${key}: ${reason} (${formatThings(
              attempts,
              'attempt',
            )})`,
        ),
        ...(more > 0 ? [`  and ${formatThings(more, 'other')}`] : []),
      ];
}

/** The other tenants with an engine, and those of them that an operator should look at. */
export function renderAdoptedTenants(tenants: AdoptedTenantStatus[]): string {
  const others = tenants.filter(
    ({ tenantId }) => tenantId !== DEFAULT_TENANT_ID,
  );
  const noticed = others.filter(
    ({ engineTables, slug, isComplete, faults }) =>
      !engineTables || slug === null || !isComplete || faults > 0,
  );
  const more = noticed.length - LISTED;
  return others.length === 0
    ? ''
    : [
        `${formatThings(others.length, 'other tenant')} with engines${
          noticed.length === 0 ? ', of which nothing is missing' : ''
        }.`,
        ...noticed.slice(0, LISTED).map(describeAdopted),
        ...(more > 0 ? [`  and ${formatThings(more, 'other')}`] : []),
      ].join('\n');
}

/** What is wrong with the engine of a tenant, and what to type. */
function describeAdopted(tenant: AdoptedTenantStatus): string {
  const engine: Engine = { ...tenant, schema: tenant.catalogSchema };
  const { isEnding } = tenant;
  const ends = isEnding || !tenant.engineTables || tenant.slug === null;
  const reasons = [
    ...(tenant.engineTables ? [] : ["its engine's tables are gone"]),
    ...(tenant.slug === null ? ['it is no tenant any more'] : []),
    ...(isEnding ? ['no longer adopted'] : []),
    ...(tenant.isComplete ? [] : ['not complete']),
    ...(tenant.faults > 0
      ? [formatThings(tenant.faults, 'adoption fault')]
      : []),
  ];
  return `  ${describeTenant(engine)}: ${reasons.join(', ')} (${adoptCommand(
    engine,
    ends ? 'unadopt' : 'adopt',
  )})`;
}
