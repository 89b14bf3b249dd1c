import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import {
  changeRole,
  type TestDatabaseId,
  type TestDatabases,
  waitUntil,
  withClient,
} from '@internal/postgres/testUtils';
import { Client } from 'pg';
import type { ClientConfig } from 'pg';
import { createCatalogDatabase } from '../../__testUtils__/catalogDatabase';
import { runInProcess } from '../../cli/__testUtils__/runCli';
import type { CliResult } from '../../cli/__testUtils__/runCli';
import { addTenants, TEAM } from '../../partitions/__testUtils__/tenants';
import type { Portal } from '../places';
import { purgeTenant } from '../purge';
import type { MakeTables } from '../tables';
import { Clones } from '../../resumption/__testUtils__/Clones';
import { HEX, PLUGINS, tablesIn } from './plugins';

/** Commands are killed between some of their statements; between all of them where it is 1. */
export const EVERY = Number(process.env.KILL_AFTER_EVERY ?? 47);

/** What a server in FIPS mode refuses to run is not there. */
export const WITHOUT_MD5 = `
  alter function pg_catalog.md5(text) rename to no_md5;
  alter function pg_catalog.md5(bytea) rename to no_md5`;

/** Clones of a database after phase 5 with tenants, and with what plugins keep of them. */
export class TenantClones extends Clones {
  static async of(
    databases: TestDatabases,
    id: TestDatabaseId,
    more = '',
  ): Promise<TenantClones> {
    const database = await createCatalogDatabase(databases, id, {
      entities: 10,
      phase: 5,
    });
    await addTenants(database);
    await database.client.query(`${PLUGINS}; ${more}`);
    await database.close();
    const { connection } = database;
    const admin = new Client({ ...connection, database: 'postgres' });
    await admin.connect();
    const folder = await mkdtemp(join(tmpdir(), 'tenants-'));
    return new TenantClones(connection, admin, folder);
  }

  private constructor(
    connection: ClientConfig,
    admin: Client,
    /** For exports. */
    readonly folder: string,
  ) {
    super(connection, admin);
  }

  /** The database that they are of, in which the tenant of the tests is deleted. */
  get template(): string {
    return this.connection.database!;
  }

  /** A clone, changed by some statements. */
  async copy(sql = '', template = this.template): Promise<string> {
    const name = await this.clone(template);
    await this.query(name, sql);
    return name;
  }

  /** The same, in which the tenant is in use. */
  copyInUse(sql = ''): Promise<string> {
    return this.copy(
      `update tenancy.tenants set deleted_at = null where tenant_id = '${TEAM}'; ${sql}`,
    );
  }

  /** Works with a session in one of them. */
  within<T>(database: string, use: (client: Client) => Promise<T>): Promise<T> {
    return withClient(this.to(database), use);
  }

  /** Runs a command about a tenant. */
  run(database: string, ...args: string[]): Promise<CliResult> {
    return runInProcess(this.to(database), 'tenant', ...args);
  }

  /** What an export has, but for when it was made and deleted, and with rows in one order. */
  async contents(database: string, slug = 'my-team') {
    const file = join(this.folder, `${database}-${slug}.gz`);
    const { exitCode, stderr } = await this.run(database, 'export', slug, file);
    if (exitCode !== 0) {
      throw new Error(stderr);
    }
    const [header, ...lines] = await linesOf(file);
    lines.pop();
    const { exported, ...head } = JSON.parse(header);
    const rows = lines.map(line =>
      line.includes('"tenant_slug"')
        ? line.replace(/"deleted_at": [^,]+/, '')
        : line,
    );
    return { head, rows: rows.sort() };
  }

  /** Purges the tenant of the tests. */
  purge(database: string, now?: boolean, portal: Portal = {}): Promise<void> {
    return this.migrate(database, ({ context }) =>
      purgeTenant(context, {
        slug: 'my-team',
        now,
        portal,
        confirm: async () => undefined,
      }),
    );
  }

  async close(): Promise<void> {
    await super.close();
    await rm(this.folder, { recursive: true });
  }
}

/** Makes the tables of an engine or instance, to be called where tests are described. */
export function tableMaker(more = (_schema: string) => ''): MakeTables {
  const makers: Client[] = [];
  afterEach(() =>
    Promise.all(
      makers.splice(0).map(maker => maker.end().catch(() => undefined)),
    ),
  );
  return async ({ connection, part, schema }) => {
    const client = new Client(connection);
    // It stays open: a session can't be killed after the statement of one that has ended.
    makers.push(client);
    client.on('error', () => undefined);
    await client.connect();
    await client.query(
      part === 'engine'
        ? `${tablesIn(schema)}; ${more(schema)}`
        : `create schema "${schema}"`,
    );
  };
}

/** Has a tenant have JSON nulls, and their absence. */
export const JSON_NULLS = `
  update tenancy.entities set final_entity = 'null' where tenant_id = '${TEAM}' and entity_name like '%1';
  update tenant_${HEX}.states set more = 'null' where ref = 'a'`;

/** Where it has them. */
export const READ_JSON_NULLS = `
  select entity_ref as ref, final_entity::text as value from tenancy.entities
   where tenant_id = '${TEAM}' and final_entity = 'null'
   union all
  select ref, more::text from tenant_${HEX}.states order by 1`;

/** The lines of an export. */
export async function linesOf(file: string): Promise<string[]> {
  return gunzipSync(await readFile(file))
    .toString()
    .trimEnd()
    .split('\n');
}

/** Waits until a command pauses before it asks for a lock again. */
export function pauseForLock(clones: Clones, name: string): Promise<unknown> {
  return waitUntil('a pause between two requests for the lock', async () => {
    const pauses = await clones.query(
      name,
      `select from pg_stat_activity
        where datname = current_database() and query like 'select pg_sleep%' and state = 'active'`,
    );
    return pauses.length;
  });
}

/** A login that may act as portal_admin, and has no right of its own. */
export async function createLogin(
  connection: ClientConfig,
  user: string,
): Promise<ClientConfig> {
  const password = 'only-for-tests';
  await obey(
    connection,
    `    create role ${user} login;
    alter role ${user} nobypassrls password '${password}';
    grant portal_admin to ${user};`,
  );
  return { ...connection, user, password };
}

/** Runs the statements that a refusal gives. */
export async function obey(
  connection: ClientConfig,
  refusal: string,
): Promise<void> {
  await withClient(connection, async client => {
    for (const statement of refusal.match(/^ {4}.*;$/gm) ?? []) {
      await changeRole(client, statement);
    }
  });
}

/** Gives the tables of the engine another owner, whose rights a login lacks. */
export const giveEngineTables = (owner: string, login: string) => `
    create role ${owner};
    revoke ${owner} from ${login};
    do 'declare name text; begin for name in select format(''%I.%I'', schemaname, tablename) from pg_tables where schemaname = ''tenant_${HEX}'' loop execute ''alter table '' || name || '' owner to ${owner}''; end loop; end';`;
