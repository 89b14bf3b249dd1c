import { copyDatabase, withClient } from '@internal/postgres/testUtils';
import { Client } from 'pg';
import type { ClientConfig } from 'pg';
import { catalogSnapshot } from '../../__testUtils__/catalogSnapshot';
import { testSettings } from '../../__testUtils__/catalogDatabase';
import { TenancyMigration } from '../../engine/TenancyMigration';
import { phases } from '../../phases';
import { SessionKiller } from './SessionKiller';

/** Copies of databases on one server, made in a moment from one another. */
export class Clones {
  static async open(connection: ClientConfig): Promise<Clones> {
    const admin = new Client({ ...connection, database: 'postgres' });
    await admin.connect();
    return new Clones(connection, admin);
  }

  private readonly names: string[] = [];

  protected constructor(
    /** To the database that they are of. */
    readonly connection: ClientConfig,
    /** The connection that makes them. */
    readonly admin: Client,
  ) {}

  /** How to connect to one of them. */
  to(database: string): ClientConfig {
    return { ...this.connection, database };
  }

  async clone(template: string): Promise<string> {
    const name = `clone_${process.pid}_${this.names.length}`;
    this.names.push(name);
    await copyDatabase(this.admin, name, template);
    return name;
  }

  /** The rows of a query. */
  async query(database: string, sql: string): Promise<any[]> {
    return withClient(
      this.to(database),
      async client => (await client.query(sql)).rows,
    );
  }

  /** How many statements a command sends that nobody kills. */
  async count<T extends string | string[]>(
    database: T,
    run: (database: T) => Promise<unknown>,
  ): Promise<number> {
    const { admin } = this;
    const counter = new SessionKiller({ after: Infinity, admin, database });
    await run(database);
    await counter.stop();
    return counter.sent;
  }

  /** Kills a command behind so many statements. */
  async kill<T extends string | string[]>(
    after: number,
    database: T,
    run: (database: T) => Promise<unknown>,
  ): Promise<void> {
    const { admin } = this;
    const killer = new SessionKiller({ after, admin, database });
    await run(database).catch(() => undefined);
    await killer.stop();
    if (killer.failure || !killer.hasKilled) {
      throw killer.failure ?? new Error(`It ended within ${after} statements`);
    }
  }

  async drop(name: string): Promise<void> {
    await this.admin.query(`drop database if exists ${name} with (force)`);
  }

  async close(): Promise<void> {
    for (const name of this.names) {
      await this.drop(name);
    }
    await this.admin.end();
  }

  async migrate(
    database: string,
    change: (migration: TenancyMigration) => Promise<unknown>,
  ): Promise<void> {
    const migration = await TenancyMigration.open({
      phases,
      connection: this.to(database),
      command: 'test',
      mode: 'change',
      settings: { ...testSettings, force: true },
    });
    try {
      await change(migration);
    } finally {
      await migration.close();
    }
  }

  /** Everything that two databases must have in common to be in the same state. */
  async describe(database: string): Promise<Record<string, string[]>> {
    const client = new Client(this.to(database));
    await client.connect();
    try {
      await client.query('set search_path = tenancy');
      const description = {
        ...(await catalogSnapshot(client)),
        steps: await records(client, 'tenancy_migrations', 'name'),
        state: await records(client, 'tenancy_migration_state', 'key'),
        ...(await rowsOf(client)),
      };
      return Object.fromEntries(
        Object.entries(description).map(([name, list]) => [
          name,
          list.map(each => JSON.stringify(each)),
        ]),
      );
    } finally {
      await client.end();
    }
  }
}

async function rowsOf(client: Client): Promise<Record<string, unknown[]>> {
  const tables = await client.query<{ name: string }>(
    `select relname as name from pg_class
      where relnamespace = 'tenancy'::regnamespace and relkind in ('r', 'p')
        and relname !~ '^tenan' and not relispartition`,
  );
  const found: Record<string, unknown[]> = {};
  for (const { name } of tables.rows) {
    found[`rows of ${name}`] = (
      await client.query(
        // An undo of phase 2 leaves what was filled.
        `select to_jsonb(t) - 'tenant_id' as row from ${name} t order by 1`,
      )
    ).rows;
  }
  return found;
}

async function records(
  client: Client,
  table: string,
  column: string,
): Promise<unknown[]> {
  const { rows } = await client.query(
    `select to_regclass('${table}') is not null as there`,
  );
  return rows[0].there
    ? (await client.query(`select ${column} from ${table} order by 1`)).rows
    : [];
}
