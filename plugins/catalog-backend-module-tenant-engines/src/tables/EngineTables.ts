import {
  type LoggerService,
  resolvePackagePath,
} from '@backstage/backend-plugin-api';
import {
  attachEngine,
  engineSchemaOf,
  restoreEngineTriggers,
} from 'backstage-catalog-tenancy-migrations';
import type { ActiveTenant } from 'backstage-plugin-catalog-tenancy-node';
import { type ClientConfig, escapeIdentifier } from 'pg';
import { StartQueue } from '../work/StartQueue';
import { EngineTablesError, hasCode, TablesSession } from './TablesSession';
import type { WaitOptions } from './TablesSession';
import {
  listMigrations,
  migrateTenant,
  missing,
  readVersion,
  refuseNewer,
  markedMigrations,
  unlockMigrations,
  VERSION_TABLE,
  withOwnCatalogs,
} from './upstreamMigrations';

// The name of the advisory lock that is held while the default catalog's tables are migrated.
const DEFAULT_CATALOG = 'default catalog';

const APP_ROLE = 'portal_app';

const LOCK_MS = 50;
const PATIENCE_MS = 5 * 60_000;

/** How many tenants are looked at, and get their tables, at the same time. */
const PROVISIONS = 4;

/**
 * How long one tenant's tables are tried for, if others hold locks on them, while other tenants
 * wait. Its engine then starts again after a pause, and this with it.
 */
const QUEUED_PATIENCE_MS = 10_000;

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
  /** How long to retry for locks that others hold, in milliseconds; 5 minutes by default. */
  patienceMs?: number;
}

/**
 * Whether the tables of a tenant have the migrations of this release: `older` if some are missing,
 * `newer` if they have others.
 */
export type TablesVersion = 'current' | 'older' | 'newer';

/**
 * The tables of the tenants' engines: a schema for each tenant, in the database of the
 * catalog.
 *
 * Upstream's own migrations make the tables of each.
 */
export class EngineTables {
  readonly #provisions = new StartQueue(PROVISIONS);
  readonly #upgrades = new StartQueue(1);

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
   * Resolves when a tenant has tables of this release, before its engine starts: creates those of a
   * new tenant, and upgrades those of an earlier release, one tenant at a time.
   *
   * @throws the reason for which it can't have them, such as a migration that fails or tables
   * of a newer release; or the reason of the signal
   */
  async ready(
    { tenantId, tenantSlug }: ActiveTenant,
    signal: AbortSignal,
  ): Promise<void> {
    const options = { patienceMs: QUEUED_PATIENCE_MS, signal };
    const found = await this.#provisions.run(tenantId, signal, () =>
      this.provision(tenantId, options),
    );
    if (found === 'older' || found === 'newer') {
      await this.#upgrades.run(tenantId, signal, () =>
        this.upgrade(tenantId, options),
      );
      this.options.logger.info(
        `Upgraded the catalog tables of '${tenantSlug}'`,
      );
    }
  }

  /** Puts a tenant first, because a request waits for it. */
  hurry(tenantId: string): void {
    this.#provisions.hurry(tenantId);
    this.#upgrades.hurry(tenantId);
  }

  /**
   * Creates the schema of a tenant, with tables, triggers and the state of the adoption, in one
   * transaction. Does nothing if the schema exists.
   *
   * @returns the version of the tables that it has found, or `created`
   * @throws the reason of the signal, which ends it at once
   */
  async provision(
    tenantId: string,
    options: Partial<WaitOptions> = {},
  ): Promise<TablesVersion | 'created'> {
    const schema = engineSchemaOf(tenantId);
    const title = titleOf(tenantId);
    return this.withRetries(`Preparing ${title}`, options, async session => {
      if (await session.hasSchema(schema)) {
        return this.versionOf(session, schema);
      }
      return session.transaction(async () => {
        await session.lock(schema, {
          scope: 'transaction',
          ...this.waitOf(options),
        });
        if (await session.hasSchema(schema)) {
          return this.versionOf(session, schema);
        }
        await session.query(`create schema ${escapeIdentifier(schema)}`);
        await this.migrate(session, { schema, title });
        await this.attach(session, tenantId, schema);
        await revokeAll(session, schema);
        return 'created' as const;
      });
    });
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
    const engine = { schema: this.options.schema, tenantId, catalogSchema };
    try {
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
      throw error;
    }
  }

  /**
   * Brings the schema of one tenant to the newest migration, in one transaction: if a migration
   * fails or the process is killed, the schema is as before.
   *
   * Locks: ACCESS EXCLUSIVE on all tables of the tenant's engine but the list of migrations, up to
   * the end of the transaction.
   * Each is asked for for 50 ms at most, in which others wait behind it; then the transaction
   * begins again. The tenant's entities are read from other tables.
   *
   * @throws {@link EngineTablesError} for tables of a newer release; the reason of the signal, which
   * ends it at once
   */
  async upgrade(
    tenantId: string,
    options: Partial<WaitOptions> = {},
  ): Promise<void> {
    const schema = engineSchemaOf(tenantId);
    const title = titleOf(tenantId);
    await this.withRetries(`Migrating ${title}`, options, session =>
      session.transaction(async () => {
        await session.lock(schema, {
          scope: 'transaction',
          ...this.waitOf(options),
        });
        if (!(await session.hasSchema(schema))) {
          throw new EngineTablesError(
            `The tenant ${tenantId} has no tables of its own to upgrade`,
          );
        }
        const all = await this.migrations();
        const done = (await readVersion(session, schema)) ?? [];
        // Before it locks tables that an engine of a newer release works with.
        refuseNewer(schema, all, done);
        if (missing(all, done).length === 0) {
          return;
        }
        await lockTables(session, schema);
        await this.migrate(session, { schema, title }, name =>
          this.restoreTriggers(session, { tenantId, schema, name }),
        );
      }),
    );
  }

  private async versionOf(
    session: TablesSession,
    schema: string,
  ): Promise<TablesVersion> {
    const done = (await readVersion(session, schema)) ?? [];
    return versionOf(await this.migrations(), done);
  }

  private async migrate(
    session: TablesSession,
    where: { schema: string; title: string },
    afterEach?: (name: string) => Promise<void>,
  ): Promise<void> {
    const { migrationsDirectory: directory, logger } = this.options;
    await migrateTenant(session, {
      ...where,
      directory,
      warn: message => logger.warn(message),
      afterEach,
    });
  }

  /**
   * A migration may have replaced a table, with which its triggers are gone: the tenant would
   * never see what the engine writes there.
   */
  private async restoreTriggers(
    session: TablesSession,
    options: { tenantId: string; schema: string; name: string },
  ): Promise<void> {
    const { tenantId, schema: catalogSchema, name } = options;
    const { schema } = this.options;
    try {
      await restoreEngineTriggers(
        { schema, tenantId, catalogSchema },
        (text, values) => session.query(text, values),
      );
    } catch (error) {
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

  /** The tenants that have a schema. */
  async list(): Promise<{ tenantId: string }[]> {
    return this.withSession(session =>
      session.query(
        `select substr(nspname, 8)::uuid::text as "tenantId"
           from pg_catalog.pg_namespace
          where nspname ~ '^tenant_[0-9a-f]{32}$' order by 1`,
      ),
    );
  }

  /**
   * Drops the schema of a tenant; nothing where there is none. The rows of the tenant and the state
   * of its adoption stay: `provision` makes the tables again, such as for a tenant that is restored
   * after its purge.
   *
   * Locks: as {@link TablesSession.dropSchema}.
   *
   * @param check - keeps them where it throws
   */
  async drop(tenantId: string, check?: () => Promise<void>): Promise<void> {
    await this.withSession(session =>
      session.dropSchema(
        engineSchemaOf(tenantId),
        `Dropping the catalog tables of the tenant ${tenantId}`,
        this.options,
        check,
      ),
    );
  }

  /**
   * Brings the default catalog's own tables to the newest migration before the stock plugin
   * does, because one of its migrations goes wrong beside schemas with the same tables.
   * Call it before the plugin starts, and before tenants get tables.
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
      const isDue = async () => {
        const done = await readVersion(session, schema);
        const version = done && versionOf(all, done);
        // The stock plugin refuses a newer one itself. It refuses a mark, too, with nothing to do.
        return (
          version !== 'newer' &&
          (version !== 'current' ||
            (await markedMigrations(session, schema)).length > 0)
        );
      };
      if (!(await isDue())) {
        return;
      }
      await session.lock(DEFAULT_CATALOG, { scope: 'session', patienceMs });
      if (!(await isDue())) {
        return;
      }
      const title = 'the catalog tables of the default tenant';
      logger.info(`Migrating ${title}`);
      if (!(await readVersion(session, schema))?.length) {
        // As a whole: some of upstream's first migrations can't go on from what a crash leaves.
        await session.transaction(() =>
          this.migrate(session, { schema, title }),
        );
        return;
      }
      await session.useSchema(schema);
      await unlockMigrations(session, schema, { patienceMs });
      const knex = session.knex({ warn: message => logger.warn(message) });
      await withOwnCatalogs(session, async () => {
        // One at a time: Knex records each in its own transaction then. Where one of several needs
        // to be outside of a transaction, it records all of them after their commits.
        let ran: string[];
        do {
          [, ran] = await knex.migrate.up({ directory });
        } while (ran.length > 0);
      });
    });
  }

  /** Work that others' locks on the tables do not hold up for longer than there is patience. */
  private withRetries<T>(
    title: string,
    options: Partial<WaitOptions>,
    work: (session: TablesSession) => Promise<T>,
  ): Promise<T> {
    return this.withSession(
      session =>
        session.withLockRetries(title, this.waitOf(options), () =>
          work(session),
        ),
      options.signal,
    );
  }

  private waitOf({ patienceMs, signal }: Partial<WaitOptions>): WaitOptions {
    return { patienceMs: patienceMs ?? this.options.patienceMs, signal };
  }

  private migrations(): Promise<string[]> {
    return listMigrations(this.options.migrationsDirectory);
  }

  private withSession<T>(
    use: (session: TablesSession) => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> {
    return TablesSession.use(this.options.connection, use, signal);
  }
}

/**
 * Locks all tables of a schema in the caller's transaction, before it uses one of them:
 * otherwise a session that holds one and waits for another would deadlock with it. PostgreSQL
 * checks for deadlocks after a second; by then this has all locks or has given up. The list of
 * migrations stays readable, by which {@link EngineTables.provision} knows the version.
 */
async function lockTables(
  session: TablesSession,
  schema: string,
): Promise<void> {
  const tables = (await objectsIn(session, schema))
    .filter(({ relkind }) => relkind === 'r' || relkind === 'p')
    .map(({ name }) => name)
    .filter(name => !name.endsWith(`.${VERSION_TABLE}`));
  await session.query(`set local lock_timeout = '${LOCK_MS}ms'`);
  await session.query(
    `lock table ${tables.join(', ')} in access exclusive mode`,
  );
}

/** Revokes all rights in a schema from all roles, also those of default privileges. */
async function revokeAll(
  session: TablesSession,
  schema: string,
): Promise<void> {
  // The application's role, if it is another one than the login.
  const others = await session.query<{ name: string }>(
    'select quote_ident(rolname) as name from pg_roles where rolname = $1 and rolname <> current_user',
    [APP_ROLE],
  );
  const roles = ['public', ...others.map(({ name }) => name)].join(', ');
  await session.query(
    `revoke all on schema ${escapeIdentifier(schema)} from ${roles}`,
  );
  const objects = await objectsIn(session, schema);
  for (const kind of ['table', 'sequence', 'routine']) {
    const names = objects
      .filter(each => each.kind === kind)
      .map(({ name }) => name);
    if (names.length > 0) {
      await session.query(
        `revoke all on ${kind} ${names.join(', ')} from ${roles}`,
      );
    }
  }
}

/**
 * The tables, views, sequences and routines of a schema. PostgreSQL has an index of what depends on
 * a schema; a look for its tables, as "all tables in schema" does it, reads those of all tenants.
 */
async function objectsIn(
  session: TablesSession,
  schema: string,
): Promise<
  { kind: 'table' | 'sequence' | 'routine'; relkind?: string; name: string }[]
> {
  return session.query(
    `select case when c.oid is null then 'routine' when c.relkind = 'S' then 'sequence' else 'table' end as kind,
            c.relkind,
            case when c.oid is null then p.oid::regprocedure::text
                 else format('%I.%I', $1::text, c.relname) end as name
       from pg_catalog.pg_depend d
       left join pg_catalog.pg_class c
         on d.classid = 'pg_catalog.pg_class'::regclass and c.oid = d.objid
        and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
       left join pg_catalog.pg_proc p
         on d.classid = 'pg_catalog.pg_proc'::regclass and p.oid = d.objid
      where d.refclassid = 'pg_catalog.pg_namespace'::regclass
        and d.refobjid = (select oid from pg_catalog.pg_namespace where nspname = $1)
        and (c.oid is not null or p.oid is not null)
      order by 1, 3`,
    [schema],
  );
}

function versionOf(all: string[], done: string[]): TablesVersion {
  if (missing(done, all).length > 0) {
    return 'newer';
  }
  return missing(all, done).length > 0 ? 'older' : 'current';
}

/** In messages. */
function titleOf(tenantId: string): string {
  return `the catalog tables of the tenant ${tenantId}`;
}
