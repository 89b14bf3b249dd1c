import { revokeAllOnFunctionStatement } from '../schema/seclude';
import { createCopy, createJson, createPut } from './functions/copy';
import {
  createDropEntity,
  createForgetEntity,
  createOnFinalEntities,
  createPutEntity,
  createPutRest,
} from './functions/carry';
import { createCheckSnapshot, createNote } from './functions/faults';
import {
  createCopyParents,
  createOnReferences,
  createPutParent,
} from './functions/parents';
import type { Target } from './functions/support';
import { createOnRefreshState, createPutState } from './functions/refreshState';
import {
  createIsCarried,
  createOnRelations,
  createPutRelations,
} from './functions/relations';

export type { Target } from './functions/support';
export { FORGET_PARENT_FAULTS } from './functions/parents';

/** Every function of the adoption by its signature, with what creates it. */
const FUNCTIONS: Record<string, (target: Target) => string> = {
  'adoption_note(text, text, text, text)': createNote,
  'adoption_check_snapshot()': createCheckSnapshot,
  'adoption_is_carried(uuid)': createIsCarried,
  'adoption_put_relations(text)': createPutRelations,
  'adoption_put_state(text, text, text)': createPutState,
  'adoption_put_rest(text)': createPutRest,
  'adoption_put_entity(text, text, text, text, timestamptz)': createPutEntity,
  'adoption_forget_entity(uuid)': createForgetEntity,
  'adoption_drop_entity(text)': createDropEntity,
  'adoption_put_parent(text, text)': createPutParent,
  'adoption_put(text)': createPut,
  'adoption_copy(text, integer)': createCopy,
  'adoption_copy_parents(bigint, integer)': createCopyParents,
  'adoption_json(text)': createJson,
  'adoption_on_final_entities()': createOnFinalEntities,
  'adoption_on_relations()': createOnRelations,
  'adoption_on_refresh_state()': createOnRefreshState,
  'adoption_on_refresh_state_references()': createOnReferences,
};

export const FUNCTION_SIGNATURES = Object.keys(FUNCTIONS);

/**
 * The statements that create the functions. Nobody is let call them, not even by
 * default privileges, and so nobody makes triggers of them: a trigger calls its
 * function whoever has written.
 */
export function createFunctions(target: Target): string[] {
  return Object.entries(FUNCTIONS).flatMap(([signature, create]) => [
    create(target),
    revokeAllOnFunctionStatement(signature),
  ]);
}

export const dropFunctions = FUNCTION_SIGNATURES.map(
  signature => `drop function if exists ${signature}`,
);
