import { DatabaseManager } from '@backstage/backend-defaults/database';
import {
  coreServices,
  createServiceFactory,
} from '@backstage/backend-plugin-api';
import type { Knex } from 'knex';

/**
 * The databases of a backend's plugins, whose connections end with the backend.
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
      await Promise.all([...pools].map(pool => pool.destroy()));
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
