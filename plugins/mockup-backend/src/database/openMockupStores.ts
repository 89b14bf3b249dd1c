import type {
  DatabaseService,
  LoggerService,
} from '@backstage/backend-plugin-api';
import { ConflictError, InputError } from '@backstage/errors';
import {
  connectionOfKnex,
  TenancyPool,
} from 'backstage-plugin-catalog-tenancy-node';
import type { MockupStores } from 'backstage-plugin-mockup-node';
import type { Knex } from 'knex';
import { PageStore } from '../pages/PageStore';
import { ReviewStore } from '../review/ReviewStore';
import { isUuid } from './isUuid';
import { ImportsUnderWay } from './MockupImport';
import { migrate, withSchemaLock } from './migrate';
import { PostgresMockupStore } from './PostgresMockupStore';
import { enableRowSecurity } from './rowSecurity';
import { TenantStatements } from './TenantStatements';

/** The tenant of all mockups of a backend without tenants. */
export const DEFAULT_TENANT_ID = '00000000-0000-0000-0000-000000000001';

/** Knex's default size of the pool, and how long it waits for a connection. */
const KNEX_POOL = 10;
const CONNECTION_TIMEOUT_MS = 60_000;

/** The most waiting operations of a tenant for each running one. */
const QUEUE = 100;

/** The stores of mockups, pages and reviews of all tenants. */
export interface OpenStores extends MockupStores {
  pagesOf(tenantId: string): PageStore;
  reviewsOf(tenantId: string): ReviewStore;
  /** Waits for running operations, and closes all connections. */
  close(): Promise<void>;
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
  const role = await withSchemaLock(knex, async () => {
    if (!database.migrations?.skip) {
      await migrate(knex);
    }
    return multiTenant ? await enableRowSecurity(knex, logger) : undefined;
  });
  const pool = await openPool(knex, { role, multiTenant, logger });
  const imports = new ImportsUnderWay();
  const statementsOf = (tenantId: string) => {
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
    return new TenantStatements(pool, tenantId.toLowerCase());
  };
  const forTenant = (tenantId: string) =>
    new PostgresMockupStore({
      imports,
      statements: statementsOf(tenantId),
      trashRetentionMs,
    });
  return {
    forTenant,
    forDefaultTenant: () => forTenant(DEFAULT_TENANT_ID),
    pagesOf: tenantId => new PageStore(statementsOf(tenantId)),
    reviewsOf: tenantId => new ReviewStore(statementsOf(tenantId)),
    close: () => pool.close(),
  };
}

/** A pool of tenancy on the plugin's own connection, of the size of its Knex pool. */
export async function openPool(
  knex: Knex,
  options: { role?: string; multiTenant: boolean; logger: LoggerService },
): Promise<TenancyPool> {
  const { role, multiTenant, logger } = options;
  const { rows } = await knex.raw(
    'select current_schema() as schema, current_user as role',
  );
  const [session] = rows as { schema: string; role: string }[];
  const { max = KNEX_POOL } = knex.client.config.pool ?? {};
  // With tenants, half of the connections are for others.
  const share = multiTenant ? Math.max(1, Math.floor(max / 2)) : max;
  return TenancyPool.create({
    connection: await connectionOfKnex(knex),
    schema: session.schema,
    role: role ?? session.role,
    // Pages compare the ids of transactions with snapshots, which have none of subtransactions.
    pipelined: false,
    pool: {
      max,
      idleTimeoutMs: 30_000,
      connectionTimeoutMs: CONNECTION_TIMEOUT_MS,
    },
    limits: {
      concurrency: share,
      concurrencyBesideOthers: share,
      queue: QUEUE * share,
      queueTimeoutMs: CONNECTION_TIMEOUT_MS,
    },
    logger,
  });
}

/**
 * Refuses databases other than PostgreSQL: layouts are JSONB, and the order of versions and the
 * safety of concurrent saves depend on its row locks.
 *
 * @throws Error that names the configured client
 */
function assertPostgres(knex: Knex): void {
  const client = knex.client.config.client;
  if (client !== 'pg') {
    throw new Error(
      `The mockup plugin needs PostgreSQL, but its database client is '${client}'; set backend.database.client, or backend.database.plugin.mockup.client, to 'pg'`,
    );
  }
}
