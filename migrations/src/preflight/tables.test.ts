import { createTestDatabases } from '@internal/postgres/testUtils';
import { createCatalogDatabase } from '../__testUtils__/catalogDatabase';
import type { CatalogDatabase } from '../__testUtils__/catalogDatabase';
import { findings, preflight } from './__testUtils__/preflight';

const databases = createTestDatabases();

interface Case {
  check: string;
  /** What makes the situation. */
  given: string;
  message: RegExp;
  /** Whether the finding's own statements end it. */
  mended?: true;
}

const REFUSALS: Record<string, Case> = {
  'a missing table': {
    check: 'tables',
    given: 'drop table refresh_state',
    message: /has entities, relations, but no refresh_state/,
  },
  'a partitioned table': {
    check: 'tables',
    given:
      'drop table refresh_state; create table refresh_state (entity_id uuid) partition by hash (entity_id)',
    message: /refresh_state is a partitioned table/,
  },
  'a view in place of a table': {
    check: 'tables',
    given:
      'alter table refresh_state rename to states; create view refresh_state as select * from states',
    message: /refresh_state is a view/,
  },
  'a foreign table': {
    check: 'tables',
    given: `create foreign data wrapper f; create server s foreign data wrapper f;
      drop table refresh_state; create foreign table refresh_state (entity_id uuid) server s`,
    message: /refresh_state is a foreign table/,
  },
  'a table that is inherited from': {
    check: 'tables',
    given: 'create table more_relations () inherits (relations)',
    message: /relations inherits from a table, is a partition, or is inherited/,
  },
  'a table of a type': {
    check: 'tables',
    given: `create type relation as (originating_entity_id uuid, source_entity_ref text,
        type text, target_entity_ref text, weight numeric(6, 2), noted_at timestamptz);
      alter table relations of relation`,
    message: /relations is a table of the type relation/,
    mended: true,
  },
  'a published table': {
    check: 'replication',
    given: 'create publication feed for table relations',
    message: /: feed \(tenancy\.relations\)\. /,
  },
  'a publication of all tables': {
    check: 'replication',
    given: 'create publication feed for all tables',
    message: /: feed \(FOR ALL TABLES\)\. /,
  },
  'an owner that may not read its table': {
    check: 'grants',
    given: 'revoke all on relations from current_user',
    message: /owns relations and may not read it/,
    mended: true,
  },
  'an unlogged table': {
    check: 'tables',
    given: 'alter table refresh_state set unlogged',
    message: /refresh_state is unlogged/,
    mended: true,
  },
  'a rule': {
    check: 'tables',
    given: 'create rule "Quiet" as on delete to relations do also nothing',
    message: /relations has rules: Quiet/,
    mended: true,
  },
  'a missing column': {
    check: 'columns',
    given: 'alter table entities drop column stitch_ticket',
    message: /no column stitch_ticket \(text\)/,
    mended: true,
  },
  'a column of another type': {
    check: 'columns',
    given: 'alter table entities alter created_at type timestamp',
    message: /created_at is of type timestamp without time zone, not timestamp/,
    mended: true,
  },
  'a missing key of relations': {
    check: 'columns',
    given: `alter table relations drop constraint relations_originating_entity_id_fkey;
      alter table relations rename originating_entity_id to entity_id`,
    message: /relations has no column originating_entity_id/,
  },
  'a key of another type': {
    check: 'columns',
    given: `alter table refresh_state drop constraint refresh_state_entity_id_fkey;
      alter table refresh_state alter entity_id type text`,
    message: /refresh_state.entity_id is of type text, not uuid/,
    mended: true,
  },
  'a tenant_id that is not ours': {
    check: 'columns',
    given: 'alter table entities add tenant_id text',
    message: /has a column tenant_id \(text\) that the migration did not add/,
    mended: true,
  },
  'another primary key': {
    check: 'keys of entities',
    given: 'alter table entities drop constraint entities_pkey cascade',
    message: /entity_id is not the primary key/,
  },
  'a reference that is not unique': {
    check: 'keys of entities',
    given: 'alter table entities drop constraint entities_entity_ref_key',
    message: /entity_ref is not unique/,
  },
  'a required value that is null': {
    check: 'required values',
    given:
      'alter table entities alter hash drop not null; update entities set hash = null where deleted_at is not null',
    message: /1 row of entities without a value of hash/,
  },
  'an exclusion constraint': {
    check: 'constraints',
    given:
      'alter table relations add constraint apart exclude using btree (noted_at with =) where (weight > 1)',
    message: /tenancy.relations has the exclusion constraint apart/,
    mended: true,
  },
  'a constraint that is not valid': {
    check: 'constraints',
    given:
      'alter table relations add constraint heavy check (weight > 0) not valid',
    message: /The constraint heavy of tenancy.relations is NOT VALID/,
    mended: true,
  },
  'a check that is not inherited': {
    check: 'constraints',
    given:
      'alter table relations add constraint "Own" check (weight < 1000) no inherit',
    message: /constraint Own of tenancy.relations is NO INHERIT/,
    mended: true,
  },
  'a check of the row as a whole': {
    check: 'constraints',
    given:
      'alter table relations add constraint whole check (relations is not null or weight is null)',
    message: /constraint whole of tenancy.relations is on the row as a whole/,
    mended: true,
  },
  'an index on the row as a whole': {
    check: 'constraints',
    given: 'create index full_rows on relations ((relations is not null))',
    message: /index full_rows of tenancy.relations is on the row as a whole/,
    mended: true,
  },
  'a foreign key of another table': {
    check: 'foreign keys',
    given: 'create table notes (entity_id uuid references entities)',
    message: /tenancy.notes \(entity_id\) references entities \(entity_id\)/,
    mended: true,
  },
  'a foreign key among the tables': {
    check: 'foreign keys',
    given: `alter table relations add foreign key (source_entity_ref) references entities (entity_ref)`,
    message:
      /relations \(source_entity_ref\) references entities \(entity_ref\)/,
    mended: true,
  },
  'a row trigger with transition tables': {
    check: 'triggers',
    given: `create trigger counted after insert on relations
      referencing new table as added for each row execute function note_relation()`,
    message: /counted of relations is FOR EACH ROW and has transition tables/,
    mended: true,
  },
  'a materialized view on a view': {
    check: 'views',
    given: 'create materialized view kept as select * from owned',
    message: /tenancy.kept \(of .+\) is a materialized view/,
    mended: true,
  },
  'a view that groups by a primary key alone': {
    check: 'views',
    given: `create view counts as
        select e.entity_id, e.entity_ref, count(r.type) from entities e
          left join relations r on r.originating_entity_id = e.entity_id group by e.entity_id;
      alter view counts owner to catalog_report`,
    message: /tenancy.counts groups by the primary key of entities alone/,
  },
  'a policy': {
    check: 'row-level security',
    given: 'create policy mine on entities using (true)',
    message: /entities has policies: mine/,
    mended: true,
  },
  'a function that returns rows of a table': {
    check: 'dependents',
    given: `create function live() returns setof entities language sql stable
      as 'select * from tenancy.entities where deleted_at is null'`,
    message: /in phase 5, whatever those are called: function live\(\)/,
  },
  'a function whose body PostgreSQL has parsed': {
    check: 'dependents',
    given: `create function newest() returns text stable
      begin atomic select max(entity_ref) from entities; end`,
    message: /: function newest\(\)/,
  },
  'a column of the row type': {
    check: 'dependents',
    given: 'create table snapshots (taken_at timestamptz, entity entities)',
    message: /: column entity of table snapshots/,
  },
  'a column of an array of rows': {
    check: 'dependents',
    given: 'create table snapshots (taken_at timestamptz, entities entities[])',
    message: /: column entities of table snapshots/,
  },
  'a policy of another table that reads the entities': {
    check: 'dependents',
    given: `create table secrets (entity_id uuid);
      create policy known on secrets using (exists (select from entities))`,
    message: /: policy known on table secrets/,
  },
  'a foreign key of another table that names a tenant': {
    check: 'foreign keys',
    given: `alter table entities add column owner int, add unique (owner, entity_id);
      create table notes (tenant_id int, entity_id uuid,
        foreign key (tenant_id, entity_id) references entities (owner, entity_id))`,
    message: /tenancy.notes \(tenant_id, entity_id\) references/,
    mended: true,
  },
  'a right of everybody to TRUNCATE': {
    check: 'grants',
    given: 'grant truncate on relations to public',
    message: /PUBLIC may TRUNCATE relations/,
    mended: true,
  },
  'row-level security without a policy': {
    check: 'row-level security',
    given: 'alter table relations enable row level security',
    message: /relations has row-level security enabled/,
    mended: true,
  },
};

describe.each(databases.eachSupportedId())('the preflight on %s', id => {
  let database: CatalogDatabase;
  beforeEach(async () => {
    database = await createCatalogDatabase(databases, id, { entities: 20 });
  });
  afterEach(() => database.close());

  it.each(Object.entries(REFUSALS))('refuses %s', async (_, refusal) => {
    await database.client.query(refusal.given);
    const found = findings(await preflight(database), 'failure');
    expect(found).toEqual([
      expect.objectContaining({
        check: refusal.check,
        message: expect.stringMatching(refusal.message),
        advice: expect.any(String),
      }),
    ]);
  });

  it('takes restrictive policies, which phase 4 keeps', async () => {
    await database.client.query(
      'create policy mine on entities as restrictive using (true)',
    );
    expect(findings(await preflight(database), 'failure')).toEqual([]);
  });

  it('only warns of what --force leaves behind', async () => {
    await database.client.query(
      `create function live() returns setof entities language sql stable
         as 'select * from tenancy.entities'`,
    );
    const report = await preflight(database, { settings: { force: true } });
    expect(findings(report, 'failure')).toEqual([]);
    expect(findings(report, 'warning', 'dependents')).toHaveLength(1);
  });

  it.each(Object.entries(REFUSALS).filter(([, { mended }]) => mended))(
    'gives statements that end %s',
    async (_, { check, given }) => {
      await database.client.query(given);
      const found = findings(await preflight(database), 'failure', check);
      await database.client.query(found.map(({ sql }) => sql).join('\n'));
      expect(findings(await preflight(database), 'failure', check)).toEqual([]);
    },
  );

  it('refuses an invalid index, which its statements mend', async () => {
    await expect(
      database.client.query(
        'create unique index concurrently once on relations (type)',
      ),
    ).rejects.toThrow('could not create unique index');
    const [found] = findings(await preflight(database), 'failure');
    expect(found).toMatchObject({ check: 'invalid indexes' });
    const [drop] = found.sql!.split('\n');
    expect(drop).toBe('drop index concurrently tenancy.once;');
    await database.client.query(drop);
    expect(findings(await preflight(database), 'failure')).toEqual([]);
  });

  it('lists columns, foreign keys and triggers that are carried over', async () => {
    await database.client.query(
      `alter table entities add owner text;
       create table kinds (kind text primary key);
       insert into kinds values ('component');
       alter table entities add foreign key (entity_kind) references kinds;
       create constraint trigger late after insert on relations
         deferrable initially deferred for each row execute function note_relation();
       alter table relations enable always trigger late`,
    );
    const report = await preflight(database);
    expect(findings(report, 'failure')).toEqual([]);
    expect(findings(report, 'warning', 'columns')[0].message).toMatch(
      /: owner/,
    );
    expect(findings(report, 'ok', 'foreign keys')[0].message).toMatch(
      /entities_entity_kind_fkey \(entities to kinds\)/,
    );
    expect(findings(report, 'ok', 'triggers')[0].message).toMatch(
      /late \(relations, enabled always\)/,
    );
  });

  it('warns of TRUNCATE and replica identities', async () => {
    await database.client.query(
      `grant truncate on entities to catalog_report;
       alter table entities replica identity nothing`,
    );
    const warnings = findings(await preflight(database), 'warning').map(
      ({ message }) => message,
    );
    expect(warnings).toEqual([
      expect.stringContaining('pg_cron'),
      'The replica identity of entities is an index, or nothing: from phase 5 on it is all columns.',
      'TRUNCATE is granted to catalog_report (entities).',
    ]);
  });

  it('warns of row triggers whose function reads the name of the table', async () => {
    await database.client.query(`
      create function audit() returns trigger language plpgsql as $$
      begin
        perform format('insert into %I', Tg_Table_Name);
        return null;
      end $$;
      create trigger audited after insert on relations for each row execute function audit();
      create trigger counted after insert on relations execute function audit()`);
    const [found, ...others] = findings(
      await preflight(database),
      'warning',
      'triggers',
    );
    expect(found.message).toMatch(
      /^The function audit\(\) of the row trigger audited of relations reads TG_TABLE_NAME: .* relations_tenant_default/,
    );
    expect(found.advice).toContain('pg_partition_root(tg_relid)');
    expect(others).toEqual([]);
  });

  it('warns of storage that is not carried over', async () => {
    await database.client.query(
      `create statistics pairs on type, target_entity_ref from relations;
       alter table refresh_state cluster on refresh_state_pkey`,
    );
    expect(findings(await preflight(database), 'warning', 'storage')).toEqual([
      expect.objectContaining({
        message: expect.stringContaining('pairs (relations)'),
        advice: expect.stringContaining('such as relations_tenant_default'),
      }),
      expect.objectContaining({
        message: expect.stringContaining('refresh_state_pkey (refresh_state)'),
      }),
    ]);
  });

  it('takes a view whose owner bypasses row-level security where the view can be told', async () => {
    await database.client.query(
      'create view everything as select * from entities; grant select on everything to catalog_report',
    );
    const [found] = (await preflight(database)).filter(
      ({ check, level }) => check === 'views' && level !== 'ok',
    );
    const expected =
      id === 'POSTGRES_14'
        ? {
            level: 'failure',
            sql: 'alter view tenancy.everything owner to <role>;',
          }
        : {
            level: 'warning',
            advice: 'Grant it to those that may read the tables.',
          };
    expect(found).toMatchObject(expected);
    expect(found.message).toMatch(/bypasses row-level security/);
  });
});
