import type { DatabaseService } from '@backstage/backend-plugin-api';
import {
  actingConnectionOfKnex,
  engineSchemaOf,
} from 'backstage-catalog-tenancy-migrations';
import { type ClientConfig, escapeIdentifier } from 'pg';
import { LOCKED_TABLES, TablesSession } from '../tables/TablesSession';
import { unlockMigrations } from '../tables/upstreamMigrations';

/** How long a start waits for another process that starts the same instance. */
const PATIENCE_MS = 60_000;

/** Each is locked (ACCESS SHARE) until the end of the statement. */
const TABLES_PER_QUERY = 50;

/** The limit of PostgreSQL, which would cut a longer name to that of another schema. */
const LONGEST_NAME = 63;
const TENANT_PREFIX = engineSchemaOf(
  '00000000-0000-0000-0000-000000000000',
).length;

/** Checks that each tenant's schema for a plugin can have its name. */
export function assertSchemaName(pluginId: string): void {
  const longest = LONGEST_NAME - TENANT_PREFIX - 1;
  if (!/^[A-Za-z][A-Za-z0-9-]*$/.test(pluginId) || pluginId.length > longest) {
    throw new Error(
      `Tenants can't have instances of the plugin '${pluginId}'. Expected an id of at most ${longest} letters, digits and dashes, which ends the names of their schemas`,
    );
  }
}

/** How a plugin of this backend connects to its own database. */
export async function connectionOf(
  pluginId: string,
  database: DatabaseService,
): Promise<ClientConfig> {
  const knex = await database.getClient();
  if (knex.client.config.client !== 'pg') {
    throw new Error(
      `The tenants' instances of the plugin '${pluginId}' need PostgreSQL, and its database client is '${knex.client.config.client}'. Expected 'pg' at backend.database.client`,
    );
  }
  return actingConnectionOfKnex(knex);
}

/** The schemas with the tables of the tenants' instances of one plugin, in its database. */
export class PluginSchemas {
  readonly #connection: ClientConfig;
  readonly #pluginId: string;
  readonly #tasksSchema: string;

  /** @param options - `tasksSchema`: has the scheduled tasks of the plugin */
  constructor(options: {
    connection: ClientConfig;
    pluginId: string;
    tasksSchema: string;
  }) {
    assertSchemaName(options.pluginId);
    this.#connection = options.connection;
    this.#pluginId = options.pluginId;
    this.#tasksSchema = options.tasksSchema;
  }

  nameOf(tenantId: string): string {
    return `${engineSchemaOf(tenantId)}_${this.#pluginId}`;
  }

  /**
   * Starts the instance of a tenant, which creates and upgrades its tables. The schema is
   * there, and no other process starts the same instance meanwhile.
   *
   * Locks: an advisory lock during the start. It locks no table, and only other starts of this
   * instance wait for it.
   */
  async whileStarting<T extends { stop(): Promise<void> }>(
    tenantId: string,
    signal: AbortSignal,
    start: () => Promise<T>,
  ): Promise<T> {
    const name = this.nameOf(tenantId);
    const wait = { patienceMs: PATIENCE_MS, signal };
    return this.#withSession(async session => {
      await session.lock(name, { scope: 'session', ...wait });
      // CREATE SCHEMA IF NOT EXISTS needs the right to create also if the schema exists.
      if (!(await session.hasSchema(name))) {
        await session.query(`create schema ${escapeIdentifier(name)}`);
      }
      await session.withLockRetries(
        `Preparing the schema "${name}"`,
        wait,
        () => unlockMigrations(session, name, wait),
      );
      const instance = await start();
      try {
        // Without its session, the lock was not held to the end.
        await session.query('select');
      } catch (error) {
        await instance.stop();
        throw error;
      }
      return instance;
    }, signal);
  }

  /** The tenants that have a schema, or those of some. */
  async list(tenantIds?: string[]): Promise<{ tenantId: string }[]> {
    return this.#withSession(session =>
      session.query(
        `select substr(nspname, 8, 32)::uuid::text as "tenantId"
           from pg_catalog.pg_namespace where nspname ~ $1 order by 1`,
        [this.#patternOf(tenantIds)],
      ),
    );
  }

  /**
   * When all scheduled tasks of a tenant's instance had run, in milliseconds; nothing for one with
   * a task that runs, that failed or that never ran, or none of whose tasks ran for a day.
   */
  async listRuns(): Promise<Map<string, number>> {
    const rows = await this.#withSession(session =>
      session.query<{ tenantId: string; at: Date }>(
        `select split_part(id, ':', 2) as "tenantId", min(last_run_ended_at) as at
           from ${escapeIdentifier(
             this.#tasksSchema,
           )}.backstage_backend_tasks__tasks
          -- The task of a module that was removed stays.
          where id like 'tenant:%'
            and coalesce(last_run_ended_at > now() - interval '1 day', true)
          group by 1
         having bool_and(last_run_ended_at is not null and last_run_error_json is null
                         and current_run_ticket is null)`,
      ),
    );
    return new Map(rows.map(({ tenantId, at }) => [tenantId, +at]));
  }

  /**
   * Those of them whose table has such rows, or is locked, for which no other tenant waits. It
   * reads each table that is there, many at once.
   */
  async listWithRows(
    { table, where }: { table: string; where: string },
    tenantIds?: string[],
  ): Promise<{ tenantId: string }[]> {
    return this.#withSession(session =>
      session.withLockRetries(
        `Looking for work of the plugin '${this.#pluginId}'`,
        { patienceMs: PATIENCE_MS },
        async () => {
          const schemas = await session.query<{
            tenantId: string;
            name: string;
            isLocked: boolean;
          }>(
            `select substr(n.nspname, 8, 32)::uuid::text as "tenantId", n.nspname as name,
                    c.oid in ${LOCKED_TABLES} as "isLocked"
               from pg_catalog.pg_namespace n
               join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = $2
              where n.nspname ~ $1`,
            [this.#patternOf(tenantIds), table],
          );
          const looks = schemas.map(({ tenantId, name, isLocked }) => {
            const from = [name, table].map(escapeIdentifier).join('.');
            return `select '${tenantId}' as "tenantId"${
              isLocked
                ? ''
                : ` where exists (select from ${from} where ${where})`
            }`;
          });
          const found: { tenantId: string }[] = [];
          while (looks.length > 0) {
            const some = looks.splice(0, TABLES_PER_QUERY);
            found.push(
              ...(await session.query<(typeof found)[0]>(
                some.join(' union all '),
              )),
            );
          }
          return found;
        },
      ),
    );
  }

  /**
   * Removes the schema of a tenant for good, with all tables in it. The instance does not run.
   *
   * Locks: as {@link TablesSession.dropSchema}.
   *
   * @param check - keeps them where it throws
   */
  async drop(tenantId: string, check?: () => Promise<void>): Promise<void> {
    await this.#withSession(session =>
      session.dropSchema(
        this.nameOf(tenantId),
        `Dropping the tables of the plugin '${
          this.#pluginId
        }' of the tenant ${tenantId}`,
        { patienceMs: PATIENCE_MS },
        check,
      ),
    );
  }

  /** Of the schemas of all tenants, or of some. */
  #patternOf(tenantIds?: string[]): string {
    const schemas =
      tenantIds?.map(engineSchemaOf).join('|') ?? 'tenant_[0-9a-f]{32}';
    return `^(${schemas})_${this.#pluginId}$`;
  }

  #withSession<T>(
    work: (session: TablesSession) => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> {
    return TablesSession.use(this.#connection, work, signal);
  }
}
