import {
  type PostgresConnection,
  type PostgresVersion,
  ReplicatedPostgres,
} from '@internal/postgres';
import { eventually } from '@internal/postgres/testUtils';
import { migrateTo } from 'backstage-catalog-tenancy-migrations';
import { Client, type ClientConfig } from 'pg';

export const SCHEMA = 'tenancy';
const DATABASE = 'postgres';
const PASSWORD = 'only-for-tests';

/** A primary, and a replica of it by streaming replication. */
export class ReplicatedServers {
  readonly #servers: ReplicatedPostgres;
  readonly #onPrimary: Client;
  #tenants = 0;

  /** With the tables of tenants, if `migrated`, and with `portal_app` anyway. */
  static async start(
    version: PostgresVersion,
    { migrated = true } = {},
  ): Promise<ReplicatedServers> {
    const servers = await ReplicatedPostgres.start(version);
    const onPrimary = await connect(servers.primary);
    if (migrated) {
      await migrateTo(5, {
        connection: { ...servers.primary, database: DATABASE },
        schema: SCHEMA,
        createTables: true,
        // The connection of this class is one that knows no tenants.
        force: true,
      });
    } else {
      await onPrimary.query('create role portal_app login noinherit');
    }
    await onPrimary.query(`set search_path = ${SCHEMA}, public`);
    await onPrimary.query(`alter role portal_app password '${PASSWORD}'`);
    const started = new ReplicatedServers(servers, onPrimary);
    await started.#isReplayed();
    return started;
  }

  private constructor(servers: ReplicatedPostgres, onPrimary: Client) {
    this.#servers = servers;
    this.#onPrimary = onPrimary;
  }

  /** As `portal_app`. */
  get primary(): ClientConfig {
    return asApplication(this.#servers.primary);
  }

  /** As `portal_app`. */
  get replica(): ClientConfig {
    return asApplication(this.#servers.replica);
  }

  /** A superuser's connection, in the schema. */
  get onPrimary(): Client {
    return this.#onPrimary;
  }

  /** Runs a statement on the replica, as a superuser. */
  async onReplica<TRow extends object>(statement: string): Promise<TRow[]> {
    const client = await connect(this.#servers.replica);
    try {
      return (await client.query<TRow>(statement)).rows;
    } finally {
      await client.end();
    }
  }

  /** The replica shows nothing new meanwhile. */
  async whilePaused(work: () => Promise<void>): Promise<void> {
    await this.onReplica('select pg_wal_replay_pause()');
    try {
      await work();
    } finally {
      await this.onReplica('select pg_wal_replay_resume()');
    }
  }

  async #isReplayed(): Promise<void> {
    const { rows } = await this.onPrimary.query<{ lsn: string }>(
      'select pg_current_wal_flush_lsn()::text as lsn',
    );
    await eventually(async () => {
      const [{ behind }] = await this.onReplica<{ behind: boolean }>(
        `select pg_last_wal_replay_lsn() < '${rows[0].lsn}' as behind`,
      );
      if (behind) {
        throw new Error('The replica has not replayed what was written');
      }
    });
  }

  async createTenant(): Promise<string> {
    this.#tenants += 1;
    const { rows } = await this.onPrimary.query<{ tenant_id: string }>(
      `insert into tenants (tenant_slug, tenant_name) values ($1, $1) returning tenant_id`,
      [`tenant-${this.#tenants}`],
    );
    return rows[0].tenant_id;
  }

  stopReplica(): Promise<void> {
    return this.#servers.stopReplica();
  }

  startReplica(): Promise<void> {
    return this.#servers.startReplica();
  }

  async stop(): Promise<void> {
    await this.#onPrimary.end();
    await this.#servers.stop();
  }
}

async function connect(connection: PostgresConnection): Promise<Client> {
  const client = new Client({ ...connection, database: DATABASE });
  await client.connect();
  return client;
}

function asApplication(connection: PostgresConnection): ClientConfig {
  return {
    ...connection,
    database: DATABASE,
    user: 'portal_app',
    password: PASSWORD,
  };
}
