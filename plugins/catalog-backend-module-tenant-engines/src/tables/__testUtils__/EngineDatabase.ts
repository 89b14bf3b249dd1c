import { mockServices } from '@backstage/backend-test-utils';
import { resolvePackagePath } from '@backstage/backend-plugin-api';
import type { LoggerService } from '@backstage/backend-plugin-api';
import type {
  TestDatabaseId,
  TestDatabases,
} from '@internal/postgres/testUtils';
import {
  engineSchemaOf,
  migrateTo,
} from 'backstage-catalog-tenancy-migrations';
import knexFactory from 'knex';
import type { Knex } from 'knex';
import { randomUUID } from 'node:crypto';
import { Client, DatabaseError } from 'pg';
import type { ClientConfig, QueryResultRow } from 'pg';
import { EngineTables } from '../EngineTables';
import type { EngineTablesOptions } from '../EngineTables';

export const UPSTREAM = resolvePackagePath(
  '@backstage/plugin-catalog-backend',
  'migrations',
);

const LOGIN = 'tenant_engines_login';
const PASSWORD = 'only-for-tests';

/** The database of a catalog, whose login may create schemas and nothing more. */
export class EngineDatabase {
  static async create(
    databases: TestDatabases,
    id: TestDatabaseId,
  ): Promise<EngineDatabase> {
    const admin = await databases.create(id, {
      name: 'tenant engines',
      async prepare(connection) {
        await migrateTo(5, {
          connection,
          schema: 'tenancy',
          createTables: true,
        });
      },
    });
    const database = new EngineDatabase(admin);
    await database.prepare();
    return database;
  }

  /** The login of the catalog's plugin. */
  readonly login: ClientConfig;

  private constructor(
    /** A superuser. */
    readonly admin: ClientConfig,
  ) {
    this.login = { ...admin, user: LOGIN, password: PASSWORD };
  }

  private async prepare(): Promise<void> {
    const { database } = this.admin;
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.query(
          `do $$ begin
             create role ${LOGIN} login password '${PASSWORD}';
           exception when duplicate_object or unique_violation then null;
           end $$;
           grant portal_admin to ${LOGIN};
           grant create on database "${database}" to ${LOGIN}`,
        );
        break;
      } catch (error) {
        // Another test file is at the same role.
        if (!(error instanceof DatabaseError) || attempt === 20) {
          throw error;
        }
      }
    }
  }

  /** The id of a new tenant. */
  async newTenant(): Promise<string> {
    const tenantId = randomUUID();
    await this.query(
      `insert into tenancy.tenants (tenant_id, tenant_slug, tenant_name) values ($1, 't-' || $2, 'A tenant')`,
      [tenantId, tenantId],
    );
    return tenantId;
  }

  /** Writes an entity as the engine of a tenant does. */
  async ingest(tenantId: string): Promise<void> {
    const schema = engineSchemaOf(tenantId);
    const uid = randomUUID();
    await this.use(
      client =>
        client.query(
          `insert into ${schema}.refresh_state (entity_id, entity_ref, unprocessed_entity, unprocessed_hash, errors, next_update_at, last_discovery_at)
           values ('${uid}', 'component:default/e', '{}', '', '[]', now(), now());
           insert into ${schema}.final_entities (entity_id, entity_ref, hash, final_entity)
           values ('${uid}', 'component:default/e', 'h',
             '{"apiVersion": "backstage.io/v1alpha1", "kind": "Component",
               "metadata": {"name": "e", "namespace": "default", "uid": "${uid}"}}')`,
        ),
      this.login,
    );
  }

  tables(options: Partial<EngineTablesOptions> = {}): EngineTables {
    return EngineTables.create({
      connection: this.login,
      schema: 'tenancy',
      logger: mockServices.logger.mock() as LoggerService,
      ...options,
    });
  }

  /** Lends a connection of the superuser's, or of another login. */
  async use<T>(
    work: (client: Client) => Promise<T>,
    connection: ClientConfig = this.admin,
  ): Promise<T> {
    const client = new Client(connection);
    client.on('error', () => undefined);
    await client.connect();
    try {
      return await work(client);
    } finally {
      await client.end();
    }
  }

  async query<Row extends QueryResultRow>(
    text: string,
    values: unknown[] = [],
  ): Promise<Row[]> {
    return this.use(
      async client => (await client.query<Row>(text, values)).rows,
    );
  }

  /** Lends a Knex as the stock plugin has one, for the tables in a schema. */
  async asPlugin<T>(
    schema: string,
    work: (knex: Knex) => Promise<T>,
    connection: ClientConfig = this.login,
  ): Promise<T> {
    const { host, port, user, password, database } = connection;
    const knex = knexFactory({
      client: 'pg',
      connection: { host, port, user, password: String(password), database },
      searchPath: [schema],
      pool: { min: 0, max: 3 },
    });
    try {
      return await work(knex);
    } finally {
      await knex.destroy();
    }
  }

  /** Has the stock plugin's migrations run in a schema of the login, up to one of them. */
  async migrateStock(
    schema: string,
    options: { before?: string } = {},
  ): Promise<void> {
    await this.query(
      `create schema if not exists "${schema}" authorization ${LOGIN}`,
    );
    await this.asPlugin(schema, async knex => {
      if (options.before) {
        await knex.migrate.before({
          directory: UPSTREAM,
          name: options.before,
        } as Knex.MigratorConfig);
      } else {
        await knex.migrate.latest({ directory: UPSTREAM });
      }
    });
  }
}
