import type {
  LoggerService,
  RootConfigService,
} from '@backstage/backend-plugin-api';
import { readAdoption } from 'backstage-catalog-tenancy-migrations';
import type { Client } from 'pg';
import {
  type CatalogDatabase,
  noteIntent,
  refuseToAdopt,
  WHOLE_WAY,
} from './adoption';
import { describePhase } from './describePhase';
import {
  hasEntities,
  isEmpty,
  readLayout,
  readStockSchema,
} from './readLayout';
import { setUp } from './setUp';
import { LAST_PHASE } from './tables';
import { TenancyStartupError } from './TenancyStartupError';
import { withClient } from './withClient';

/**
 * Sets up the tables of tenants where the database has none, and leaves a catalog
 * alone that is in use.
 *
 * @throws {@link TenancyStartupError} for one that is not migrated, or not adopted
 */
export async function prepareTables(
  database: CatalogDatabase,
  options: { config: RootConfigService; logger: LoggerService },
): Promise<void> {
  const { connection, schema } = database;
  await withClient(connection, client =>
    refuseStockSchema(client, schema, options.config),
  );
  // Before the tables are looked at: another process of the backend may set them up
  // meanwhile, and its engine may have entities then.
  const { adopted, engineEntities } = await readAdoption(database);
  const { layout, isUnused } = await withClient(connection, async client => {
    const found = await readLayout(client, schema);
    return {
      layout: found,
      isUnused: found === 'unmigrated' && (await isEmpty(client, schema)),
    };
  });
  // What was adopted by command is in use, even where it has no entities.
  if (layout === 'unmigrated' && (adopted || !isUnused)) {
    throw new TenancyStartupError(
      `Schema "${schema}" holds a catalog that is not migrated: ` +
        `${await describePhase(database)} The backend never ` +
        'migrates it by itself, and serves no catalog until phase ' +
        `${LAST_PHASE} is complete: until then, set MULTI_TENANCY_ENABLED=false.`,
    );
  }
  if (layout !== 'partitioned') {
    if (engineEntities > 0) {
      throw refuseToAdopt(engineEntities, WHOLE_WAY);
    }
    await setUp({ connection, schema, logger: options.logger });
    await noteIntent(database);
  }
}

/**
 * The stock catalog has tables by the names of ours: where ours come first, it fails
 * to start from then on.
 */
async function refuseStockSchema(
  client: Client,
  schema: string,
  config: RootConfigService,
): Promise<void> {
  if (
    schema === (await readStockSchema(client, config)) &&
    !(await hasEntities(client, schema))
  ) {
    throw new TenancyStartupError(
      `Schema "${schema}" belongs to the tables of Backstage's own catalog, of ` +
        'which relations and refresh_state have the same names as those of ' +
        `tenants: set 'tenancy.schema' to another name, such as "tenancy"`,
    );
  }
}
