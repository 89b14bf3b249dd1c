import { createTestDatabases } from '@internal/postgres/testUtils';
import { createCatalogDatabase } from '../../__testUtils__/catalogDatabase';
import type { CatalogDatabase } from '../../__testUtils__/catalogDatabase';
import { catalogSnapshot } from '../../__testUtils__/catalogSnapshot';
import { asLogin } from '../../__testUtils__/roles';
import { runPhases } from '../../__testUtils__/runPhases';
import type { Grant } from '../../schema/grants';
import { oneTenant } from './10_one_tenant';
import { APP_GRANTS } from './40_roles';

const databases = createTestDatabases();

const PRIVILEGES = ['DELETE', 'INSERT', 'SELECT', 'UPDATE'];

// Columns that a catalog of others may have left nullable.
const RELAX = `
  alter table relations alter column originating_entity_id drop not null;
  alter table entities alter column hash drop not null,
                       alter column updated_at drop not null`;

describe.each(databases.eachSupportedId())('phase 3 on %s', id => {
  const opened: CatalogDatabase[] = [];
  const create = async () => {
    const database = await createCatalogDatabase(databases, id);
    opened.push(database);
    await database.client.query(RELAX);
    return database;
  };
  afterEach(async () => {
    await Promise.all(opened.splice(0).map(database => database.close()));
  });

  it('holds the tables in use to the rules of the new ones', async () => {
    const database = await create();
    await runPhases(database, 2);
    const before = await catalogSnapshot(database.client);
    await runPhases(database, 3);
    const after = await catalogSnapshot(database.client);

    const added = (key: string) =>
      after[key].filter(
        each =>
          !before[key].some(
            other => JSON.stringify(other) === JSON.stringify(each),
          ),
      );
    // PostgreSQL 18 shows NOT NULL as constraints as well.
    expect(
      added('constraints').filter(
        ({ definition }) => !String(definition).startsWith('NOT NULL'),
      ),
    ).toEqual([
      {
        table: 'entities',
        name: 'entities_entity_ref_check',
        definition:
          "CHECK ((entity_ref = ((((entity_kind || ':'::text) || entity_namespace) || '/'::text) || entity_name)))",
        valid: true,
      },
      ...['entities', 'refresh_state', 'relations'].map(table => ({
        table,
        name: `${table}_one_tenant_check`,
        definition:
          "CHECK ((tenant_id = '00000000-0000-0000-0000-000000000001'::uuid))",
        valid: true,
      })),
    ]);
    expect(added('indexes')).toEqual([]);
    expect(
      added('columns').map(({ table, column, notNull }) => [
        table,
        column,
        notNull,
      ]),
    ).toEqual([
      ['entities', 'hash', true],
      ['entities', 'updated_at', true],
      ['relations', 'originating_entity_id', true],
    ]);
  });

  it('grants portal_app exactly what the application needs', async () => {
    const database = await create();
    await runPhases(database, 3);
    const { schema, relations } = await catalogSnapshot(database.client);
    const granted = [...schema, ...relations].flatMap(({ name, privileges }) =>
      ((privileges ?? []) as string[])
        .filter(each => each.startsWith('portal_app='))
        .map(each => `${name ?? 'schema'} ${each.match(/=(\w+)/)![1]}`),
    );
    expect(granted).toEqual([
      'schema USAGE',
      ...PRIVILEGES.map(each => `entities ${each}`),
      ...PRIVILEGES.map(each => `refresh_state ${each}`),
      ...PRIVILEGES.map(each => `relations ${each}`),
      'tenants SELECT',
    ]);
    const { rows } = await database.client.query(
      `select rolname, rolcanlogin, rolsuper, rolbypassrls from pg_roles
        where rolname in ('portal_admin', 'portal_app') order by 1`,
    );
    expect(rows).toEqual([
      {
        rolname: 'portal_admin',
        rolcanlogin: false,
        rolsuper: false,
        rolbypassrls: true,
      },
      {
        rolname: 'portal_app',
        rolcanlogin: true,
        rolsuper: false,
        rolbypassrls: false,
      },
    ]);
  });

  it('lets the old application go on, beside the new one', async () => {
    const database = await create();
    await runPhases(database, 3);
    const insert = `insert into entities (entity_ref, entity_kind, entity_name,
                                          final_entity, hash)
                    values ('api:default/x', 'api', 'x', '{}', '') `;
    await database.client.query(
      `${insert} on conflict (entity_ref) do update set hash = 'old'`,
    );
    await asLogin(database, 'portal_app', client =>
      client.query(
        `${insert} on conflict do nothing;
         update entities set hash = 'new' where entity_ref = 'api:default/x'`,
      ),
    );
    const { rows } = await database.client.query(
      `select hash from entities where entity_ref = 'api:default/x'`,
    );
    expect(rows).toEqual([{ hash: 'new' }]);
  });

  it('adds no unique index, at which an upsert with another one as its target could fail', async () => {
    const database = await create();
    const uniqueIndexes = async () =>
      (
        await database.client.query(
          `select indexrelid::regclass::text as name from pg_index
            where indisunique and indrelid in
              ('entities'::regclass, 'relations'::regclass, 'refresh_state'::regclass)
            order by 1`,
        )
      ).rows;
    const before = await uniqueIndexes();
    await runPhases(database, 4);
    expect(await uniqueIndexes()).toEqual(before);
  });

  it('is undone although a sequence and a role that it granted were dropped since', async () => {
    const database = await create();
    await database.client.query(
      `create sequence numbers;
       alter table entities add column number int default nextval('numbers')`,
    );
    await runPhases(database, 3);
    await database.client.query(
      'alter table entities drop column number; drop sequence numbers',
    );
    await database.migrate(async migration => {
      const { executor, state } = migration.context;
      const grants = (await state.get<Grant[]>(APP_GRANTS)) ?? [];
      await executor.execute(
        state.put(APP_GRANTS, [
          ...grants,
          { ...grants[0], role: 'dropped_since' },
        ]),
      );
      await migration.undoFrom(oneTenant);
    });
    await expect(
      database.migrate(migration => migration.completedPhase()),
    ).resolves.toBe(2);
  });

  it('is undone without a trace, and done again', async () => {
    const database = await create();
    await database.client.query(`do $$ begin
      create role portal_app login noinherit;
      exception when duplicate_object or unique_violation then null; end $$`);
    await database.client.query('grant select on entities to portal_app');
    await runPhases(database, 2);
    const before = await catalogSnapshot(database.client);
    await runPhases(database, 3);
    const after = await catalogSnapshot(database.client);

    await database.migrate(migration => migration.undoFrom(oneTenant));
    expect(await catalogSnapshot(database.client)).toEqual(before);
    await runPhases(database, 3);
    expect(await catalogSnapshot(database.client)).toEqual(after);
  });

  it('references entities, and finds their rows, where nothing did so before', async () => {
    const database = await create();
    await database.client.query(`
      alter table relations drop constraint relations_originating_entity_id_fkey;
      drop index relations_origin_idx`);
    await runPhases(database, 2);
    const before = await catalogSnapshot(database.client);
    await runPhases(database, 3);
    const after = await catalogSnapshot(database.client);
    expect(after.constraints).toContainEqual({
      table: 'relations',
      name: 'relations_entity_fkey',
      definition:
        'FOREIGN KEY (originating_entity_id) REFERENCES entities(entity_id) ON DELETE CASCADE',
      valid: true,
    });
    expect(after.indexes).toContainEqual({
      definition:
        'CREATE INDEX relations_tenant_entity_idx ON tenancy.relations USING btree (tenant_id, originating_entity_id)',
      valid: true,
    });
    await database.migrate(migration => migration.undoFrom(oneTenant));
    expect(await catalogSnapshot(database.client)).toEqual(before);
  });

  it('takes an empty catalog as well', async () => {
    const database = await create();
    await database.client.query('truncate entities, relations, refresh_state');
    await runPhases(database, 4);
    await expect(
      database.migrate(migration => migration.completedPhase()),
    ).resolves.toBe(4);
  });
});
