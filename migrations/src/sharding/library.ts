import { withMigration } from '../engine/withMigration';
import type { MigrateOptions } from '../migrateTo';
import { phases } from '../phases';
import { distribute as distributeTables } from './distribute';
import type { Distribution } from './distribute';

/**
 * Spreads the tables of tenants over the nodes of Citus, as the command `distribute` does.
 * Writers wait meanwhile, and readers do not.
 *
 * @param options - the connection of a superuser, on the coordinator of Citus
 * @throws {@link RefusedError} with everything that is in the way, before anything is changed
 * @public
 */
export async function distribute(
  options: Pick<
    MigrateOptions,
    'connection' | 'schema' | 'maxPauseMs' | 'reporter'
  >,
): Promise<Distribution> {
  return withMigration(
    options,
    { phases, command: 'library', mode: 'change' },
    migration => distributeTables(migration),
  );
}
