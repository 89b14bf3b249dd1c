import type { Executor } from '../engine/Executor';
import type { StepContext } from '../engine/Step';
import { columnExists } from '../schema/lookups';
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

/** The state of an adoption, by its keys in the table. */
interface AdoptionState {
  /** The adopted engine. */
  engine: Engine;
  /** What the adoption created, which `unadopt` drops. */
  created: { schema: boolean; tables: boolean };
  /** The position of the first copy; `done` once both sides were equal. */
  copy: { after: string; done: boolean };
  /** The statements that revoke what was granted on the engine's tables. */
  grants: string[];
}

/** The state; empty where there is no adoption. */
export async function readState(
  executor: Executor,
): Promise<Partial<AdoptionState>> {
  // A foreign table of that name is no state.
  if (!(await columnExists(executor, ADOPTION_STATE, 'value'))) {
    return {};
  }
  const rows = await executor.read<{ key: string; value: unknown }>(
    `select key, value from ${ADOPTION_STATE}`,
  );
  return Object.fromEntries(rows.map(({ key, value }) => [key, value]));
}

/** The statement that records a value. */
export function putState<Key extends keyof AdoptionState>(
  key: Key,
  value: AdoptionState[Key],
): string {
  return (
    `insert into ${ADOPTION_STATE} (key, value) values (${escapeLiteral(
      key,
    )}, ` +
    `${escapeLiteral(JSON.stringify(value))}) ` +
    'on conflict (key) do update set value = excluded.value'
  );
}

/** The engine whose catalog is adopted, if one is. */
export async function adoptedEngine({
  executor,
}: Pick<StepContext, 'executor'>): Promise<Engine | undefined> {
  return (await readState(executor)).engine;
}
