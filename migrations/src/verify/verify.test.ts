import { createTestDatabases } from '@internal/postgres/testUtils';
import { forEachTest } from '../__testUtils__/forEachTest';
import { createCatalogDatabase } from '../__testUtils__/catalogDatabase';
import { runPhases } from '../__testUtils__/runPhases';
import { rollback } from '../rollback/rollback';
import { verify } from './verify';

const databases = createTestDatabases();

describe.each(databases.eachSupportedId())('verify on %s', id => {
  const database = forEachTest(() =>
    createCatalogDatabase(databases, id, { phase: 5 }),
  );

  const problems = () =>
    database.migrate(
      async migration => {
        const { checks } = await verify(migration);
        expect(checks.length).toBeGreaterThan(0);
        return checks.flatMap(check => check.problems);
      },
      { mode: 'read' },
    );

  it('takes a TRUNCATE for a change that a rollback carries', async () => {
    await database.client.query('truncate relations');
    await expect(problems()).resolves.toEqual([]);
    await database.migrate(migration => rollback(migration));
    await expect(problems()).resolves.toEqual([]);
    const { rows } = await database.client.query(
      'select count(*)::int as relations from relations',
    );
    expect(rows).toEqual([{ relations: 0 }]);
  });

  it('finds that applications are kept from serving tenants, and says how to mend it', async () => {
    await database.client.query('drop table tenancy_ready');
    const found = await problems();
    expect(found).toEqual([
      expect.stringContaining('There is no tenancy_ready in schema "tenancy"'),
    ]);
    const [, statement] = /"(delete [^"]*)"/.exec(found[0])!;
    await database.client.query(statement);
    await runPhases(database, 5);
    await expect(problems()).resolves.toEqual([]);
  });

  it.each([
    [
      'that the application may not write',
      'alter role portal_app in database DATABASE set default_transaction_read_only = on',
      `The database user 'portal_app' begins each session with default_transaction_read_only=on`,
    ],
    [
      'that the owner of the tables may not use their schema',
      'revoke usage on schema tenancy from portal_admin',
      'portal_admin has no USAGE on the schema tenancy',
    ],
    [
      'an index that is invalid',
      `update pg_index set indisvalid = false
        where indexrelid = 'entities_tenant_default_entity_name_idx'::regclass`,
      'The index entities_tenant_default_entity_name_idx is invalid',
    ],
    [
      'what a reindex has left behind that failed',
      `create index parts_ccnew on entities_tenant_default (stitch_ticket);
       update pg_index set indisvalid = false where indexrelid = 'parts_ccnew'::regclass`,
      'The index parts_ccnew is invalid',
    ],
  ])('finds %s, and says what to type', async (_, spoil, problem) => {
    const name = database.client.database!;
    await database.client.query(spoil.replace('DATABASE', `"${name}"`));
    const found = await problems();
    expect(found[0]).toContain(problem);
    const [, statement] = /run "(.*)"\.?$/.exec(found[0])!;
    await database.client.query(statement);
    await expect(problems()).resolves.toEqual([]);
  });

  it('still compares the tables that were not truncated', async () => {
    await database.client.query('truncate relations');
    await database.client.query(
      `alter table refresh_state_old disable trigger user;
       update refresh_state_old set location_key = 'other'
        where entity_id = (select entity_id from refresh_state_old limit 1)`,
    );
    await expect(problems()).resolves.toEqual([
      expect.stringContaining('refresh_state_old differs from refresh_state'),
    ]);
  });

  it('finds tables whose rows an event trigger hides from the application, and prints what shows them', async () => {
    const { client } = database;
    await database.migrate(migration => rollback(migration, 0));
    await client.query(`
      create function public.protect() returns event_trigger language plpgsql as $$
      declare made record;
      begin
        for made in select * from pg_event_trigger_ddl_commands()
                     where command_tag = 'CREATE TABLE' and schema_name = 'tenancy'
        loop
          execute format('alter table %s enable row level security', made.object_identity);
        end loop;
      end $$;
      create event trigger protect on ddl_command_end execute function public.protect()`);
    await runPhases(database, 5);
    const hidden = await problems();
    expect(hidden).toEqual([
      expect.stringMatching(
        /^Row-level security hides the rows of .*tenants, tenant_members.* from the application/,
      ),
    ]);
    for (const [, statement] of hidden[0].matchAll(/"([^"]*)"/g)) {
      await client.query(statement);
    }
    await expect(problems()).resolves.toEqual([]);
  });

  it.each([
    [
      'alter table entities drop column stitch_ticket',
      'entities has no column stitch_ticket of type text, nullable.',
    ],
    [
      'alter table entities alter hash drop not null',
      'entities has no column hash of type text, not null.',
    ],
    [
      'drop index entities_partitioned_live_kind_idx',
      'entities has no valid index btree (tenant_id, entity_kind, created_at DESC) WHERE (deleted_at IS NULL).',
    ],
    [
      'alter table relations drop constraint relations_entity_fkey',
      'relations has no valid constraint FOREIGN KEY (tenant_id, originating_entity_id) REFERENCES entities(tenant_id, entity_id) ON DELETE CASCADE.',
    ],
    [
      'alter table relations detach partition relations_catch_all',
      'relations has no partition for tenants without one of their own.',
    ],
  ])('finds what the layout lacks after: %s', async (statement, problem) => {
    await database.client.query(statement);
    await expect(problems()).resolves.toContain(problem);
  });
});
