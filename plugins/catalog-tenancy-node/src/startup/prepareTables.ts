import type { LoggerService } from '@backstage/backend-plugin-api';
import { toError } from '@backstage/errors';
import {
  migrateTo,
  operatorCommand,
  OtherOperatorError,
  readAdoption,
  type Reporter,
  status,
  upgrade,
} from 'backstage-catalog-tenancy-migrations';
import { setTimeout as delay } from 'node:timers/promises';
import type { Client, ClientConfig } from 'pg';
import {
  type CatalogDatabase,
  noteIntent,
  reporterOf,
} from './CatalogAdoption';
import { TenancyStartupError } from './TenancyStartupError';
import { refuseToAdopt } from './decideAdoption';
import { hasTable, LAST_PHASE, readLayout } from './layout';
import { withClient } from './catalogConnection';

/**
 * Creates the tables of tenants in a database without them; never migrates a catalog in use.
 *
 * @throws {@link TenancyStartupError} for a catalog that is not migrated, or not adopted
 */
export async function prepareTables(
  database: CatalogDatabase,
  logger: LoggerService,
): Promise<void> {
  const { connection, schema } = database;
  await withClient(connection, client => refuseStockSchema(client, database));
  // Read before the layout: otherwise another process may create the tables in between, and its
  // engine may already have entities.
  const { engineEntities } = await readAdoption(database);
  const layout = await withClient(connection, client =>
    readLayout(client, schema),
  );
  if (layout === 'unmigrated') {
    throw new TenancyStartupError(
      `Schema "${schema}" holds a catalog that is not migrated: ` +
        `${await describePhase(database)} The backend never ` +
        'migrates it by itself, and serves no catalog until phase ' +
        `${LAST_PHASE} is complete: until then, set MULTI_TENANCY_ENABLED=false.`,
      'not-migrated',
    );
  }
  if (layout === 'fresh') {
    if (engineEntities > 0) {
      throw refuseToAdopt(engineEntities);
    }
    await setUp({ connection, schema, logger });
    await noteIntent(database);
  } else {
    await bringUpToDate(database, logger);
  }
}

/**
 * The stock catalog has tables with the same names. In the same schema, it would fail to start.
 */
async function refuseStockSchema(
  client: Client,
  { schema, catalogSchema }: CatalogDatabase,
): Promise<void> {
  if (
    schema === catalogSchema &&
    // The stock catalog has no table `entities`.
    !(await hasTable(client, schema, 'entities'))
  ) {
    throw new TenancyStartupError(
      `Schema "${schema}" has the tables of Backstage's own catalog, whose ` +
        'relations and refresh_state have the same names as the tables of ' +
        `tenants: set 'tenancy.schema' to another name, such as "tenancy"`,
    );
  }
}

// Another process of the backend may migrate for some seconds.
const PATIENCE_MS = 120_000;
const POLL_MS = 500;

/**
 * Migrates a database without entities to phase 5. If several processes start at once, one
 * migrates and the others wait.
 */
async function setUp(options: {
  connection: ClientConfig;
  schema: string;
  logger: LoggerService;
}): Promise<void> {
  const { connection, schema, logger } = options;
  logger.info(
    `Setting up the tables of tenants in schema "${schema}", which has none yet`,
  );
  await inTurn(() =>
    migrateTo(LAST_PHASE, {
      connection,
      schema,
      createTables: true,
      reporter: quietReporter(logger),
    }),
  );
}

/**
 * Applies the migrations of the product's own tables that an earlier version lacked. Waits for
 * locks for at most half a minute. A backend changes nothing else in a catalog in use.
 *
 * If this fails, for example without the rights, the later check of the database reports what
 * is missing.
 */
async function bringUpToDate(
  { connection, schema }: CatalogDatabase,
  logger: LoggerService,
): Promise<void> {
  try {
    await inTurn(async () => {
      const added = await upgrade({
        connection,
        schema,
        reporter: quietReporter(logger),
      });
      if (added.length > 0) {
        logger.info(
          `Brought the tables of schema "${schema}" up to date: ${added.join(
            '; ',
          )}`,
        );
      }
    });
  } catch (error) {
    logger.warn(
      `The tables of schema "${schema}" could not be brought up to date at this start: ` +
        `run "${operatorCommand('upgrade')}"`,
      toError(error),
    );
  }
}

/** Runs a migration, and retries while another process migrates. */
async function inTurn(migrate: () => Promise<unknown>): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    try {
      await migrate();
      return;
    } catch (error) {
      if (!(error instanceof OtherOperatorError) || Date.now() > deadline) {
        throw error;
      }
      await delay(POLL_MS);
    }
  }
}

/** Without warnings, which concern tables that were in use before. */
function quietReporter(logger: LoggerService): Reporter {
  return { ...reporterOf(logger), warn: message => logger.debug(message) };
}

const UNREADABLE =
  'the database user of the catalog may not read which phases are complete. ' +
  `Next: ${operatorCommand('status')}.`;

/** Describes the state of the migration for a message. Never rejects. */
export async function describePhase(
  database: CatalogDatabase,
): Promise<string> {
  // The catalog's user may lack rights that the operator's user has.
  const found = await status(database).catch(() => undefined);
  if (!found?.tables.includes('entities')) {
    return UNREADABLE;
  }
  const { phase, phaseBegun, next } = found;
  return [
    phase === 0 ? 'no phase is complete' : `phase ${phase} is complete`,
    phaseBegun ? `, and phase ${phaseBegun} has begun` : '',
    `. Next: ${next.what}`,
    next.command ? ` (${next.command}).` : '.',
  ].join('');
}
