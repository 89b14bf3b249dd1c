import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Client } from 'pg';
import type { ClientConfig } from 'pg';
import { Postgres } from '@internal/postgres';
import type { PostgresVersion } from '@internal/postgres';
import { seedCatalog } from '../../__testUtils__/seed';
import { DEFAULT_TENANT_ID } from '../../schema/tables';
import type { Application } from './Session';

const DATABASE = 'catalog';
const OLD_LOGIN = 'catalog_application';
const APP_LOGIN = 'portal_app';
const PASSWORD = 'of tests only';

// Nothing that the server says is committed may be lost when its process is killed;
// only a power failure would be worse, and there is none.
const SETTINGS = {
  fsync: 'off',
  synchronous_commit: 'on',
  shared_buffers: '64MB',
};

/** The rights of the application before the migration. */
const OLD_APPLICATION = `
  create role ${OLD_LOGIN} login password '${PASSWORD}';
  grant usage on schema tenancy to ${OLD_LOGIN};
  grant select, insert, update, delete on entities, relations, refresh_state
    to ${OLD_LOGIN};
  grant usage on all sequences in schema tenancy to ${OLD_LOGIN};
`;

/**
 * A PostgreSQL server with a single-tenant catalog, for one test: it can be restarted,
 * and no other test uses its roles.
 */
export class CatalogServer {
  static async start(
    version: PostgresVersion,
    entities: number,
  ): Promise<CatalogServer> {
    const folder = await mkdtemp(path.join(os.tmpdir(), 'live-traffic-'));
    const dataDirectory = path.join(folder, 'server');
    const server = new CatalogServer(
      folder,
      version,
      await Postgres.start({ version, dataDirectory, settings: SETTINGS }),
    );
    const client = new Client(server.postgres.connection);
    await client.connect();
    await client.query(`create database ${DATABASE}`);
    await client.end();
    await server.query(async database => {
      await seedCatalog(database, { entities });
      await database.query(OLD_APPLICATION);
    });
    return server;
  }

  private constructor(
    private readonly folder: string,
    private readonly version: PostgresVersion,
    private postgres: Postgres,
  ) {}

  /** The operator's login, a superuser. */
  get connection(): ClientConfig {
    return { ...this.postgres.connection, database: DATABASE };
  }

  /** Lends a connection of the superuser's. */
  async query<T>(use: (client: Client) => Promise<T>): Promise<T> {
    const client = new Client(this.connection);
    await client.connect();
    try {
      await client.query('set search_path = tenancy, public');
      return await use(client);
    } finally {
      await client.end();
    }
  }

  /** The application of before the migration. */
  oldApplication(): Application {
    return { name: 'old', login: this.login(OLD_LOGIN) };
  }

  /** The application that knows tenants; phase 3 has made its role. */
  async newApplication(): Promise<Application> {
    await this.query(client =>
      client.query(`alter role ${APP_LOGIN} password '${PASSWORD}'`),
    );
    const login = this.login(APP_LOGIN);
    return { name: 'new', login, tenantId: DEFAULT_TENANT_ID };
  }

  /** Restarts in good order, without waiting for transactions to end. */
  async restart(): Promise<void> {
    await this.postgres.stop();
    await this.startAgain();
  }

  /** Kills the server, so that it has to recover from its log. */
  async crash(): Promise<void> {
    process.kill(this.postgres.pid, 'SIGKILL');
    await this.postgres.exited;
    await this.startAgain();
  }

  async stop(): Promise<void> {
    await this.postgres.stop();
    await rm(this.folder, { recursive: true, force: true });
  }

  private async startAgain(): Promise<void> {
    const { dataDirectory, connection } = this.postgres;
    this.postgres = await Postgres.start({
      version: this.version,
      dataDirectory,
      port: connection.port,
      settings: SETTINGS,
    });
  }

  private login(user: string): ClientConfig {
    const { host, port } = this.postgres.connection;
    return {
      ...{ host, port, user },
      database: DATABASE,
      password: PASSWORD,
      options: '-c search_path=tenancy',
    };
  }
}
