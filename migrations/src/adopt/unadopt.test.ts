import { createTestDatabases } from '@internal/postgres/testUtils';
import { runPhases } from '../__testUtils__/runPhases';
import { migrateTo } from '../migrateTo';
import { rollback } from '../rollback/rollback';
import { column } from './__testUtils__/inspect';
import {
  createStockCatalog,
  STOCK_MIGRATIONS,
} from './__testUtils__/stockCatalog';
import type { StockCatalog } from './__testUtils__/stockCatalog';
import { adopt, readAdoption } from './library';
import { unadopt } from './unadopt';

const databases = createTestDatabases();

// Everything that somebody has put into the database, with who may do what with it.
const OBJECTS = `
  select 'relation ' || c.oid::regclass || ' ' || pg_get_userbyid(relowner) || ' ' ||
         coalesce(relacl, acldefault(case relkind when 'S' then 's' else 'r' end::"char", relowner))::text
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
   where nspname !~ '^pg_' and nspname <> 'information_schema'
   union all
  select 'column ' || attrelid::regclass || '.' || attname || ' ' || coalesce(attacl::text, '')
    from pg_attribute a join pg_class c on c.oid = a.attrelid
    join pg_namespace n on n.oid = c.relnamespace
   where nspname !~ '^pg_' and nspname <> 'information_schema' and attnum > 0
   union all
  select 'trigger ' || pg_get_triggerdef(oid) from pg_trigger where not tgisinternal
   union all
  select 'function ' || p.oid::regprocedure from pg_proc p join pg_namespace n on n.oid = p.pronamespace
   where nspname !~ '^pg_' and nspname <> 'information_schema'
     and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
   union all
  select 'schema ' || nspname || ' ' || coalesce(nspacl, acldefault('n', nspowner))::text
    from pg_namespace where nspname !~ '^pg_(temp|toast)'
   union all
  select 'extension ' || extname from pg_extension
   order by 1`;

describe.each(databases.eachSupportedId())('ending an adoption on %s', id => {
  let catalog: StockCatalog;
  beforeEach(async () => {
    catalog = await createStockCatalog(databases, id);
    await catalog.engine.ingest({
      ref: 'component:default/a',
      relations: [['ownedBy', 'group:default/g']],
    });
  });
  afterEach(() => catalog.close());

  const objects = () => column<string>(catalog, OBJECTS);
  const end = (keepTables = false) =>
    catalog.migrate(({ context }) => unadopt(context, { keepTables }));

  it('leaves nothing of it', async () => {
    const before = await objects();
    await adopt({ connection: catalog.connection });
    await catalog.engine.ingest({ ref: 'no ref' });
    expect(await end()).toBe(true);
    expect(await objects()).toEqual(before);
    expect(await end()).toBe(false);
    await catalog.engine.ingest({ ref: 'component:default/b' });
    await catalog.knex.migrate.latest({ directory: STOCK_MIGRATIONS });
    expect(
      await readAdoption({ connection: catalog.connection }),
    ).toMatchObject({ begun: false, engineEntities: 3 });
  });

  it('leaves nothing of the phases either, once they are undone', async () => {
    const before = await objects();
    await adopt({ connection: catalog.connection });
    await runPhases(catalog, 5);
    await expect(end()).rejects.toThrow(
      'npx backstage-catalog-tenancy-migrations rollback --to 0',
    );
    await catalog.migrate(migration => rollback(migration, 0));
    expect(await end()).toBe(true);
    expect(await objects()).toEqual(before);
  });

  it('leaves a schema that was there, and what others have put into it', async () => {
    await catalog.client.query('create schema tenancy');
    const before = await objects();
    await adopt({ connection: catalog.connection });
    await end();
    expect(await objects()).toEqual(before);
  });

  it('leaves the tables that were there, without what it has put into them', async () => {
    const { connection, client } = catalog;
    await migrateTo(1, { connection, createTables: true, force: true });
    await catalog.migrate(migration => rollback(migration, 0));
    await client.query(
      'drop table tenancy_migrations, tenancy_migrations_lock, tenancy_migration_state',
    );
    await client.query('create table notes (note text)');
    const before = await objects();
    await adopt({ connection });
    expect(await column(catalog, 'select entity_ref from entities')).toEqual([
      'component:default/a',
    ]);
    await end();
    expect(await objects()).toEqual(before);
    expect(
      await column(
        catalog,
        `select count(*)::int from entities union all
         select count(*)::int from relations union all
         select count(*)::int from refresh_state`,
      ),
    ).toEqual([0, 0, 0]);
  });

  it('keeps what was carried where it is told to', async () => {
    const { connection, engine, client } = catalog;
    await adopt({ connection });
    await runPhases(catalog, 5);
    expect(await end(true)).toBe(true);
    await engine.ingest({ ref: 'component:default/b' });
    await engine.remove('component:default/a');
    const refs = () => column(catalog, 'select entity_ref from entities');
    expect(await refs()).toEqual(['component:default/a']);
    const left = await column(
      catalog,
      `select tgname from pg_trigger t join pg_class c on c.oid = t.tgrelid
        where tgname ~ '^tenancy' and relnamespace = 'public'::regnamespace
        union all
       select key from adoption_state union all select key from adoption_faults`,
    );
    // Phase 5 has prepared the functions for engines of other tenants, too.
    expect(left).toEqual(['prepared']);
    // And goes on from there when it is adopted again.
    await adopt({ connection, force: true });
    expect(await refs()).toEqual(['component:default/b']);
    await client.query('select');
  });

  it('goes on where it was stopped', async () => {
    const before = await objects();
    await adopt({ connection: catalog.connection });
    await catalog.client.query(
      'drop trigger tenancy_adoption on public.final_entities',
    );
    await end();
    expect(await objects()).toEqual(before);
  });
});
