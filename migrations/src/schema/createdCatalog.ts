import type { StepContext } from '../engine/Step';
import type { MigrationState } from '../engine/MigrationState';
import { RefusedError } from '../errors';
import { operatorCommand } from '../operatorCommand';

const KEY = 'created';

/** That the migration has created the tables of the catalog, instead of finding them. */
export interface CreatedCatalog {
  /** Whether it has created their schema, too. */
  schema: boolean;
  /** Whether the way back, which drops them, was begun: it can only be ended then. */
  dropping?: true;
}

/** Reads whether the way back drops the tables. */
export async function readCreatedCatalog({
  state,
}: Pick<StepContext, 'state'>): Promise<CreatedCatalog | undefined> {
  return state.get<CreatedCatalog>(KEY);
}

/** @throws {@link RefusedError} where the way back was begun: nothing goes forward until it has ended */
export async function refuseWhileDropping(
  context: Pick<StepContext, 'state'>,
): Promise<void> {
  if ((await readCreatedCatalog(context))?.dropping) {
    throw new RefusedError(
      `The way back was begun, and is not complete. Run "${operatorCommand(
        'rollback',
        '--to 0',
      )}" first.`,
    );
  }
}

/** The statement that records it, for the transaction that creates the tables. */
export function rememberCreated(
  state: MigrationState,
  created: CreatedCatalog,
): string {
  return state.put(KEY, created);
}
