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
import { type CatalogDatabase, noteIntent } from './CatalogAdoption';
import { TenancyStartupError } from './TenancyStartupError';
import { refuseToAdopt } from './decideAdoption';
import { hasTable, LAST_PHASE, readLayout } from './layout';
import { withClient } from './catalogConnection';

/**
 * Sets up the tables of tenants where the database has none, and leaves a catalog
 * alone that is in use.
 *
 * @throws {@link TenancyStartupError} for one that is not migrated, or not adopted
 */
export async function prepareTables(
  database: CatalogDatabase,
  logger: LoggerService,
): Promise<void> {
  const { connection, schema } = database;
  await withClient(connection, client => refuseStockSchema(client, database));
  // Before the tables are looked at: another process of the backend may set them up
  // meanwhile, and its engine may have entities then.
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
 * The stock catalog has tables by the names of ours: where ours come first, it fails
 * to start from then on.
 */
async function refuseStockSchema(
  client: Client,
  { schema, catalogSchema }: CatalogDatabase,
): Promise<void> {
  if (
    schema === catalogSchema &&
    // Of which the stock catalog has none.
    !(await hasTable(client, schema, 'entities'))
  ) {
    throw new TenancyStartupError(
      `Schema "${schema}" belongs to the tables of Backstage's own catalog, of ` +
        'which relations and refresh_state have the same names as those of ' +
        `tenants: set 'tenancy.schema' to another name, such as "tenancy"`,
    );
  }
}

// Another process of the backend is at work for some seconds.
const PATIENCE_MS = 120_000;
const POLL_MS = 500;

/**
 * Takes a database without entities to the end of phase 5. Of several processes
 * that start at once, one does, and the others wait for it.
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
      reporter: reporterOf(logger),
    }),
  );
}

/**
 * Adds to the product's own tables what an earlier version did not know. That is all that a
 * backend does in a catalog that is in use: it waits for locks half a minute at most.
 *
 * Where it can't, such as without the rights, the check of the database says what is missing.
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
        reporter: reporterOf(logger),
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

/** Runs a migration, and again for as long as another process is at one. */
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

function reporterOf(logger: LoggerService): Reporter {
  return {
    info: message => logger.debug(message),
    // What it warns of is about tables that were in use before.
    warn: message => logger.debug(message),
    waiting: (what, attempts) =>
      logger.info(`Waiting for a lock (attempt ${attempts}): ${what}`),
    progress: () => ({ advance: () => {}, finish: () => {} }),
  };
}

const UNREADABLE =
  'the database user of the catalog may not read which phases are complete. ' +
  `Next: ${operatorCommand('status')}.`;

/** Where the migration stands, for a person; never fails. */
export async function describePhase(
  database: CatalogDatabase,
): Promise<string> {
  // That user may be another one than the operator's.
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
