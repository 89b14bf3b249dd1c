import type { Executor } from '../engine/Executor';
import type { StepContext } from '../engine/Step';
import { columnExists } from '../schema/lookups';
import { escapeLiteral } from '../sql';
import type { Engine } from './engine';
import { ADOPTION_STATE } from './names';

/** What the adoption remembers, by its keys in the database. */
export interface AdoptionState {
  /** Whose catalog is adopted. */
  engine: Engine;
  /** What was created for it, and goes with it. */
  created: { schema: boolean; tables: boolean };
  /** How far the first copy has come; `done` after the sides were equal once. */
  copy: { after: string; done: boolean };
  /** The statements that take back what was granted on the engine's tables. */
  grants: string[];
}

export const CREATE_STATE = `create table if not exists ${ADOPTION_STATE} (
  key text primary key,
  value jsonb not null
)`;

/** What is remembered; nothing where there is no adoption. */
export async function readState(
  executor: Executor,
): Promise<Partial<AdoptionState>> {
  // A table of somebody else's under that name says nothing.
  if (!(await columnExists(executor, ADOPTION_STATE, 'value'))) {
    return {};
  }
  const rows = await executor.read<{ key: string; value: unknown }>(
    `select key, value from ${ADOPTION_STATE}`,
  );
  return Object.fromEntries(rows.map(({ key, value }) => [key, value]));
}

/** The statement that remembers something. */
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
