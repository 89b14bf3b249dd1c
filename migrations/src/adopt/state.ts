import type { Executor } from '../engine/Executor';
import type { StepContext } from '../engine/Step';
import { columnExists } from '../schema/lookups';
import { DEFAULT_TENANT_ID } from '../schema/tables';
import { escapeLiteral } from '../sql';
import type { Engine } from './engine';

/** The table of rows that could not be carried, and why. */
export const FAULTS = 'adoption_faults';

/** How the keys of faults begin whose entity is unknown. */
export const UNKNOWN_KEY = '*';

/** The table of the adoption's state. */
export const ADOPTION_STATE = 'adoption_state';

/** The table of which entity emitted which, from phase 5 on. */
export const PARENTS = 'entity_parents';

/** The state of a tenant's adoption, by its keys in the table. */
interface AdoptionState {
  /** The adopted engine. */
  engine: { schema: string };
  /** What the adoption of the default tenant created, which `unadopt` drops. */
  created: { schema: boolean; tables: boolean };
  /**
   * With the default tenant: phase 5 has prepared the adoption of any tenant, so that its
   * functions and tables are there without an adopted engine.
   */
  prepared: boolean;
  /** The position of the first copy; `done` once both sides were equal. */
  copy: { after: string; done: boolean };
  /** The statements that revoke what was granted on the engine's tables. */
  grants: string[];
}

/** The state of a tenant; empty where there is no adoption. */
export async function readState(
  executor: Executor,
  tenantId = DEFAULT_TENANT_ID,
): Promise<Partial<AdoptionState>> {
  // A foreign table of that name is no state.
  if (!(await columnExists(executor, ADOPTION_STATE, 'value'))) {
    return {};
  }
  const own = await ofTenant(executor, ADOPTION_STATE, tenantId);
  const rows = await executor.read<{ key: string; value: unknown }>(
    `select key, value from ${ADOPTION_STATE} where ${own}`,
  );
  return Object.fromEntries(rows.map(({ key, value }) => [key, value]));
}

/**
 * The condition that selects a tenant's rows of the adoption's tables. Those of an earlier
 * version have no tenant: all their rows are the default tenant's.
 */
export async function ofTenant(
  executor: Executor,
  table: typeof FAULTS | typeof ADOPTION_STATE,
  tenantId: string,
): Promise<string> {
  if (await columnExists(executor, table, 'tenant_id')) {
    return `tenant_id = ${escapeLiteral(tenantId)}`;
  }
  return tenantId === DEFAULT_TENANT_ID ? 'true' : 'false';
}

/**
 * The statement that records a value.
 *
 * @param table - the table, if its schema is not on the search path
 */
export function putState<Key extends keyof AdoptionState>(
  tenantId: string,
  key: Key,
  value: AdoptionState[Key],
  table: string = ADOPTION_STATE,
): string {
  const values = [tenantId, key, JSON.stringify(value)].map(escapeLiteral);
  return (
    `insert into ${table} (tenant_id, key, value) values (${values.join(
      ', ',
    )}) ` + 'on conflict (tenant_id, key) do update set value = excluded.value'
  );
}

/** The engine whose catalog is adopted for a tenant, if one is. */
export async function adoptedEngine(
  { executor }: Pick<StepContext, 'executor'>,
  tenantId = DEFAULT_TENANT_ID,
): Promise<Engine | undefined> {
  const { engine } = await readState(executor, tenantId);
  return engine && { ...engine, tenantId };
}

/** The engines of all tenants, the default one's first. */
export async function adoptedEngines({
  executor,
}: Pick<StepContext, 'executor'>): Promise<Engine[]> {
  if (!(await columnExists(executor, ADOPTION_STATE, 'tenant_id'))) {
    const engine = await adoptedEngine({ executor });
    return engine ? [engine] : [];
  }
  return executor.read<Engine>(
    `select value ->> 'schema' as schema, tenant_id::text as "tenantId"
       from ${ADOPTION_STATE} where key = 'engine'
      order by tenant_id <> '${DEFAULT_TENANT_ID}', tenant_id`,
  );
}
