import { Postgres } from '@internal/postgres';
import type { PostgresVersion } from '@internal/postgres';
import { testedVersions } from '@internal/postgres/testUtils';
import { Client } from 'pg';
import type { ClientConfig, QueryResult } from 'pg';
import { parseIntoClientConfig } from 'pg-connection-string';
import { seedCatalog } from './__testUtils__/seed';
import {
  openStockCatalog,
  STOCK_MIGRATIONS,
} from './adopt/__testUtils__/stockCatalog';
import type { StockCatalog } from './adopt/__testUtils__/stockCatalog';
import { EXIT_CODES } from './errors';
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
      await query(
        connection,
        `with tenant as (
           insert into tenancy.tenants (tenant_slug, tenant_name) values ('acme', 'Acme')
           returning tenant_id)
         insert into tenancy.entities (tenant_id, entity_ref, entity_kind, entity_name, final_entity, hash)
         select tenant_id, 'component:default/a', 'component', 'a', '{}', '' from tenant`,
      );
      for (const command of ['partition', 'unpartition']) {
        await run(connection, command, 'acme');
        await run(connection, 'verify');
      }
      await run(connection, 'preflight', ...CHECKED);
      await run(connection, 'status');
    });

    it('finds each hole of the policy for portal_admin, and works on no table that it hides', async () => {
      const connection = await createDatabase();
      await run(connection, 'all', ...CHECKED);
      await query(
        connection,
        `insert into tenancy.entities (tenant_id, entity_ref, entity_kind, entity_name, final_entity, hash)
         select '00000000-0000-0000-0000-000000000001', 'component:default/' || i, 'component', i, '{}', ''
           from generate_series(1, 1000) i`,
      );
      const verify = () => runInProcess(connection, 'verify');
      const plan = () =>
        query(
          connection,
          `grant portal_app to current_user; set role portal_app; set search_path = tenancy; set plan_cache_mode = force_custom_plan;
           set app.tenant_id = '00000000-0000-0000-0000-000000000001';
           explain (costs off) select entity_ref from entities
             where tenant_id = '00000000-0000-0000-0000-000000000001' and final_entity @> '{"a": 1}'`,
        );
      const planned = await plan();

      const other = `managed_other_${process.pid}_${databases}`;
      await query(connection, `create role ${other} login`);
      for (const { hole, finding, remedy } of [
        {
          hole: `grant portal_admin to ${other}`,
          finding: `The role ${other} inherits portal_admin, whose policy lets it read and write`,
          remedy: `revoke portal_admin from ${other}`,
        },
        {
          hole: 'alter table tenancy.entities no force row level security',
          finding: 'Row-level security is not forced on entities',
          remedy: 'alter table tenancy.entities force row level security',
        },
        {
          hole: 'create policy all_rows on tenancy.entities using (true)',
          finding: 'The policy all_rows on entities lets rows through',
          remedy: 'drop policy all_rows on tenancy.entities',
        },
        {
          hole: 'alter policy tenant_administration on tenancy.entities to public',
          finding:
            'does not see all rows of entities: the policy tenant_administration is missing there or another one',
          remedy:
            'alter policy tenant_administration on tenancy.entities to portal_admin',
        },
        {
          hole: 'create policy fewer on tenancy.relations as restrictive using (true)',
          finding: 'does not see all rows of relations: ',
          remedy: 'drop policy fewer on tenancy.relations',
        },
      ]) {
        await query(connection, hole);
        const { exitCode, stderr } = await verify();
        expect(stderr).toContain(finding);
        expect(exitCode).not.toBe(0);
        await query(connection, remedy);
        expect(await verify()).toMatchObject({ exitCode: 0 });
      }

      await query(
        connection,
        'drop policy tenant_administration on tenancy.entities',
      );
      expect(await plan()).toEqual(planned);
      const refusal = await runInProcess(connection, 'rollback');
      expect(refusal).toMatchObject({ exitCode: EXIT_CODES.refused });
      const [, script] = refusal.stderr.split('run as portal_admin:\n');
      await query(connection, script);
      await run(connection, 'verify');
      await run(connection, 'rollback');
      expect(
        await query(
          connection,
          'select count(*)::int as entities from tenancy.entities',
        ),
      ).toEqual([{ entities: 1000 }]);
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
    const result: QueryResult | QueryResult[] = await client.query(sql);
    return [result].flat().slice(-1)[0].rows;
  } finally {
    await client.end();
  }
}
