import { readState } from '../adopt/state';
import type { StepContext } from '../engine/Step';
import { RefusedError } from '../errors';
import { operatorCommand } from '../operatorCommand';

/** The key of the state where it is recorded. */
export const CREATED = 'created';

/** That the migration has created the tables of the catalog, instead of finding them. */
export interface CreatedCatalog {
  /** Whether it has created their schema, too. */
  schema: boolean;
  /** Whether an earlier version did, whose phases 1 to 5 swapped them as those of an own catalog. */
  earlier?: true;
  /** Whether the way back, which drops them, was begun: it can only be ended then. */
  dropping?: true;
}

/** Reads whether the way back drops the tables. An earlier version recorded it with the adoption. */
export async function readCreatedCatalog({
  executor,
  state,
}: Pick<StepContext, 'executor' | 'state'>): Promise<
  CreatedCatalog | undefined
> {
  const created = await state.get<CreatedCatalog>(CREATED);
  if (created) {
    return created;
  }
  const { created: former } = await readState(executor);
  return former?.tables ? { schema: former.schema, earlier: true } : undefined;
}

/** @throws {@link RefusedError} where the way back was begun: nothing goes forward until it has ended */
export async function refuseWhileDropping(
  context: Pick<StepContext, 'executor' | 'state'>,
): Promise<void> {
  if ((await readCreatedCatalog(context))?.dropping) {
    throw new RefusedError(
      `A rollback has begun, and is not complete. Run "${operatorCommand(
        'rollback',
        '--to 0',
      )}" first.`,
    );
  }
}
