import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createTestDatabases,
  type TestDatabaseId,
} from '@internal/postgres/testUtils';
import { differences } from '../adopt/__testUtils__/inspect';
import {
  openStockCatalog,
  STOCK_MIGRATIONS,
} from '../adopt/__testUtils__/stockCatalog';
import { adopt } from '../adopt/library';
import { runInProcess, urlOf } from '../cli/__testUtils__/runCli';
import { EXIT_CODES } from '../errors';
import { findings, preflight } from '../preflight/__testUtils__/preflight';
import {
  createCatalogDatabase,
  openCatalogDatabase,
} from '../__testUtils__/catalogDatabase';
import type { CatalogDatabase } from '../__testUtils__/catalogDatabase';
import { runPhases } from '../__testUtils__/runPhases';
import { seedCatalog } from '../__testUtils__/seed';
import { rollback } from '../rollback/rollback';
import { verify } from '../verify/verify';

// PostgreSQL has databases with a locale of ICU since version 15, and the locales of the
// operating system may lack Turkish.
const databases = createTestDatabases({ versions: 'newest' });

const TURKISH = `locale_provider icu icu_locale 'tr-TR' lc_collate 'C' lc_ctype 'C' encoding 'UTF8'`;

describe('in another encoding', () => {
  const create = (id: TestDatabaseId, encoding: string) =>
    databases.createWith(
      id,
      `encoding '${encoding}' locale_provider libc lc_collate 'C' lc_ctype 'C'`,
    );

  it.each(databases.eachSupportedId())(
    'carries and searches what LATIN1 has letters for on %s',
    async id => {
      const catalog = await openStockCatalog(await create(id, 'LATIN1'));
      await catalog.knex.migrate.latest({ directory: STOCK_MIGRATIONS });
      const { connection, engine } = catalog;
      await engine.ingest({ ref: 'component:default/a', description: 'Größe' });
      await adopt({ connection });
      await runPhases(catalog, 5);
      await engine.ingest({ ref: 'component:default/b', description: 'ÄÖÜ' });
      expect(await differences(catalog)).toEqual([]);
      const { rows } = await catalog.client.query<{ value: string }>(
        `select value from entity_terms where key = 'Mdescription' order by 1`,
      );
      expect(rows.map(({ value }) => value)).toEqual(['größe', 'äöü']);
      await catalog.close();
    },
  );

  it.each(databases.eachSupportedId())(
    'takes an export of a tenant in UTF8 as far as LATIN1 has letters for it, and no move, on %s',
    async id => {
      const from = await createCatalogDatabase(databases, id, { phase: 5 });
      await from.client.query(
        `insert into tenants (tenant_slug, tenant_name) values ('acme', 'Größe'), ('globex', 'Ж');
         insert into entities (tenant_id, entity_ref, entity_kind, entity_name, final_entity, hash)
         select tenant_id, 'a:default/b', 'a', 'b', '{"größe": 1, "abcdef": "Ü"}', '' from tenants where tenant_slug = 'acme'`,
      );
      const to = await openCatalogDatabase(await create(id, 'LATIN1'));
      await seedCatalog(to.client);
      await runPhases(to, 5);
      const folder = await mkdtemp(join(tmpdir(), 'exports-'));
      const tenant = (database: CatalogDatabase, ...args: string[]) =>
        runInProcess(database.connection, 'tenant', ...args);
      for (const slug of ['acme', 'globex']) {
        await tenant(from, 'export', slug, join(folder, slug));
      }
      await expect(
        tenant(from, 'move', 'acme', '--to-url', urlOf(to.connection)),
      ).resolves.toMatchObject({
        exitCode: EXIT_CODES.refused,
        stderr: expect.stringContaining('different encodings: UTF8, LATIN1'),
      });
      await expect(
        tenant(to, 'import', join(folder, 'globex')),
      ).resolves.toMatchObject({
        exitCode: EXIT_CODES.refused,
        stderr: expect.stringMatching(
          /can't store a character: .* Use one with the encoding UTF8\.\n$/,
        ),
      });
      await expect(
        tenant(to, 'import', join(folder, 'acme')),
      ).resolves.toMatchObject({ exitCode: 0 });
      const { rows } = await to.client.query(
        `select tenant_slug as slug, tenant_name as name, final_entity as entity
           from tenants join entities using (tenant_id) where tenant_slug <> 'default'`,
      );
      expect(rows).toEqual([
        { slug: 'acme', name: 'Größe', entity: { größe: 1, abcdef: 'Ü' } },
      ]);
      await rm(folder, { recursive: true });
      await from.close();
      await to.close();
    },
  );

  it.each(databases.eachSupportedId())(
    'refuses SQL_ASCII by name before anything happens on %s',
    async id => {
      const database = await openCatalogDatabase(await create(id, 'SQL_ASCII'));
      await seedCatalog(database.client);
      await expect(
        database.migrate(migration => migration.runPhase(1)),
      ).rejects.toThrow('in the encoding of the database: SQL_ASCII');
      expect(
        findings(await preflight(database), 'failure', 'encoding'),
      ).toHaveLength(1);
      const { rows } = await database.client.query(
        `select from pg_class where relname like 'tenan%'`,
      );
      expect(rows).toEqual([]);
      await database.close();
    },
  );
});

it.each(databases.eachSupportedId())(
  'goes all the way and back in a Turkish database on %s, where lower(I) is ı',
  async id => {
    const database = await openCatalogDatabase(
      await databases.createWith(id, TURKISH),
    );
    const { rows } = await database.client.query(`select lower('I') as lower`);
    expect(rows[0].lower).toBe('ı');
    await seedCatalog(database.client);
    await database.client.query(
      `update pg_database set datcollversion = '0' where datname = current_database()`,
    );
    const warnings = async () =>
      findings(await preflight(database), 'warning', 'maintenance');
    const [found] = await warnings();
    const [, reindex, refresh] = found.message.split(/"(?=reindex|alter)/);
    for (const statement of [reindex, refresh]) {
      await database.client.query(statement.replace(/"[.,] ?$/, ''));
    }
    expect(await warnings()).toEqual([]);
    await runPhases(database, 5);
    await database.migrate(
      async migration => {
        const { checks } = await verify(migration);
        expect(checks.flatMap(({ problems }) => problems)).toEqual([]);
      },
      { mode: 'read' },
    );
    await database.migrate(migration => rollback(migration, 0));
    await database.close();
  },
);
