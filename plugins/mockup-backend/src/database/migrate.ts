import { resolvePackagePath } from '@backstage/backend-plugin-api';
import type { Knex } from 'knex';

/**
 * Brings the schema of the database up to date.
 *
 * Backends that start at the same time take turns: the first holds an advisory lock
 * until its transaction ends, the others wait and then find nothing left to do.
 * With Knex's lock they would fail instead, and it does not yet exist on a new
 * database.
 */
export async function migrate(knex: Knex): Promise<void> {
  await knex.transaction(async transaction => {
    await transaction.raw(
      "select pg_advisory_xact_lock(hashtext('backstage-plugin-mockup-backend'))",
    );
    await transaction.migrate.latest({
      directory: resolvePackagePath(
        'backstage-plugin-mockup-backend',
        'migrations',
      ),
    });
  });
}
