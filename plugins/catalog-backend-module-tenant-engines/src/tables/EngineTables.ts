import { resolvePackagePath } from '@backstage/backend-plugin-api';
import type { LoggerService } from '@backstage/backend-plugin-api';
import { InputError } from '@backstage/errors';
import {
  attachEngine,
  engineSchemaOf,
  operatorCommand,
  restoreEngineTriggers,
} from 'backstage-catalog-tenancy-migrations';
import type { ClientConfig } from 'pg';
import {
  cloneSchema,
  NotCopiedError,
  pinFunctions,
  revokeAll,
} from './cloneSchema';
import {
  EngineTablesError,
  escapeIdentifier,
  hasCode,
  TablesSession,
} from './TablesSession';
import type { WaitOptions } from './TablesSession';
import {
  applyMigrations,
  isLockedByUs,
  listMigrations,
  missing,
  readVersion,
  refuseNewer,
  readVersions,
  VERSION_TABLE,
} from './upstreamMigrations';

/** The schema that those of the tenants are copies of. */
export const TEMPLATE = 'tenant_template';

/** Where the next template is made, until it takes the place of the one before. */
const DRAFT = 'tenant_template_draft';

// Names of advisory locks. Whoever makes a template or migrates the default catalog's
// tables holds the first for that long; whoever uses the template holds the second,
// together with others, and its replacement takes it alone.
const PREPARATION = 'preparation';
const USE = 'use of the template';

const APP_ROLE = 'portal_app';
const ADMIN_ROLE = 'portal_admin';

const SCHEMA_OF_TENANT =
  /^tenant_([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The comment on the schema of a tenant while upstream's migrations make its tables. */
const UNFINISHED = 'The tables of this tenant are being made';

const VERSIONS_PER_QUERY = 50;
const PATIENCE_MS = 5 * 60_000;

/** The triggers may not be created; the transaction has to end before anyone can ask why. */
class NotAdminError extends EngineTablesError {
  constructor(cause: unknown) {
    super('The login may not create triggers', { cause });
  }
}

export interface EngineTablesOptions {
  /**
   * Of the catalog plugin's own database user. Each operation opens a session for itself.
   */
  connection: ClientConfig;
  /** The schema of the tenants' tables: `tenancy`. */
  schema: string;
  logger: LoggerService;
  /** The folder of upstream's migrations; by default that of the catalog's package. */
  migrationsDirectory?: string;
  /** For how long, in milliseconds, to try for what others have locked; 5 minutes by default. */
  patienceMs?: number;
}

/** The tables of one tenant. */
export interface TenantTables {
  tenantId: string;
  /**
   * Whether they have the migrations of this release: `older` if some are missing or were
   * interrupted, `newer` if they have others.
   */
  version: 'current' | 'older' | 'newer';
}

/**
 * The tables of the tenants' engines: a schema for each tenant, in the database of the
 * catalog.
 *
 * A schema is a copy of a template, which upstream's own migrations have made. A new
 * release of upstream has its migrations run in the template, and then in each schema.
 */
export class EngineTables {
  static create(options: EngineTablesOptions): EngineTables {
    return new EngineTables({
      migrationsDirectory: resolvePackagePath(
        '@backstage/plugin-catalog-backend',
        'migrations',
      ),
      patienceMs: PATIENCE_MS,
      ...options,
    });
  }

  private constructor(
    private readonly options: Required<EngineTablesOptions>,
  ) {}

  /**
   * Brings the template to the newest migration. It is made anew beside the one that is
   * there, and takes its place in one transaction: a process that is killed leaves the one
   * before. Several processes may call it at once.
   */
  async prepareTemplate(options: { signal?: AbortSignal } = {}): Promise<void> {
    await this.withSession(session => this.prepare(session, options.signal));
  }

  private async prepare(
    session: TablesSession,
    signal?: AbortSignal,
  ): Promise<void> {
    const { migrationsDirectory: directory, logger, patienceMs } = this.options;
    if (await this.isCurrent(session, TEMPLATE)) {
      return;
    }
    const wait = { patienceMs, signal };
    await session.lock(PREPARATION, { ...wait, scope: 'session' });
    if (await this.isCurrent(session, TEMPLATE)) {
      return;
    }
    await requireCreate(session);
    // A draft is of a process that was killed: this one has its lock.
    await session.query(`drop schema if exists ${DRAFT} cascade`);
    await session.query(`create schema ${DRAFT}`);
    await applyMigrations(session, {
      ...wait,
      schema: DRAFT,
      directory,
      logger,
      title: `the template of the tenants' catalog tables`,
      tables: 'private',
    });
    await session.transaction(async () => {
      // Waits for the copies that are being made, a tenth of a second each.
      await session.lock(USE, { ...wait, scope: 'transaction' });
      await session.query(`drop schema if exists ${TEMPLATE} cascade`);
      await session.query(`alter schema ${DRAFT} rename to ${TEMPLATE}`);
      await pinFunctions(session, TEMPLATE);
    });
  }

  /**
   * Makes the schema of a tenant, with tables, triggers and the state of the adoption: a copy
   * of the template in one transaction or, where that has what is not copied, by upstream's own
   * migrations. It does nothing where there is one, of whatever version.
   */
  async provision(tenantId: string): Promise<'created' | 'present'> {
    const schema = schemaOf(tenantId);
    const { logger } = this.options;
    return this.withSession(async session => {
      if (await hasTables(session, schema)) {
        return 'present';
      }
      await requireCreate(session);
      await this.prepare(session);
      try {
        return await this.copyTemplate(session, tenantId, schema);
      } catch (error) {
        if (!(error instanceof NotCopiedError)) {
          throw error;
        }
        logger.warn(
          `${error.message}. The migrations of the catalog make the tables of the tenant ` +
            `${tenantId}, which takes some seconds longer`,
        );
        return this.migrateAnew(session, tenantId, schema);
      }
    });
  }

  private async copyTemplate(
    session: TablesSession,
    tenantId: string,
    schema: string,
  ): Promise<'created' | 'present'> {
    const { patienceMs } = this.options;
    return session.transaction(async () => {
      await session.lock(schema, { scope: 'transaction', patienceMs });
      if (await hasTables(session, schema)) {
        return 'present';
      }
      await session.lock(USE, {
        scope: 'transaction',
        shared: true,
        patienceMs,
      });
      // Of a process that was killed while it ran the migrations.
      await dropUnfinished(session, schema);
      await cloneSchema(session, TEMPLATE, schema, await otherRoles(session));
      await this.attach(session, tenantId, schema);
      return 'created';
    });
  }

  /** Several transactions, of which the last one makes the schema one that counts. */
  private async migrateAnew(
    session: TablesSession,
    tenantId: string,
    schema: string,
  ): Promise<'created' | 'present'> {
    const { migrationsDirectory: directory, logger, patienceMs } = this.options;
    await session.lock(schema, { scope: 'session', patienceMs });
    if (await hasTables(session, schema)) {
      return 'present';
    }
    const quoted = escapeIdentifier(schema);
    await session.transaction(async () => {
      await dropUnfinished(session, schema);
      await session.query(`create schema ${quoted}`);
      await session.query(`comment on schema ${quoted} is '${UNFINISHED}'`);
    });
    await applyMigrations(session, {
      schema,
      directory,
      logger,
      patienceMs,
      title: `the catalog tables of the tenant ${tenantId}`,
      tables: 'private',
    });
    await session.transaction(async () => {
      await revokeAll(session, schema, await otherRoles(session));
      await this.attach(session, tenantId, schema);
      await session.query(`comment on schema ${quoted} is null`);
    });
    return 'created';
  }

  /**
   * Creates the triggers and the state of the adoption, in the caller's transaction.
   *
   * Where an engine is attached already, its tables were dropped. The tenant keeps its
   * entities, and each is replaced as the new engine ingests it.
   */
  private async attach(
    session: TablesSession,
    tenantId: string,
    catalogSchema: string,
  ): Promise<void> {
    const { schema, logger } = this.options;
    const engine = { schema, tenantId, catalogSchema };
    try {
      if (await isAttached(session, engine)) {
        logger.warn(
          `The catalog tables of the tenant ${tenantId} were gone, with the locations that ` +
            'were registered. They are made anew, and the tenant keeps its entities: ' +
            `"${operatorCommand(
              'adopt',
              '--tenant <slug>',
            )}" removes those that its engine does not ingest again`,
        );
      }
      // In one message, as the copy of the schema is.
      await session.query(attachEngine(engine).join(';\n'));
    } catch (error) {
      // Raised by attachEngine, or on a database that is not migrated.
      if (hasCode(error, '55000', '23505', '42P01', '3F000', '22023')) {
        throw new EngineTablesError(
          `An engine can't be attached to the tenant ${tenantId}: ${
            (error as Error).message
          }`,
          { cause: error },
        );
      }
      throw hasCode(error, '42501') ? new NotAdminError(error) : error;
    }
  }

  /**
   * Brings the template, and then the schema of one tenant, to the newest migration. A run
   * that was interrupted is gone on with, also one that the signal has ended.
   */
  async upgrade(
    tenantId: string,
    options: Partial<WaitOptions> = {},
  ): Promise<void> {
    const schema = schemaOf(tenantId);
    const { migrationsDirectory: directory, logger } = this.options;
    const { patienceMs = this.options.patienceMs, signal } = options;
    await this.withSession(session => this.prepare(session, signal));
    await this.withSession(async session => {
      if (await this.isCurrent(session, schema)) {
        return;
      }
      await session.lock(schema, { scope: 'session', patienceMs, signal });
      if (!(await hasTables(session, schema))) {
        throw new EngineTablesError(
          `The tenant ${tenantId} has no tables of its own to upgrade`,
        );
      }
      await session.endOnAbort(signal, () =>
        applyMigrations(session, {
          schema,
          directory,
          logger,
          patienceMs,
          signal,
          title: `the catalog tables of the tenant ${tenantId}`,
          tables: 'tenant',
          afterEach: migration =>
            this.restoreTriggers(session, { tenantId, schema, ...migration }),
        }),
      );
    });
  }

  /**
   * A migration may have replaced a table, with which its triggers are gone: the tenant would
   * never see what the engine writes there.
   *
   * @param options.isWhole - whether the migration's transaction is still open. Otherwise an
   *   engine may have written before the triggers are there again
   */
  private async restoreTriggers(
    session: TablesSession,
    options: {
      tenantId: string;
      schema: string;
      name: string;
      isWhole: boolean;
    },
  ): Promise<void> {
    const { tenantId, schema: catalogSchema, name, isWhole } = options;
    const { schema, logger } = this.options;
    const restore = () =>
      restoreEngineTriggers(
        { schema, tenantId, catalogSchema },
        (text, values) => session.query(text, values),
      );
    try {
      const restored = await (isWhole
        ? restore()
        : session.transaction(restore));
      if (restored.length > 0 && !isWhole) {
        logger.warn(
          `${name} of the catalog, which has no transaction, has replaced ${restored.join(
            ', ',
          )} of the tenant ${tenantId}. Changes that the engine has made meanwhile may be missing: ` +
            `"${operatorCommand('adopt', '--tenant <slug>')}" carries them`,
        );
      }
    } catch (error) {
      if (hasCode(error, '42501')) {
        throw new NotAdminError(error);
      }
      if (hasCode(error, '42P01', '42703', '42809')) {
        throw new EngineTablesError(
          `${name} of the catalog changes a table from which the tenant's entities are carried, in a way that ` +
            `this version of the tenants' engines does not know: ${
              (error as Error).message
            }. Deploy a newer version of them`,
          { cause: error },
        );
      }
      throw error;
    }
  }

  /** The tenants that have a schema, and of which version it is. */
  async list(): Promise<TenantTables[]> {
    const all = await this.migrations();
    return this.withSession(async session => {
      const found = await session.query<{ schema: string }>(
        `select n.nspname as schema
           from pg_catalog.pg_namespace n
           join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = $1
          where n.nspname ~ '^tenant_[0-9a-f]{32}$'
            and obj_description(n.oid, 'pg_namespace') is distinct from $2
          order by 1`,
        [VERSION_TABLE, UNFINISHED],
      );
      const tenants: TenantTables[] = [];
      for (let at = 0; at < found.length; at += VERSIONS_PER_QUERY) {
        const rows = await session.query<{
          schema: string;
          done: string[];
          isLocked: boolean;
        }>(readVersions(found.slice(at, at + VERSIONS_PER_QUERY)));
        tenants.push(
          ...rows.map(({ schema, done, isLocked }) => ({
            tenantId: tenantOf(schema),
            version: versionOf(all, done, isLocked),
          })),
        );
      }
      return tenants;
    });
  }

  /**
   * Drops the schema of a tenant, and the state of its adoption; the rows of the tenant stay.
   * Nothing where there is none.
   *
   * @param options - with `staysAttached` the state of the adoption stays: `provision` makes
   *   the tables again, such as for a tenant that is restored after its purge
   *
   * Locks: ACCESS EXCLUSIVE on the tenant's own tables. It gives up after 100 ms to 2 s
   * and comes again, so that others who use them wait no longer.
   */
  async drop(
    tenantId: string,
    options: { staysAttached?: boolean } = {},
  ): Promise<void> {
    const name = schemaOf(tenantId);
    const { schema, patienceMs } = this.options;
    await this.withSession(async session => {
      await session.lock(name, { scope: 'session', patienceMs });
      await session.withLockRetries(
        `Dropping the catalog tables of the tenant ${tenantId}`,
        { patienceMs },
        () =>
          session.transaction(async () => {
            await session.query(
              `drop schema if exists ${escapeIdentifier(name)} cascade`,
            );
            if (!options.staysAttached) {
              await forgetEngine(session, { schema, tenantId });
            }
          }),
      );
    });
  }

  /**
   * Brings the default catalog's own tables to the newest migration before the stock plugin
   * does, because one of its migrations goes wrong beside schemas with the same tables.
   * Call it before the plugin starts, and before {@link EngineTables.prepareTemplate}.
   *
   * It does so also where no tenant has a schema yet: one might get it while the plugin
   * migrates. Nothing where the tables are current, are those of a newer release, or where
   * the configuration skips migrations.
   *
   * @param options.schema - of the default catalog's tables
   * @param options.migrations - of the plugin's database service
   */
  async protectDefaultCatalog(options: {
    schema: string;
    migrations?: { skip?: boolean };
  }): Promise<void> {
    const { schema, migrations } = options;
    if (migrations?.skip) {
      return;
    }
    const { migrationsDirectory: directory, logger, patienceMs } = this.options;
    const all = await this.migrations();
    await this.withSession(async session => {
      const isPending = async () => {
        const done = await readVersion(session, schema);
        if (!done) {
          return true;
        }
        // The stock plugin refuses a newer one itself.
        return (
          missing(done, all).length === 0 &&
          (!isSame(all, done) || (await isLockedByUs(session, schema)))
        );
      };
      if (!(await isPending())) {
        return;
      }
      await session.lock(PREPARATION, { scope: 'session', patienceMs });
      if (!(await isPending())) {
        return;
      }
      await applyMigrations(session, {
        schema,
        directory,
        logger,
        patienceMs,
        title: `the catalog tables of the default tenant`,
        tables: 'default',
      });
    });
  }

  private migrations(): Promise<string[]> {
    return listMigrations(this.options.migrationsDirectory);
  }

  /** @throws {@link EngineTablesError} if the schema is of a newer release */
  private async isCurrent(
    session: TablesSession,
    schema: string,
  ): Promise<boolean> {
    const all = await this.migrations();
    const done = await readVersion(session, schema);
    if (!done) {
      return false;
    }
    refuseNewer(schema, all, done);
    return isSame(all, done) && !(await isLockedByUs(session, schema));
  }

  private async withSession<T>(
    use: (session: TablesSession) => Promise<T>,
  ): Promise<T> {
    const session = await TablesSession.open(this.options.connection);
    try {
      return await use(session);
    } catch (error) {
      if (error instanceof NotAdminError) {
        throw await explainAttach(session, error);
      }
      throw error;
    } finally {
      await session.close();
    }
  }
}

async function explainAttach(
  session: TablesSession,
  { cause }: NotAdminError,
): Promise<unknown> {
  const [role] = await session.query<{ may: boolean; grant: string }>(
    `select pg_has_role(oid, 'member') as may,
            format('GRANT %I TO %I', rolname, current_user) as grant
       from pg_roles where rolname = $1`,
    [ADMIN_ROLE],
  );
  return role && !role.may
    ? new EngineTablesError(
        `The login may not create the triggers that carry a tenant's entities: ${role.grant}`,
        { cause },
      )
    : cause;
}

/**
 * Works with rows of the adoption's tables, if there are any, as the role that owns them.
 * The caller has begun a transaction.
 */
async function withAdoption<T>(
  session: TablesSession,
  schema: string,
  work: (table: (name: string) => string) => Promise<T>,
): Promise<T | undefined> {
  const [{ exists }] = await session.query<{ exists: boolean }>(
    `select exists (
       select from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
        where n.nspname = $1 and c.relname = 'adoption_state') as exists`,
    [schema],
  );
  if (!exists) {
    return undefined;
  }
  await session.query(`set local role ${ADMIN_ROLE}`);
  const result = await work(name => `${escapeIdentifier(schema)}.${name}`);
  await session.query('reset role');
  return result;
}

/** Whether the adoption knows of an engine of the tenant. */
async function isAttached(
  session: TablesSession,
  { schema, tenantId }: { schema: string; tenantId: string },
): Promise<boolean> {
  const found = await withAdoption(session, schema, table =>
    session.query(
      `select from ${table(
        'adoption_state',
      )} where tenant_id = $1 and key = 'engine'`,
      [tenantId],
    ),
  );
  return (found ?? []).length > 0;
}

/** Removes what the adoption knows of a tenant's engine, whose tables are gone. */
async function forgetEngine(
  session: TablesSession,
  { schema, tenantId }: { schema: string; tenantId: string },
): Promise<void> {
  await withAdoption(session, schema, async table => {
    for (const name of ['adoption_faults', 'adoption_state']) {
      await session.query(`delete from ${table(name)} where tenant_id = $1`, [
        tenantId,
      ]);
    }
  });
}

async function requireCreate(session: TablesSession): Promise<void> {
  const [{ may, grant }] = await session.query<{ may: boolean; grant: string }>(
    `select has_database_privilege(current_database(), 'create') as may,
            format('GRANT CREATE ON DATABASE %I TO %I', current_database(), current_user) as grant`,
  );
  if (!may) {
    throw new EngineTablesError(
      `The login may not create the schemas of tenants: ${grant}`,
    );
  }
}

/** The application's role, if it is another one than the login. */
async function otherRoles(session: TablesSession): Promise<string[]> {
  const rows = await session.query<{ name: string }>(
    'select rolname as name from pg_roles where rolname = $1 and rolname <> current_user',
    [APP_ROLE],
  );
  return rows.map(({ name }) => name);
}

/** Whether the schema is there, and whole. */
async function hasTables(
  session: TablesSession,
  schema: string,
): Promise<boolean> {
  const found = await session.query(
    `select from pg_catalog.pg_namespace n where n.nspname = $1
        and obj_description(n.oid, 'pg_namespace') is distinct from $2`,
    [schema, UNFINISHED],
  );
  return found.length > 0;
}

/** The caller has made sure that it is not whole, and holds its lock. No other session uses it. */
async function dropUnfinished(
  session: TablesSession,
  schema: string,
): Promise<void> {
  await session.query(
    `drop schema if exists ${escapeIdentifier(schema)} cascade`,
  );
}

function versionOf(
  all: string[],
  done: string[],
  isLocked: boolean,
): TenantTables['version'] {
  if (missing(done, all).length > 0) {
    return 'newer';
  }
  return isLocked || missing(all, done).length > 0 ? 'older' : 'current';
}

function isSame(all: string[], done: string[]): boolean {
  return missing(all, done).length === 0 && missing(done, all).length === 0;
}

function schemaOf(tenantId: string): string {
  if (!UUID.test(tenantId)) {
    throw new InputError(
      `The id of a tenant must be a UUID, but is ${JSON.stringify(tenantId)}`,
    );
  }
  return engineSchemaOf(tenantId.toLowerCase());
}

function tenantOf(schema: string): string {
  return schema.replace(SCHEMA_OF_TENANT, '$1-$2-$3-$4-$5');
}
