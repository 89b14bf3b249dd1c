import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import type { ClientConfig } from 'pg';
import {
  CHECKED,
  ManagedServer,
  managedServers,
  query,
  run,
} from './__testUtils__/ManagedServer';
import { seedCatalog } from './__testUtils__/seed';
import { runInProcess, urlOf } from './cli/__testUtils__/runCli';
import {
  openStockCatalog,
  STOCK_MIGRATIONS,
} from './adopt/__testUtils__/stockCatalog';
import type { StockCatalog } from './adopt/__testUtils__/stockCatalog';

const FORM = `select rolbypassrls as bypasses,
    (select count(*)::int from pg_policies
      where schemaname = 'tenancy' and policyname = 'tenant_administration'
        and tablename in ('entities', 'relations', 'refresh_state', 'entity_terms', 'entity_parents')) as policies
  from pg_roles where rolname = 'portal_admin'`;

describe.each(managedServers('every'))(
  'as a login with CREATEROLE and CREATEDB that is no superuser, on PostgreSQL %s',
  version => {
    let server: ManagedServer;
    beforeAll(async () => {
      server = await ManagedServer.start(version);
    });
    afterAll(() => server.stop());
    const opened: StockCatalog[] = [];
    afterEach(async () => {
      await Promise.all(opened.splice(0).map(catalog => catalog.close()));
    });

    it('takes a catalog through the phases, and back', async () => {
      const connection = await server.createDatabase();
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

    it('exports, imports, moves and purges a tenant', async () => {
      const open = async () => {
        const connection = await server.createDatabase();
        await query(connection, 'create schema tenancy');
        const client = new Client(connection);
        await client.connect();
        await seedCatalog(client, { entities: 10, around: false });
        await client.end();
        await run(connection, 'all', ...CHECKED);
        return connection;
      };
      const here = await open();
      const there = await open();
      // Of another application.
      await query(
        here,
        `create schema app; create table app.tenants (tenant_id uuid);
         alter table app.tenants enable row level security, force row level security`,
      );
      const folder = await mkdtemp(join(tmpdir(), 'managed-'));
      const file = join(folder, 'acme.gz');
      await query(
        here,
        `with tenant as (
           insert into tenancy.tenants (tenant_slug, tenant_name) values ('acme', 'Acme')
           returning tenant_id)
         insert into tenancy.entities (tenant_id, entity_ref, entity_kind, entity_name, final_entity, hash)
         select tenant_id, 'component:default/a', 'component', 'a', '{}', '' from tenant`,
      );
      const slugs = (connection: ClientConfig) =>
        query(
          connection,
          `set role portal_admin;
           select tenant_slug as slug, count(e)::int as entities
             from tenancy.tenants t left join tenancy.entities e using (tenant_id)
            where tenant_slug <> 'default' and t.deleted_at is null group by 1 order by 1`,
        );
      await run(here, 'tenant', 'export', 'acme', file);
      await run(here, 'tenant', 'export', '--all', '--to', folder);
      await run(here, 'tenant', 'import', file, '--replace', '--yes');
      await run(here, 'tenant', 'import', file, '--slug', 'copy');
      await run(here, 'tenant', 'move', 'acme', '--to-url', urlOf(there));
      await run(here, 'tenant', 'purge', 'acme', '--now', '--yes');
      expect(await slugs(here)).toEqual([{ slug: 'copy', entities: 1 }]);
      expect(await slugs(there)).toEqual([{ slug: 'acme', entities: 1 }]);
      await run(there, 'verify');
      await rm(folder, { recursive: true });
    });

    it('refuses to adopt a catalog of which row-level security hides rows, until what it prints has run', async () => {
      const connection = await server.createDatabase();
      const catalog = await openStockCatalog(connection);
      opened.push(catalog);
      await catalog.knex.migrate.latest({ directory: STOCK_MIGRATIONS });
      await catalog.engine.ingest({ ref: 'component:default/first' });
      await run(connection, 'adopt');
      await query(
        connection,
        `alter table final_entities enable row level security;
         alter table refresh_state enable row level security`,
      );
      const message =
        'Row-level security hides rows of final_entities, refresh_state in the schema "public" from portal_admin.';
      await expect(runInProcess(connection, 'verify')).resolves.toMatchObject({
        exitCode: 4,
        stderr: expect.stringContaining(message),
      });
      const { exitCode, stderr } = await runInProcess(connection, 'adopt');
      expect(stderr).toContain(message);
      expect(exitCode).toBe(3);
      await query(connection, stderr.match(/^create policy .*;$/gm)!.join(''));
      await query(
        connection,
        `create policy "No seconds" on final_entities as restrictive
           using (entity_ref <> 'component:default/second')`,
      );
      const restricted = await runInProcess(connection, 'adopt');
      expect(restricted).toMatchObject({
        exitCode: 3,
        stderr: expect.stringContaining(
          'Row-level security hides rows of final_entities in the schema "public" from portal_admin. ' +
            'Let the owner run\nalter policy "No seconds" on public.final_entities to <other roles>;',
        ),
      });
      await query(
        connection,
        'alter policy "No seconds" on final_entities to pg_monitor',
      );
      await catalog.engine.ingest({ ref: 'component:default/second' });
      await run(connection, 'adopt');
      await run(connection, 'verify');
      expect(
        await query(
          connection,
          'set role portal_admin; select entity_name as name from tenancy.entities order by 1',
        ),
      ).toEqual([{ name: 'first' }, { name: 'second' }]);
    });

    it('adopts a stock catalog, and gives it up', async () => {
      const connection = await server.createDatabase();
      const catalog = await openStockCatalog(connection);
      opened.push(catalog);
      await catalog.knex.migrate.latest({ directory: STOCK_MIGRATIONS });
      await catalog.engine.ingest({ ref: 'component:default/first' });

      await run(connection, 'preflight', ...CHECKED);
      await run(connection, 'adopt');
      await catalog.engine.ingest({ ref: 'component:default/second' });
      await run(connection, 'verify');
      expect(
        await query(
          connection,
          'set role portal_admin; select entity_name as name from tenancy.entities order by 1',
        ),
      ).toEqual([{ name: 'first' }, { name: 'second' }]);
      await run(connection, 'rollback', '--to', '0');
      await catalog.engine.ingest({ ref: 'component:default/third' });
    });
  },
);
