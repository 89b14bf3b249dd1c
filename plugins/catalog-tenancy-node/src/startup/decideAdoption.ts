import type { LoggerService } from '@backstage/backend-plugin-api';
import {
  type AdoptionStatus,
  operatorCommand,
  readAdoption,
} from 'backstage-catalog-tenancy-migrations';
import type { TenancyPool } from '../pool/TenancyPool';
import { DEFAULT_TENANT_ID } from '../tenants/Tenant';
import {
  BackendAdoption,
  type CatalogAdoption,
  type CatalogDatabase,
  hasIntent,
  noteIntent,
  warnOfFaults,
} from './CatalogAdoption';
import { TenancyStartupError } from './TenancyStartupError';

/**
 * Decides whether this backend has to adopt the stock catalog. The tables of tenants exist and
 * have been checked.
 *
 * @throws `TenancyStartupError` where the catalog is in use and not adopted
 */
export async function decideAdoption(options: {
  database: CatalogDatabase;
  pool: TenancyPool;
  logger: LoggerService;
}): Promise<CatalogAdoption> {
  const { database, logger } = options;
  const state = await judgeAdoption(options);
  if (state === 'new') {
    await noteIntent(database);
  }
  return new BackendAdoption({
    database,
    logger,
    isComplete: state === 'complete',
  });
}

/**
 * The state of the adoption. Reads only.
 *
 * @throws `TenancyStartupError` where the catalog is in use and not adopted
 */
export async function judgeAdoption(options: {
  database: CatalogDatabase;
  pool: TenancyPool;
  logger: LoggerService;
}): Promise<'complete' | 'intended' | 'new'> {
  const { database, pool, logger } = options;
  // Read before the adoption's state: between the reads, another process may complete its
  // adoption and delete the intent.
  const isIntended = await hasIntent(database);
  const status = await readAdoption(database);
  const { engineEntities } = status;
  refuseOtherCatalog(status, database);
  if (status.adopted) {
    warnOfFaults(status, logger);
    return 'complete';
  }
  if (isIntended) {
    return 'intended';
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
    return 'complete';
  }
  if (engineEntities > 0) {
    throw refuseToAdopt(engineEntities);
  }
  return 'new';
}

/** Includes deleted entities: the engine did not write them either. */
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

/** Only an operator may adopt a catalog in use, at a suitable time. */
export function refuseToAdopt(engineEntities: number): TenancyStartupError {
  const entities = engineEntities === 1 ? 'entity' : 'entities';
  return new TenancyStartupError(
    `The catalog has ${engineEntities} ${entities} and is not adopted, so the ` +
      'default tenant would look empty. The backend never migrates or adopts a ' +
      `catalog in use by itself. Run ${operatorCommand(
        'adopt',
      )}, while the portal ` +
      'runs with MULTI_TENANCY_ENABLED=false; then start with ' +
      'MULTI_TENANCY_ENABLED=true.',
    'not-migrated',
  );
}

/**
 * Otherwise the default tenant would show the earlier catalog, to which nothing writes any
 * more.
 */
function refuseOtherCatalog(
  { begun, catalogSchema: adopted }: AdoptionStatus,
  { catalogSchema: own }: CatalogDatabase,
): void {
  if (begun && adopted !== undefined && adopted !== own) {
    throw new TenancyStartupError(
      `The catalog in the schema "${adopted}" is adopted, and the catalog plugin of this ` +
        `backend works in "${own}". Configure backend.database so that it works in ` +
        `"${adopted}", or run ${operatorCommand('unadopt')} and then ` +
        `${operatorCommand('adopt')}.`,
    );
  }
}

/** Entities that are not copied yet would look deleted. */
function refuseHalfAdopted({
  ending,
  tablesWithoutTriggers: tables,
}: AdoptionStatus): TenancyStartupError {
  if (ending) {
    return new TenancyStartupError(
      'The end of the adoption of the catalog was begun, and is not complete. Run ' +
        `${operatorCommand('unadopt')}, or ${operatorCommand(
          'adopt',
        )} to take it back; until then, set MULTI_TENANCY_ENABLED=false.`,
      'not-migrated',
    );
  }
  const what =
    tables.length > 0
      ? `of which changes of ${tables.join(', ')} are not carried over`
      : 'and that has not come to its end';
  return new TenancyStartupError(
    `The adoption of the catalog was begun, ${what}. Run ` +
      `${operatorCommand('adopt')} again; until then, set ` +
      'MULTI_TENANCY_ENABLED=false.',
    'not-migrated',
  );
}
