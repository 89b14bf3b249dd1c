import { Postgres } from '@internal/postgres';
import type { PostgresVersion } from '@internal/postgres';
import { testedVersions } from '@internal/postgres/testUtils';
import { Client } from 'pg';
import type { ClientConfig } from 'pg';
import { parseIntoClientConfig } from 'pg-connection-string';
import { seedCatalog } from './__testUtils__/seed';
import {
  openStockCatalog,
  STOCK_MIGRATIONS,
} from './adopt/__testUtils__/stockCatalog';
import type { StockCatalog } from './adopt/__testUtils__/stockCatalog';
import { runInProcess } from './cli/__testUtils__/runCli';

const OPERATOR = { user: 'operator', password: 'only-for-tests' };
const CHECKED = ['--allow-missing', 'pg_cron', '--backup-completed'];

// A server of its own: on that of other tests portal_admin has BYPASSRLS. The variable names
// one of a managed service, with a login as such services give it.
const named = process.env.MANAGED_POSTGRES_URL;
const servers: (PostgresVersion | 'named')[] = named
  ? ['named']
  : testedVersions({ versions: 'every' });

describe.each<PostgresVersion | 'named'>(servers)(
  'as a login with CREATEROLE and CREATEDB that is no superuser, on PostgreSQL %s',
  server => {
    let postgres: Postgres | undefined;
    let operator: ClientConfig;
    let databases = 0;
    beforeAll(async () => {
      if (server === 'named') {
        operator = parseIntoClientConfig(named!);
        return;
      }
      postgres = await Postgres.start({ version: server });
      await query(
        postgres.connection,
        `create role ${OPERATOR.user} login createrole createdb password '${OPERATOR.password}'`,
      );
      operator = { ...postgres.connection, ...OPERATOR };
    });
    afterAll(() => postgres?.stop());
    const opened: StockCatalog[] = [];
    afterEach(async () => {
      await Promise.all(opened.splice(0).map(catalog => catalog.close()));
    });

    async function createDatabase(): Promise<ClientConfig> {
      databases += 1;
      const database = `managed_${process.pid}_${databases}`;
      await query(
        { ...operator, database: 'postgres' },
        `create database ${database}`,
      );
      return { ...operator, database };
    }

    /** Runs a command that has to succeed. */
    const run = async (connection: ClientConfig, ...args: string[]) => {
      const result = await runInProcess(connection, ...args);
      if (result.exitCode !== 0) {
        throw new Error(`${args.join(' ')}: ${result.stderr.slice(-1000)}`);
      }
    };

    it('takes a catalog through the phases, and back', async () => {
      const connection = await createDatabase();
      await query(connection, 'create schema tenancy');
      const client = new Client(connection);
      await client.connect();
      await seedCatalog(client, { entities: 200, around: false });
      await client.end();

      await run(connection, 'preflight', ...CHECKED);
      for (const phase of ['phase1', 'phase2', 'phase3', 'phase4', 'phase5']) {
        await run(connection, phase, ...(phase === 'phase1' ? CHECKED : []));
        await run(connection, 'verify');
      }
      expect(await query(connection, FORM)).toEqual([
        { bypasses: false, policies: 5 },
      ]);
      await run(connection, 'rollback');
      await run(connection, 'phase5');
      await run(connection, 'rollback', '--to', '0');
      expect(
        await query(
          connection,
          'select count(*)::int as entities from tenancy.entities',
        ),
      ).toEqual([{ entities: 200 }]);
      await run(connection, 'all', ...CHECKED);
      await run(connection, 'cleanup', '--force');
      await run(connection, 'verify');
    });

    it('adopts a stock catalog, and gives it up', async () => {
      const connection = await createDatabase();
      const catalog = await openStockCatalog(connection);
      opened.push(catalog);
      await catalog.knex.migrate.latest({ directory: STOCK_MIGRATIONS });
      await catalog.engine.ingest({ ref: 'component:default/first' });

      await run(connection, 'adopt');
      await run(connection, 'preflight', ...CHECKED);
      await run(connection, 'all', ...CHECKED);
      await catalog.engine.ingest({ ref: 'component:default/second' });
      await run(connection, 'verify');
      await run(connection, 'rollback');
      await catalog.engine.ingest({ ref: 'component:default/third' });
      await run(connection, 'phase5');
      await run(connection, 'verify');
      await run(connection, 'rollback', '--to', '0');
      await run(connection, 'unadopt');
      await catalog.engine.ingest({ ref: 'component:default/fourth' });
    });
  },
);

const FORM = `select rolbypassrls as bypasses,
    (select count(*)::int from pg_policies
      where schemaname = 'tenancy' and policyname = 'tenant_administration'
        and tablename in ('entities', 'relations', 'refresh_state', 'entity_terms', 'entity_parents')) as policies
  from pg_roles where rolname = 'portal_admin'`;

async function query(
  connection: ClientConfig,
  sql: string,
): Promise<unknown[]> {
  const client = new Client(connection);
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}
