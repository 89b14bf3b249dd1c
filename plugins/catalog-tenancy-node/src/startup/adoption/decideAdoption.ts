import type { LoggerService } from '@backstage/backend-plugin-api';
import {
  operatorCommand,
  readAdoption,
} from 'backstage-catalog-tenancy-migrations';
import type { TenancyPool } from '../../pool';
import { DEFAULT_TENANT_ID } from '../../tenants';
import {
  type CatalogAdoption,
  COMPLETE_ADOPTION,
  FormerAdoption,
  PendingAdoption,
} from './CatalogAdoption';
import type { CatalogDatabase } from './CatalogDatabase';
import { hasIntent, noteIntent } from './intent';
import { refuseHalfAdopted, refuseToAdopt } from './refusals';
import { warnOfFaults } from './warnOfFaults';

/**
 * Tells what is left to do before the default tenant has what the engine of the
 * stock catalog has. The tables of tenants are there, and have been checked.
 *
 * @throws `TenancyStartupError` where the catalog is in use and not adopted
 */
export async function decideAdoption(options: {
  database: CatalogDatabase;
  pool: TenancyPool;
  logger: LoggerService;
}): Promise<CatalogAdoption> {
  const { database, pool, logger } = options;
  // Before the other, or another process could come to the end of its adoption in
  // between, and forget the intent.
  const isIntended = await hasIntent(database);
  const status = await readAdoption(database);
  const { engineEntities } = status;
  if (status.adopted) {
    warnOfFaults(status, logger);
    return new FormerAdoption({ database, logger });
  }
  if (isIntended) {
    return new PendingAdoption({ database, logger });
  }
  if (status.begun) {
    throw refuseHalfAdopted(status);
  }
  if (await hasDefaultEntities(pool)) {
    if (engineEntities > 0) {
      logger.warn(
        'The default tenant has entities that are not from the engine of the ' +
          `catalog, whose ${count(
            engineEntities,
          )} no tenant shows, because it is ` +
          `not adopted (${operatorCommand('adopt')})`,
      );
    }
    return COMPLETE_ADOPTION;
  }
  if (engineEntities > 0) {
    throw refuseToAdopt(engineEntities, [operatorCommand('adopt')]);
  }
  await noteIntent(database);
  return new PendingAdoption({ database, logger });
}

/** Deleted ones too: whoever has written them is not the engine. */
async function hasDefaultEntities(pool: TenancyPool): Promise<boolean> {
  const rows = await pool.query(
    knex =>
      knex('entities')
        .select(knex.raw('1'))
        .where('tenant_id', DEFAULT_TENANT_ID)
        .limit(1),
    { tenantId: DEFAULT_TENANT_ID },
  );
  return rows.length > 0;
}

function count(entities: number): string {
  return `${entities} ${entities === 1 ? 'entity' : 'entities'}`;
}
