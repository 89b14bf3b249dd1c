import { createTestDatabases } from '@internal/postgres/testUtils';
import type { CatalogDatabase } from '../__testUtils__/catalogDatabase';
import { catalogSnapshot } from '../__testUtils__/catalogSnapshot';
import { createCatalogDatabase } from '../__testUtils__/catalogDatabase';
import { adopt } from '../adopt/adopt';
import { column } from '../adopt/__testUtils__/inspect';
import {
  createStockCatalog,
  openStockCatalog,
  STOCK_MIGRATIONS,
} from '../adopt/__testUtils__/stockCatalog';
import {
  ACME,
  createTenant,
  giveEngine,
} from '../adopt/__testUtils__/tenantEngine';
import { cleanup } from '../cleanup/cleanup';
import { EXIT_CODES } from '../errors';
import type { TenancyMigration } from '../engine/TenancyMigration';
import { SHARDED_TABLES } from '../schema/citus';
import { readDependents } from '../schema/dependents';
import { rollback } from './rollback';

const databases = createTestDatabases();
const DEFAULT = '00000000-0000-0000-0000-000000000001';

type Undo = (migration: TenancyMigration) => Promise<unknown>;
const toTheStart: Undo = migration => rollback(migration, 0);

/** What an operator made, how it is named and dropped, and the undo that it stops. */
const HANGING: [what: string, sql: string, dropped: string, undo: Undo][] = [
  [
    'a key that cascades from tenants',
    `create table mine (tenant uuid constraint mine_tenant references tenants on delete cascade);
     insert into mine values ('${DEFAULT}')`,
    'alter table mine drop constraint mine_tenant',
    toTheStart,
  ],
  [
    'a key that does not cascade, and an undo that keeps the table',
    `create table mine (tenant uuid constraint mine_tenant references tenants);
     insert into mine values ('${DEFAULT}')`,
    'alter table mine drop constraint mine_tenant',
    migration => rollback(migration, 1),
  ],
  [
    'a view',
    'create view mine as select * from entity_terms',
    'drop view tenancy.mine',
    migration => rollback(migration, 4),
  ],
  [
    'a materialized view',
    'create materialized view mine as select * from entity_parents',
    'drop materialized view tenancy.mine',
    migration => rollback(migration, 4),
  ],
  [
    'a view of a table of before the swap',
    'create view mine as select * from entities_old',
    'drop view tenancy.mine',
    ({ context }) => cleanup(context),
  ],
];

describe.each(databases.eachSupportedId())('an undo on %s', id => {
  const create = () =>
    createCatalogDatabase(databases, id, { entities: 20, phase: 5 });
  let database: CatalogDatabase;
  afterEach(() => database.close());

  /** Expects a refusal that changes nothing, and the undo once its statement was run. */
  async function expectRefused(sql: string, dropped: string, undo: Undo) {
    await database.client.query(sql);
    const before = await catalogSnapshot(database.client);
    const run = () => database.migrate(undo, { settings: { force: true } });
    await expect(run()).rejects.toMatchObject({
      exitCode: EXIT_CODES.refused,
      message: expect.stringContaining(`\n    ${dropped};`),
    });
    expect(await catalogSnapshot(database.client)).toEqual(before);
    await database.client.query(dropped);
    await run();
  }

  it.each(HANGING)(
    'is refused before it begins for %s',
    async (_, sql, dropped, undo) => {
      database = await create();
      await expect(expectRefused(sql, dropped, undo)).resolves.toBeUndefined();
    },
  );

  it('is refused before it ends the adoption of an engine, and drops that with the tenants', async () => {
    database = await create();
    const catalog = await openStockCatalog(database.connection);
    await catalog.knex.migrate.latest({ directory: STOCK_MIGRATIONS });
    await createTenant(catalog, ACME, 'acme');
    const acme = await giveEngine(catalog, ACME);
    const refs = () =>
      column(
        catalog,
        `select entity_ref from entities where tenant_id = '${ACME}'`,
      );
    try {
      await catalog.client.query(
        'create view mine as select from entity_terms',
      );
      await expect(
        database.migrate(migration => rollback(migration, 4), {
          settings: { force: true },
        }),
      ).rejects.toMatchObject({ exitCode: EXIT_CODES.refused });
      await acme.engine.ingest({ ref: 'component:default/later' });
      await expect(refs()).resolves.toEqual(['component:default/later']);
      await catalog.client.query('drop view mine');
      await acme.close();
      await database.migrate(toTheStart, { settings: { force: true } });
      await expect(
        column(catalog, `select to_regnamespace('${acme.schema}')`),
      ).resolves.toEqual([null]);
    } finally {
      await acme.close();
      await catalog.close();
    }
  });

  it('is refused before it begins for a view of the archive', async () => {
    database = await create();
    await database.migrate(migration => rollback(migration));
    await expect(
      expectRefused(
        'create view mine as select * from entities_partitioned_archive',
        'drop view tenancy.mine',
        migration => rollback(migration, 4),
      ),
    ).resolves.toBeUndefined();
  });

  it('is stopped by nothing that the migration and an adoption have made', async () => {
    const catalog = await createStockCatalog(databases, id);
    database = catalog;
    await database.migrate(migration => adopt(migration));
    const found = () =>
      database.migrate(({ context }) =>
        readDependents(context.executor, SHARDED_TABLES),
      );
    await expect(found()).resolves.toEqual([]);
    await database.client.query(
      'create view tenancy.mine as select * from tenancy.entity_terms',
    );
    await expect(found()).resolves.toEqual([
      expect.objectContaining({ name: 'view tenancy.mine' }),
    ]);
  });

  it('of an adoption is refused for a view of what it has carried', async () => {
    const catalog = await createStockCatalog(databases, id);
    database = catalog;
    await database.migrate(migration => adopt(migration));
    await expect(
      expectRefused(
        'create view mine as select * from adoption_faults',
        'drop view tenancy.mine',
        migration => rollback(migration, 0),
      ),
    ).resolves.toBeUndefined();
  });
});
