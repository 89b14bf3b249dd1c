import type {
  DatabaseService,
  LoggerService,
} from '@backstage/backend-plugin-api';
import { ConflictError, InputError } from '@backstage/errors';
import type { MockupStores } from 'backstage-plugin-mockup-node';
import { PageStore } from '../pages/PageStore';
import { ReviewStore } from '../review/ReviewStore';
import { assertPostgres } from './assertPostgres';
import { isUuid } from './isUuid';
import { ImportsUnderWay } from './MockupImport';
import { migrate, withSchemaLock } from './migrate';
import { PostgresMockupStore } from './PostgresMockupStore';
import { enableRowSecurity } from './rowSecurity';
import { PlainStatements, TenantStatements } from './TenantStatements';

/** The tenant of all mockups of a backend without tenants. */
export const DEFAULT_TENANT_ID = '00000000-0000-0000-0000-000000000001';

/** The stores of mockups, pages and reviews of all tenants. */
export interface OpenStores extends MockupStores {
  pagesOf(tenantId: string): PageStore;
  reviewsOf(tenantId: string): ReviewStore;
}

/**
 * Opens the stores of all tenants. Migrates their database unless the database service skips
 * migrations.
 *
 * @throws Error if the database is not PostgreSQL
 */
export async function openMockupStores(options: {
  database: DatabaseService;
  logger: LoggerService;
  /** Whether there are tenants other than the default one. */
  multiTenant: boolean;
  /** How long the trash keeps a mockup; for ever if undefined. */
  trashRetentionMs?: number;
}): Promise<OpenStores> {
  const { database, logger, multiTenant, trashRetentionMs } = options;
  const knex = await database.getClient();
  assertPostgres(knex);

  const migrates = !database.migrations?.skip;
  if (!multiTenant) {
    if (migrates) {
      await withSchemaLock(knex, () => migrate(knex));
    }
    return createStores({
      statements: new PlainStatements(knex),
      logger,
      multiTenant,
      trashRetentionMs,
    });
  }
  const role = await withSchemaLock(knex, async () => {
    if (migrates) {
      await migrate(knex);
    }
    return await enableRowSecurity(knex, logger);
  });
  return createStores({
    statements: new TenantStatements(knex, role),
    logger,
    multiTenant,
    trashRetentionMs,
  });
}

function createStores(options: {
  statements: PlainStatements | TenantStatements;
  logger: LoggerService;
  multiTenant: boolean;
  trashRetentionMs?: number;
}): OpenStores {
  const { statements, logger, multiTenant, trashRetentionMs } = options;
  const imports = new ImportsUnderWay();
  const known = (tenantId: string) => {
    if (!isUuid(tenantId)) {
      throw new InputError(
        `The tenant id ${JSON.stringify(tenantId)?.slice(
          0,
          80,
        )} is not a UUID ` + `such as "${DEFAULT_TENANT_ID}"`,
      );
    }
    if (!multiTenant && tenantId !== DEFAULT_TENANT_ID) {
      throw new ConflictError(
        `There are no mockups of the tenant ${tenantId}: multi-tenancy is off, ` +
          `and the default tenant (${DEFAULT_TENANT_ID}) is the only one`,
      );
    }
    return tenantId.toLowerCase();
  };
  const forTenant = (tenantId: string) =>
    new PostgresMockupStore({
      imports,
      statements,
      logger,
      tenantId: known(tenantId),
      trashRetentionMs,
    });
  return {
    forTenant,
    forDefaultTenant: () => forTenant(DEFAULT_TENANT_ID),
    pagesOf: tenantId =>
      new PageStore({ statements, logger, tenantId: known(tenantId) }),
    reviewsOf: tenantId =>
      new ReviewStore({ statements, logger, tenantId: known(tenantId) }),
  };
}
