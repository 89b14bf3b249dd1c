import { DatabaseManager } from '@backstage/backend-defaults/database';
import {
  coreServices,
  createServiceFactory,
} from '@backstage/backend-plugin-api';
import { waitUntil } from '@internal/postgres/testUtils';
import type { Knex } from 'knex';

/** How often in a row a pool must be seen without work: a task pauses before a retry. */
const QUIET_LOOKS = 10;

/**
 * The databases of a backend's plugins, whose connections end with the backend, after
 * the work that is under way.
 *
 * The engine of the stock catalog stops to take work, but does not wait for what it is
 * at. Where its connections end between the transactions of one entity (stored, noted
 * for stitching, stitched, its search terms written), the later ones never come: for the
 * next engine nothing about the entity has changed.
 *
 * Those of Backstage do not: at shutdown its manager asks the configuration of a pool,
 * which is an object, for what only texts have, and fails before it closes the pool.
 */
export const closingDatabaseFactory = createServiceFactory({
  service: coreServices.database,
  deps: {
    config: coreServices.rootConfig,
    lifecycle: coreServices.lifecycle,
    logger: coreServices.logger,
    pluginMetadata: coreServices.pluginMetadata,
    rootLifecycle: coreServices.rootLifecycle,
  },
  async createRootContext({ config, rootLifecycle }) {
    const pools = new Set<Knex>();
    rootLifecycle.addShutdownHook(async () => {
      await Promise.all(
        [...pools].map(async pool => {
          await withoutWork(pool);
          await pool.destroy();
        }),
      );
    });
    const manager = DatabaseManager.fromConfig(config, { rootLifecycle });
    return { manager, pools };
  },
  async factory({ lifecycle, logger, pluginMetadata }, { manager, pools }) {
    const database = manager.forPlugin(pluginMetadata.getId(), {
      lifecycle,
      logger,
    });
    return {
      ...database,
      async getClient() {
        const pool = await database.getClient();
        pools.add(pool);
        return pool;
      },
    };
  },
});

async function withoutWork({ client: { pool } }: Knex): Promise<void> {
  let quiet = 0;
  await waitUntil('the work of a pool to end', () => {
    const isBusy =
      pool.numUsed() + pool.numPendingAcquires() + pool.numPendingCreates() > 0;
    quiet = isBusy ? 0 : quiet + 1;
    return quiet === QUIET_LOOKS;
  });
}
