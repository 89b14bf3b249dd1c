import { createTestDatabases, withClient } from '@internal/postgres/testUtils';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { migrateTo, status } from '../migrateTo';
import { rollback } from '../rollback/rollback';
import { column, differences, faultsOf } from './__testUtils__/inspect';
import { openStockCatalog } from './__testUtils__/stockCatalog';
import type { StockCatalog } from './__testUtils__/stockCatalog';
import { ACME, connectEngine } from './__testUtils__/tenantEngine';
import { adopt, retryFaults } from './library';

const databases = createTestDatabases();

/** A dump of the commit f344899, by pg_dump: a stock catalog, adopted, and a tenant with an engine. */
const DUMP = join(__dirname, '__fixtures__', 'adoptedByF344899.sql.gz');

const ROLES = `do $$ begin
  if to_regrole('portal_admin') is null then create role portal_admin nologin bypassrls; end if;
  if to_regrole('portal_app') is null then create role portal_app login noinherit; end if;
  grant portal_admin to portal_app;
exception when duplicate_object or unique_violation then null;
end $$;`;

describe.each(databases.eachSupportedId())(
  'a database that f344899 has adopted, on %s',
  id => {
    let catalog: StockCatalog;
    beforeEach(async () => {
      const connection = await databases.create(id, {
        name: 'adopted by f344899',
        prepare: async empty => {
          await withClient(empty, async client => {
            await client.query(ROLES);
            await client.query(gunzipSync(readFileSync(DUMP)).toString());
          });
        },
      });
      catalog = await openStockCatalog(connection);
    });
    afterEach(() => catalog.close());

    const refs = () =>
      column<string>(
        catalog,
        'select entity_ref from tenancy.entities where deleted_at is null order by 1',
      );

    it('is carried as before, also once it was brought along', async () => {
      const { connection, engine } = catalog;
      const acme = connectEngine(catalog, ACME);
      await catalog.client.query(
        `create table ${acme.schema}.search (like public.search)`,
      );
      try {
        await expect(status({ connection })).resolves.toMatchObject({
          phase: 5,
        });
        await expect(migrateTo(5, { connection })).resolves.toMatchObject({
          phase: 5,
        });
        await engine.ingest({ ref: 'component:default/before' });
        for (const tenantId of [undefined, ACME]) {
          await retryFaults({ connection, tenantId });
        }
        await engine.ingest({ ref: 'component:default/after' });
        await acme.engine.ingest({ ref: 'component:default/acme-after' });
        await adopt({ connection });
        await expect(refs()).resolves.toEqual([
          'component:default/a',
          'component:default/acme-after',
          'component:default/after',
          'component:default/before',
          'component:default/of-acme',
          'group:default/team',
        ]);
        await expect(differences(catalog)).resolves.toEqual([]);
        await expect(faultsOf(catalog)).resolves.toMatchObject([
          { source: 'final_entities' },
        ]);
      } finally {
        await acme.close();
      }
    });

    it('keeps its members with their roles, and takes viewers from then on', async () => {
      const { client, connection } = catalog;
      const put = (name: string, role: string) =>
        client.query(
          `insert into tenancy.tenant_members (tenant_id, principal, role, created_by)
           values ($1, $2, $3, 'user:default/admin')`,
          [ACME, `user:default/${name}`, role],
        );
      await put('anna', 'member');
      await put('berta', 'admin');
      await expect(put('carla', 'viewer')).rejects.toMatchObject({
        constraint: 'tenant_members_role_check',
      });
      await migrateTo(5, { connection });
      await put('carla', 'viewer');
      await expect(
        column(
          catalog,
          'select role from tenancy.tenant_members order by principal',
        ),
      ).resolves.toEqual(['member', 'admin', 'viewer']);
    });

    it('goes back by one command', async () => {
      await catalog.migrate(migration => rollback(migration, 0), {
        settings: { force: true },
      });
      await expect(
        column(
          catalog,
          `select nspname::text from pg_namespace where nspname ~ '^ten'
            union all select tgname::text from pg_trigger where tgname ~ 'tenancy'`,
        ),
      ).resolves.toEqual([]);
      await catalog.engine.ingest({ ref: 'component:default/b' });
    });
  },
);
