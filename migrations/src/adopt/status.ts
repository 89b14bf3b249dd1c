import type { Executor } from '../engine/Executor';
import type { StepContext } from '../engine/Step';
import { operatorCommand } from '../operatorCommand';
import { relationExists } from '../schema/lookups';
import { formatThings } from '../text';
import { engineTable, findEngines } from './engine';
import type { Engine } from './engine';
import { tablesWithoutTriggers } from './objects';
import { reading } from './rights';
import { FAULTS, readState } from './state';

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
  /** The schema of the engine's tables, if exactly one has them. */
  catalogSchema?: string;
  /** Whether the tables of a stock catalog exist. */
  engineTables: boolean;
  /** How many entities the engine has stitched; an estimate where the login may not read them. */
  engineEntities: number;
  /** How many rows could not be carried. */
  faults: number;
  /** The ten that failed last. */
  latestFaults: AdoptionFault[];
  /** The tables of the engine whose changes are not carried, although they should be. */
  tablesWithoutTriggers: string[];
}

/** Reads the status of the adoption, without a lock. */
export async function readAdoptionStatus({
  executor,
  settings,
}: StepContext): Promise<AdoptionStatus> {
  const { engine: adopted, copy } = await readState(executor);
  const found = await findEngines({ executor, settings });
  const engine = adopted
    ? found.find(({ schema }) => schema === adopted.schema)
    : onlyOne(found, settings.catalogSchema);
  const missing =
    adopted && engine ? await tablesWithoutTriggers(executor, engine) : [];
  return {
    adopted:
      engine !== undefined && copy?.done === true && missing.length === 0,
    begun: adopted !== undefined,
    catalogSchema: engine?.schema,
    engineTables: found.length > 0,
    engineEntities: engine ? await countEntities(executor, engine) : 0,
    faults: (await relationExists(executor, FAULTS))
      ? await count(executor, FAULTS)
      : 0,
    latestFaults: await readFaults(executor),
    tablesWithoutTriggers: missing,
  };
}

async function readFaults(executor: Executor): Promise<AdoptionFault[]> {
  if (!(await relationExists(executor, FAULTS))) {
    return [];
  }
  return executor.read<AdoptionFault>(
    `select source, key, reason, first_seen_at as "firstSeenAt", attempts
       from ${FAULTS} order by last_seen_at desc, source, key limit 10`,
  );
}

/** The planner's estimate where the login may not read the table. */
async function countEntities(
  executor: Executor,
  engine: Engine,
): Promise<number> {
  const table = engineTable(engine, 'final_entities');
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
  return may
    ? reading({ executor }, engine, () =>
        count(executor, table, 'final_entity is not null'),
      )
    : estimate;
}

function onlyOne(found: Engine[], wanted?: string): Engine | undefined {
  return wanted === undefined && found.length > 1
    ? undefined
    : found.find(({ schema }) => wanted === undefined || schema === wanted);
}

async function count(
  executor: Executor,
  table: string,
  condition = 'true',
): Promise<number> {
  const [{ rows }] = await executor.read<{ rows: number }>(
    `select count(*)::int as rows from ${table} where ${condition}`,
  );
  return rows;
}

/** The status of an adoption, as text. */
export function renderAdoption(status: AdoptionStatus): string {
  const { adopted, begun, catalogSchema, engineEntities } = status;
  const entities = formatThings(engineEntities, 'entity', 'entities');
  const where = catalogSchema ? ` in the schema "${catalogSchema}"` : '';
  if (!begun) {
    return (
      `There is a stock catalog${where} with ${entities}, which is not adopted ` +
      `(${operatorCommand('adopt')}).`
    );
  }
  return [
    adopted
      ? `The stock catalog${where} is adopted: its ${entities} are the default tenant's.`
      : `The adoption of the stock catalog${where} is not complete (${operatorCommand(
          'adopt',
        )}).`,
    ...status.tablesWithoutTriggers.map(
      table =>
        `Changes of ${table} are not carried: its triggers are gone or disabled (${operatorCommand(
          'adopt',
        )}).`,
    ),
    ...renderFaults(status),
  ].join('\n');
}

/** The adoption faults, a line for each. */
export function renderFaults({
  faults,
  latestFaults,
}: AdoptionStatus): string[] {
  if (faults === 0) {
    return [];
  }
  const more = faults - latestFaults.length;
  return [
    `Kept aside, because it could not be carried: ${formatThings(
      faults,
      'row',
    )}.`,
    ...latestFaults.map(
      ({ source, key, reason, attempts }) =>
        `  ${source} ${key}: ${reason} (${formatThings(attempts, 'attempt')})`,
    ),
    ...(more > 0 ? [`  and ${formatThings(more, 'other')}`] : []),
  ];
}
