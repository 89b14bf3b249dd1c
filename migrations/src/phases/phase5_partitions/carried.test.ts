import { createTestDatabases } from '@internal/postgres/testUtils';
import { createCatalogDatabase } from '../../__testUtils__/catalogDatabase';
import type { CatalogDatabase } from '../../__testUtils__/catalogDatabase';
import { asLogin } from '../../__testUtils__/roles';
import { runPhases } from '../../__testUtils__/runPhases';
import { stopBefore } from '../../__testUtils__/stopBefore';
import { cleanup } from '../../cleanup/cleanup';
import { givePartition } from '../../partitions/move';
import { rollback } from '../../rollback/rollback';
import { swap } from './70_swap';

const databases = createTestDatabases();
const TENANT = '00000000-0000-0000-0000-000000000001';
const OTHER = '00000000-0000-0000-0000-0000000000aa';

describe.each(databases.eachSupportedId())('phase 5 carries on %s', id => {
  let database: CatalogDatabase;
  beforeEach(async () => {
    database = await createCatalogDatabase(databases, id, { entities: 12 });
  });
  afterEach(() => database.close());

  const query = async (sql: string) => (await database.client.query(sql)).rows;
  const runPhase5 = () => database.migrate(migration => migration.runPhase(5));
  const goBack = (settings = {}) =>
    database.migrate(migration => rollback(migration), { settings });

  it('how columns are stored, and what ANALYZE is told', async () => {
    await query(`
      alter table entities alter column final_entity set statistics 500,
        alter column final_entity set storage external,
        alter column stitch_ticket set compression pglz,
        alter column hash set (n_distinct = -0.5);
      alter table entities set (fillfactor = 80, toast.autovacuum_vacuum_threshold = 77)`);
    await runPhases(database, 5);
    await query(`insert into tenants (tenant_id, tenant_slug, tenant_name)
                 values ('${OTHER}', 'acme', 'ACME')`);
    await database.migrate(({ context }) => givePartition(context, 'acme'));
    const found = await query(`
      select c.relname as name,
             max(attstattarget) filter (where attname = 'final_entity')::int as target,
             max(attstorage) filter (where attname = 'final_entity') as storage,
             max(attcompression) filter (where attname = 'stitch_ticket') as compression,
             max(attoptions[1]) filter (where attname = 'hash') as options,
             c.reloptions as parameters, t.reloptions as toast
        from pg_class c join pg_attribute a on a.attrelid = c.oid
        left join pg_class t on t.oid = c.reltoastrelid
       where c.oid = 'entities'::regclass
          or c.oid in (select inhrelid from pg_inherits where inhparent = 'entities'::regclass)
       group by c.relname, c.reloptions, t.reloptions order by 1`);
    const columns = {
      target: 500,
      storage: 'e',
      compression: 'p',
      options: 'n_distinct=-0.5',
    };
    const storage = {
      parameters: ['fillfactor=80'],
      toast: ['autovacuum_vacuum_threshold=77'],
    };
    expect(found).toEqual([
      { name: 'entities', ...columns, parameters: null, toast: null },
      { name: 'entities_catch_all', ...columns, ...storage },
      { name: 'entities_tenant_acme', ...columns, ...storage },
      { name: 'entities_tenant_default', ...columns, ...storage },
    ]);
  });

  it('comments, and defaults that have changed since the copy', async () => {
    await query(`
      create table kinds (type text primary key);
      insert into kinds values ('ownedBy'), ('dependsOn');
      alter table relations add constraint known foreign key (type) references kinds,
        add constraint light check (weight < 1000),
        add constraint once unique (originating_entity_id, type, target_entity_ref);
      comment on table relations is 'the table''s';
      comment on constraint known on relations is 'the foreign key''s';
      comment on constraint light on relations is 'the check''s';
      comment on constraint once on relations is 'the unique constraint''s';
      comment on index relations_source_idx is 'the index''s';
      comment on trigger relations_history on relations is 'the trigger''s'`);
    await runPhases(database, 4);
    await stopBefore(database, 5, swap);
    await query(`
      comment on column relations.weight is 'the column''s';
      alter table relations alter column weight set default 7,
        alter column noted_at drop default, alter column target_entity_ref set default 'é'`);
    const comments = async () =>
      (
        await query(
          `select description from pg_description
            where objoid in (select 'relations'::regclass::oid
              union select indexrelid from pg_index where indrelid = 'relations'::regclass
              union select oid from pg_constraint where conrelid = 'relations'::regclass
              union select oid from pg_trigger where tgrelid = 'relations'::regclass)
            order by 1`,
        )
      ).map(({ description }) => description);
    const defaults = () =>
      query(`select attname, pg_get_expr(adbin, adrelid) as expression
               from pg_attrdef join pg_attribute on attrelid = adrelid and attnum = adnum
              where adrelid = 'relations'::regclass order by 1`);
    const before = await comments();
    const defaultsBefore = await defaults();
    expect(before).toHaveLength(8);
    expect(defaultsBefore).toHaveLength(2);
    await runPhase5();
    await expect(comments()).resolves.toEqual(before);
    await expect(defaults()).resolves.toEqual(defaultsBefore);

    await query(`comment on trigger relations_history on relations is 'another';
                 alter table relations alter column weight set default 8`);
    await goBack();
    await expect(comments()).resolves.toContain('another');
    await expect(defaults()).resolves.toContainEqual({
      attname: 'weight',
      expression: '8',
    });
  });

  it('the numbers of sequences, also to who asks for them by name', async () => {
    await query(
      `alter table relations add column id int generated by default as identity unique`,
    );
    await runPhases(database, 4);
    await asLogin(database, 'portal_app', async application => {
      await application.query(
        `select set_config('app.tenant_id', '${TENANT}', false)`,
      );
      const [{ entity_id: entity }] = (
        await application.query('select entity_id from entities limit 1')
      ).rows;
      const write = async () => {
        for (const [name, columns, values] of [
          ['explicit', ', id', `, nextval('relations_id_seq')`],
          ['implicit', '', ''],
        ]) {
          await application.query({
            name,
            text: `insert into relations (tenant_id, originating_entity_id,
                     source_entity_ref, type, target_entity_ref${columns})
                   values ('${TENANT}', $1, 'a', 'b', 'c'${values})`,
            values: [entity],
          });
        }
        await application.query({
          name: 'attempt',
          text: `update refresh_state set errors = '[]',
                        attempts = nextval('refresh_state_attempts_seq')
                  where tenant_id = '${TENANT}'`,
        });
      };
      await write();
      // The application stays connected.
      const goBackBeside = () => goBack({ force: true });
      for (const change of [runPhase5, goBackBeside, runPhase5]) {
        await change();
        await write();
      }
      await database.migrate(({ context }) => cleanup(context), {
        settings: { force: true },
      });
      await write();
    });
    await expect(
      query(`select count(*)::int as rows, count(distinct id)::int as numbers,
                    max(id) = (select last_value from relations_id_seq) as last
               from relations`),
    ).resolves.toEqual([{ rows: 34, numbers: 34, last: true }]);
    await expect(
      query(`select relname from pg_class where relkind = 'S' and relname ~ 'id_seq'
                and relnamespace = 'tenancy'::regnamespace and relname !~ '^tenancy'
              order by 1`),
    ).resolves.toEqual([
      { relname: 'relation_history_id_seq' },
      { relname: 'relations_id_seq' },
    ]);
  });

  it('the right to write, which nobody keeps on the side that goes out of use', async () => {
    await runPhases(database, 4);
    await query(`
      grant select, insert, update (weight) on relations to catalog_report with grant option;
      set role catalog_report;
      grant select, insert on tenancy.relations to pg_monitor;
      reset role`);
    const grants = async (suffix: string) =>
      (
        await query(`
          select c.relname || ': ' || a.grantee::regrole || ' ' || a.privilege_type ||
                 coalesce(' ' || a.of_column, '') as found
            from (select oid, relname, relowner from pg_class
                   where relname in ('entities${suffix}', 'relations${suffix}', 'refresh_state${suffix}')) c,
                 lateral (
                   select grantee, privilege_type, null as of_column
                     from pg_class t, aclexplode(t.relacl) where t.oid = c.oid
                    union all
                   select grantee, privilege_type, attname
                     from pg_attribute t, aclexplode(t.attacl) where t.attrelid = c.oid) a
           where a.grantee <> c.relowner
             and a.privilege_type in ('INSERT', 'UPDATE', 'DELETE') order by 1`)
      ).map(({ found }) => found.replace(`${suffix}:`, ':'));
    const before = await grants('');
    expect(before).toEqual(
      expect.arrayContaining([
        'entities: portal_app DELETE',
        'relations: catalog_report INSERT',
        'relations: catalog_report UPDATE weight',
        'relations: pg_monitor INSERT',
      ]),
    );
    for (const [change, outOfUse] of [
      [runPhase5, '_old'],
      [goBack, '_partitioned_archive'],
      [runPhase5, '_old'],
    ] as const) {
      await change();
      await expect(grants('')).resolves.toEqual(before);
      await expect(grants(outOfUse)).resolves.toEqual([]);
    }
    await asLogin(database, 'portal_app', async application => {
      await application.query(
        `select set_config('app.tenant_id', '${TENANT}', false)`,
      );
      for (const write of [
        `insert into entities_old (tenant_id, entity_ref, entity_kind, entity_name, final_entity, hash)
         values ('${TENANT}', 'a:default/b', 'a', 'b', '{}', '')`,
        `update relations_old set weight = 3`,
        `delete from refresh_state_old`,
      ]) {
        await expect(application.query(write)).rejects.toMatchObject({
          code: '42501',
        });
      }
    });
  });

  it('row triggers, which find the table by its partition as the preflight says', async () => {
    await query(`
      create table seen (name text, root text);
      create function see() returns trigger language plpgsql
        security definer set search_path from current as $$
      begin
        insert into seen values (tg_table_name,
          (select relname from pg_class where oid = coalesce(pg_partition_root(tg_relid), tg_relid)));
        return null;
      end $$;
      create trigger seeing after update on relations for each row execute function see()`);
    const write = () =>
      query(`set row_security = off; truncate seen;
             update relations set weight = 2 where ctid = (select max(ctid) from relations)`);
    await write();
    const seen = () => query('table seen');
    await expect(seen()).resolves.toEqual([
      { name: 'relations', root: 'relations' },
    ]);
    await runPhases(database, 5);
    await write();
    await expect(seen()).resolves.toEqual([
      { name: 'relations_tenant_default', root: 'relations' },
    ]);
  });

  it('views that group, unless it is by a primary key alone', async () => {
    await query(`create view counts as
      select e.entity_id, e.entity_ref, count(*) as relations from entities e
        join relations r on r.originating_entity_id = e.entity_id group by e.entity_id;
      alter view counts owner to catalog_report;
      grant select on entities to catalog_report`);
    await runPhases(database, 4);
    await expect(runPhase5()).rejects.toThrow(
      /The view tenancy.counts groups by the primary key of entities alone/,
    );
    const shown = () => query(`select * from counts order by entity_ref`);
    const asTenant = `set app.tenant_id = '${TENANT}'`;
    await query(asTenant);
    const before = await shown();
    await query(`create or replace view counts as
      select e.entity_id, e.entity_ref, count(*) as relations from entities e
        join relations r on r.originating_entity_id = e.entity_id
       group by e.entity_id, e.entity_ref`);
    await expect(shown()).resolves.toEqual(before);
    await runPhase5();
    await expect(shown()).resolves.toEqual(before);

    // With the tenant in front it is the key of the new tables, on both sides.
    await query(`create or replace view counts as
      select e.entity_id, e.entity_ref, count(*) as relations from entities e
        join relations r on r.originating_entity_id = e.entity_id
       group by e.tenant_id, e.entity_id`);
    await goBack();
    await expect(shown()).resolves.toEqual(before);
    await database.migrate(migration => migration.runPhase(5), {
      settings: { force: true },
    });
    await expect(shown()).resolves.toEqual(before);
  });
});
