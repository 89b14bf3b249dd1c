import type { Executor } from '../engine/Executor';
import type { StepContext } from '../engine/Step';
import { relationExists } from '../schema/lookups';
import { engineTable, findEngines } from './engine';
import type { Engine } from './engine';
import { FAULTS } from './names';
import { reading } from './rights';
import { readState } from './state';
import { tablesWithoutTriggers } from './triggers';

/**
 * Something of the catalog that could not be carried. The default tenant lacks it.
 *
 * @public
 */
export interface AdoptionFault {
  /** The table of the engine: `final_entities`. */
  source: string;
  /** The id of the entity, or `*` and who has written where that is not known. */
  key: string;
  /** Why it was not carried, in the words of PostgreSQL. */
  reason: string;
  /** Since when it is kept aside. */
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
  /** The schema of the engine's tables, if they are found, and told from others. */
  catalogSchema?: string;
  /** Whether the tables of a stock catalog are there. */
  engineTables: boolean;
  /** How many entities the engine has stitched; an estimate where the login may not read them. */
  engineEntities: number;
  /** How many rows are kept aside because they could not be carried. */
  faults: number;
  /** Those of them that were seen last. */
  latestFaults: AdoptionFault[];
  /** The tables of the engine whose changes are not carried, although they should be. */
  tablesWithoutTriggers: string[];
}

/** Reads it; nothing is locked. */
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

/** As PostgreSQL estimates it, where the login may not read the table. */
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
