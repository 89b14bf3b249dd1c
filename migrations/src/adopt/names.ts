/** The tables of the stock catalog's engine that are carried. */
export const ENGINE_TABLES = [
  'relations',
  'refresh_state',
  'refresh_state_references',
  'final_entities',
] as const;

export type EngineTable = (typeof ENGINE_TABLES)[number];

/** What could not be carried, and why. */
export const FAULTS = 'adoption_faults';

/** What the keys begin with of faults that are of no certain entity. */
export const UNKNOWN_KEY = '*';

/** What the adoption has to remember. */
export const ADOPTION_STATE = 'adoption_state';

/** The names of the triggers on the engine's tables begin with it. */
export const ADOPTION_TRIGGER = 'tenancy_adoption';

/** The function that the triggers of one of the engine's tables call. */
export function triggerFunction(table: EngineTable): string {
  return `adoption_on_${table}`;
}

/** The table of ours with which entity has emitted which, from phase 5 on. */
export const PARENTS = 'entity_parents';
