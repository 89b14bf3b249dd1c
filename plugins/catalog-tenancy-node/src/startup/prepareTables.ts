import type { LoggerService } from '@backstage/backend-plugin-api';
import { toError } from '@backstage/errors';
import {
  migrateTo,
  operatorCommand,
  OtherOperatorError,
  readAdoption,
  type Reporter,
  status,
} from 'backstage-catalog-tenancy-migrations';
import { setTimeout as delay } from 'node:timers/promises';
import type { Client, ClientConfig } from 'pg';
import { type CatalogDatabase, noteIntent } from './CatalogAdoption';
import { TenancyStartupError } from './TenancyStartupError';
import { refuseToAdopt } from './decideAdoption';
import { hasColumn, hasTable, isEmpty, LAST_PHASE, readLayout } from './layout';
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
      throw refuseToAdopt(engineEntities);
    }
    await setUp({ connection, schema, logger });
    await noteIntent(database);
  } else {
    await addWhatIsMissing(database, logger);
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
      // Empty tables need no way back, and while they are kept every write is logged
      // for it.
      keepOldTables: false,
      // The catalog plugin of this very process, which writes to none of them,
      // would count as the application from before.
      force: true,
      reporter: reporterOf(logger),
    }),
  );
}

/**
 * The steps, in the journal of the migration, that later versions added to phase 5: what
 * each creates.
 */
const ADDED_STEPS: Record<string, string> = {
  '5_15_tenant_members': 'the table tenant_members',
  '5_16_tenant_engines': 'the table tenant_engines',
  '5_17_engine_leases': 'the tables engine_processes and engine_leases',
  '5_18_engine_status': 'the table engine_status',
  '5_19_tenant_limits': 'the columns for limits of single tenants',
  '5_19_viewer_role': 'the role viewer of members',
  '5_98_engine_adoption': "what carries the entities of tenants' engines",
};

/**
 * Adds what an earlier version that has completed phase 5 did not know. These steps are all
 * that a backend does in a catalog that is in use: no writer of entities waits for them longer
 * than for the lock timeout.
 *
 * Where it can't, such as without the rights, the check of the database says what to do
 * about the tables; without the other steps only engines of tenants, or limits of single ones,
 * are missing.
 */
async function addWhatIsMissing(
  database: CatalogDatabase,
  logger: LoggerService,
): Promise<void> {
  const { connection, schema } = database;
  const missing = await withClient(connection, client =>
    findMissing(client, schema),
  );
  if (missing.length === 0) {
    return;
  }
  try {
    const { steps } = await status(database);
    const left = steps.filter(
      ({ phase, doneAt }) => phase <= LAST_PHASE && doneAt === null,
    );
    if (left.length > 0 && left.every(({ name }) => name in ADDED_STEPS)) {
      const added = left.map(({ name }) => ADDED_STEPS[name]).join(' and ');
      logger.info(
        `Adding ${added} to schema "${schema}", which an earlier version has migrated`,
      );
      await inTurn(() =>
        migrateTo(LAST_PHASE, {
          connection,
          schema,
          reporter: reporterOf(logger),
        }),
      );
    }
  } catch (error) {
    logger.warn(
      `${missing.join(
        ' and ',
      )} could not be added to schema "${schema}" at this start: ` +
        `run "${operatorCommand(`phase${LAST_PHASE}`)}"`,
      toError(error),
    );
  }
}

/** What is missing of {@link ADDED_STEPS}, by the catalogs that every user may read. */
async function findMissing(client: Client, schema: string): Promise<string[]> {
  const missing: string[] = [];
  for (const [table, step] of [
    ['tenant_members', '5_15_tenant_members'],
    ['tenant_engines', '5_16_tenant_engines'],
    ['engine_leases', '5_17_engine_leases'],
    ['engine_status', '5_18_engine_status'],
  ]) {
    if (!(await hasTable(client, schema, table))) {
      missing.push(ADDED_STEPS[step]);
    }
  }
  if (!(await hasColumn(client, schema, 'tenants', 'burst'))) {
    missing.push(ADDED_STEPS['5_19_tenant_limits']);
  }
  const { rows: checks } = await client.query(
    `select from pg_constraint k join pg_namespace n on n.oid = k.connamespace
      where n.nspname = $1 and k.conname = 'tenant_members_role_check'
        and pg_get_constraintdef(k.oid) not like '%viewer%'`,
    [schema],
  );
  if (checks.length > 0) {
    missing.push(ADDED_STEPS['5_19_viewer_role']);
  }
  // An earlier version carried the entities of the default tenant's engine alone.
  const { rows } = await client.query<{ arguments: number }>(
    `select p.pronargs as arguments
       from pg_proc p join pg_namespace n on n.oid = p.pronamespace
      where n.nspname = $1 and p.proname = 'adoption_put'`,
    [schema],
  );
  if (rows.length !== 1 || rows[0].arguments !== 3) {
    missing.push(ADDED_STEPS['5_98_engine_adoption']);
  }
  return missing;
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
  if (!found?.tables.some(({ name }) => name === 'entities')) {
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
