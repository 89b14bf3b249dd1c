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

/** The table of which entity emitted which. */
export const PARENTS = 'entity_parents';

/** The state of a tenant's adoption, by its keys in the table. */
interface AdoptionState {
  /** The adopted engine; `ending` once `unadopt` has begun, until an adoption begins anew. */
  engine: { schema: string; ending?: true };
  /** With the default tenant, written by an earlier version: what its adoption created. */
  created: { schema: boolean; tables: boolean };
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
  const rows = await executor.read<{ key: string; value: unknown }>(
    `select key, value from ${ADOPTION_STATE} where tenant_id = $1`,
    [tenantId],
  );
  return Object.fromEntries(rows.map(({ key, value }) => [key, value]));
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
