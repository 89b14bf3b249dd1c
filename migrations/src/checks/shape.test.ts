import { createTestDatabases } from '@internal/postgres/testUtils';
import { forEachTest } from '../__testUtils__/forEachTest';
import { createCatalogDatabase } from '../__testUtils__/catalogDatabase';
import { catalogSnapshot } from '../__testUtils__/catalogSnapshot';
import { runPhases } from '../__testUtils__/runPhases';
import { findings, preflight } from '../preflight/__testUtils__/preflight';
import { rollback } from '../rollback/rollback';
import { verify } from '../verify/verify';

const databases = createTestDatabases({ versions: 'every' });

/** What a catalog may be, and goes forward and back with. */
const ACCEPTED: Record<string, string> = {
  'more columns': `
    create type colour as enum ('red', 'blue');
    create sequence numbers;
    alter table relations add column "User Name" colour default 'red', add column r int default 1,
      add column key text[], add column at timestamptz default 'infinity',
      add column number bigint default nextval('numbers');
    alter table refresh_state add column unprocessed_entity text, add column cache jsonb,
      add column "end" float8 default 'NaN', add column gone int;
    alter table refresh_state drop column gone;
    comment on column relations.weight is 'the column''s'`,
  'the columns of the specification as character varying': `
    alter table entities alter column entity_ref type varchar(255), alter column hash type varchar,
      alter column entity_name type varchar(255)`,
  'no foreign keys, no NOT NULL and no primary key of refresh_state': `
    alter table relations drop constraint relations_originating_entity_id_fkey;
    alter table refresh_state drop constraint refresh_state_entity_id_fkey,
      drop constraint refresh_state_pkey;
    alter table entities alter column hash drop not null`,
  'storage parameters and grants': `
    alter table entities set (fillfactor = 80, toast.autovacuum_vacuum_threshold = 77);
    grant all on entities to catalog_report with grant option;
    revoke truncate on entities from catalog_report;
    grant insert (type), update (weight) on relations to catalog_report`,
};

interface Refusal {
  check: string;
  given: string;
  /** What is named. */
  named: string;
  /** What puts it right where the finding has no statements. */
  otherwise?: string;
}

const REFUSED: Record<string, Refusal> = {
  'a missing table': {
    check: 'tables',
    given: 'drop table refresh_state',
    named: 'no refresh_state',
    otherwise: `create table refresh_state (entity_id uuid primary key)`,
  },
  'a view in place of a table': {
    check: 'tables',
    given:
      'alter table refresh_state rename to states; create view refresh_state as select * from states',
    named: 'refresh_state: a view',
    otherwise:
      'drop view refresh_state; alter table states rename to refresh_state',
  },
  'a partitioned table': {
    check: 'tables',
    given:
      'drop table refresh_state; create table refresh_state (entity_id uuid) partition by list (entity_id)',
    named: 'refresh_state: a partitioned table',
    otherwise:
      'drop table refresh_state; create table refresh_state (entity_id uuid)',
  },
  'a child': {
    check: 'tables',
    given: 'create table more () inherits (relations)',
    named: 'relations: inherits',
  },
  'a table of a type': {
    check: 'tables',
    given: `create type relation as (originating_entity_id uuid, source_entity_ref text,
        type text, target_entity_ref text, weight numeric(6, 2), noted_at timestamptz);
      alter table relations of relation`,
    named: 'relations: of a type',
  },
  'an unlogged table': {
    check: 'tables',
    given: 'alter table relations set unlogged',
    named: 'relations: not logged',
  },
  'a missing column': {
    check: 'columns',
    given: 'alter table entities drop column stitch_ticket',
    named: 'entities.stitch_ticket (text)',
  },
  'a column of another type': {
    check: 'columns',
    given: 'alter table entities alter column created_at type timestamp',
    named: 'entities.created_at (timestamp with time zone)',
  },
  'a tenant_id of others': {
    check: 'columns',
    given: 'alter table relations add column tenant_id text',
    named: 'tenant_id',
  },
  'a generated column': {
    check: 'generated values',
    given: `alter table entities add column shout text generated always as (upper(entity_name)) stored`,
    named: 'entities.shout',
  },
  'an identity column': {
    check: 'generated values',
    given: `alter table relations add column id bigint generated always as identity`,
    named: 'relations.id',
  },
  'a serial column': {
    check: 'generated values',
    given: `alter table relations add column id bigserial`,
    named: 'relations.id',
  },
  'another primary key': {
    check: 'keys of entities',
    given: `alter table entities drop constraint entities_pkey cascade`,
    named: 'entity_id',
  },
  'a reference that is not unique': {
    check: 'keys of entities',
    given: `alter table entities drop constraint entities_entity_ref_key`,
    named: 'entity_ref',
  },
  'an index': {
    check: 'indexes',
    given: `create index "A ""name''" on relations (lower(type), weight desc) where weight > 0`,
    named: `A "name'' (relations)`,
  },
  'a unique constraint': {
    check: 'indexes',
    given: `alter table refresh_state add constraint once unique (location_key, entity_id)`,
    named: 'once (refresh_state)',
  },
  'an exclusion constraint': {
    check: 'indexes',
    given: `alter table refresh_state add constraint apart exclude using btree (entity_id with =)`,
    named: 'apart (refresh_state)',
  },
  'a check': {
    check: 'constraints',
    given: `alter table relations add constraint light check (weight < 1000) no inherit`,
    named: 'light (relations)',
  },
  'a check under a name of ours': {
    check: 'constraints',
    given:
      'alter table entities add constraint entities_hash_present check (hash is not null)',
    named: 'entities_hash_present (entities)',
  },
  'a foreign key to another table': {
    check: 'constraints',
    given: `create table kinds (type text primary key);
      insert into kinds values ('ownedBy'), ('dependsOn');
      alter table relations add constraint known foreign key (type) references kinds`,
    named: 'known (relations)',
  },
  'a foreign key on the entity that does not cascade': {
    check: 'constraints',
    given: `alter table relations drop constraint relations_originating_entity_id_fkey,
      add constraint kept foreign key (originating_entity_id) references entities`,
    named: 'kept (relations)',
  },
  'a foreign key of another table': {
    check: 'dependents',
    given: 'create table notes (entity_id uuid references entities)',
    named: 'constraint notes_entity_id_fkey on table notes',
  },
  'a trigger': {
    check: 'triggers',
    given: `create function noop() returns trigger language plpgsql as 'begin return null; end';
      create trigger entity_terms_insert after insert on relations for each row execute function noop()`,
    named: 'entity_terms_insert (relations)',
  },
  'views on views': {
    check: 'dependents',
    given: `create view one as select * from entities; create view two as select * from one;
      create materialized view three as select * from two`,
    named:
      'materialized view tenancy.three, view tenancy.two, view tenancy.one',
  },
  'a policy': {
    check: 'row-level security',
    given: `create policy "Mine, %I" on relations as restrictive for update to catalog_report
      using (weight < 10) with check (weight < 9)`,
    named: 'Mine, %I (relations)',
  },
  'a policy under a name of ours': {
    check: 'row-level security',
    given: 'create policy tenant_isolation on entities using (true)',
    named: 'tenant_isolation (entities)',
  },
  'row-level security': {
    check: 'row-level security',
    given: 'alter table refresh_state enable row level security',
    named: 'refresh_state, where it is enabled',
  },
  'a rule': {
    check: 'dependents',
    given: 'create rule quiet as on delete to relations do also nothing',
    named: 'rule quiet on table relations',
  },
  'functions of its rows': {
    check: 'dependents',
    given: `create function live() returns setof entities language sql stable as 'select * from tenancy.entities';
      create function newest() returns text begin atomic select max(entity_ref) from entities; end`,
    named: 'function live(); function newest()'.split('; ').join(', '),
  },
  'a column of its row type': {
    check: 'dependents',
    given: 'create table snapshots (id int, entities entities[])',
    named: 'column entities of table snapshots',
  },
  'a domain over its row type': {
    check: 'dependents',
    given: 'create domain checked as relations check ((value).weight > 0)',
    named: 'type checked',
  },
  'a policy of another table': {
    check: 'dependents',
    given: `create table notes (id int);
      create policy known on notes using (exists (select from entities))`,
    named: 'policy known on table notes',
  },
  'a right to TRUNCATE': {
    check: 'grants',
    given: 'grant truncate on relations to public, catalog_report',
    named: 'TRUNCATE of public (relations)',
  },
  'an owner without rights to its table': {
    check: 'grants',
    given: 'revoke all on relations from current_user',
    named: 'no SELECT of',
  },
};

describe.each(databases.eachSupportedId())('a catalog on %s', id => {
  const database = forEachTest(() =>
    createCatalogDatabase(databases, id, { entities: 20 }),
  );

  const run = async (sql: string) => {
    for (const statement of sql.split(/;\n/)) {
      await database.client.query(statement);
    }
  };

  it.each(Object.entries(ACCEPTED))(
    'with %s goes forward and back to what it was',
    async (_, given) => {
      const { client } = database;
      await client.query(given);
      const contents = async () =>
        (
          await client.query(
            `select (select jsonb_agg(to_jsonb(whole) - 'tenant_id' order by source_entity_ref, type) from relations whole) as relations,
                    (select jsonb_agg(to_jsonb(whole) - 'tenant_id' order by location_key) from refresh_state whole) as states,
                    (select jsonb_agg(to_jsonb(whole) - 'tenant_id' order by entity_ref) from entities whole) as entities`,
          )
        ).rows;
      const before = [await catalogSnapshot(client), await contents()];
      expect(findings(await preflight(database), 'failure')).toEqual([]);
      await runPhases(database, 5);
      const { checks } = await database.migrate(verify, { mode: 'read' });
      expect(checks.flatMap(({ problems }) => problems)).toEqual([]);
      await expect(contents()).resolves.toEqual(before[1]);
      await database.migrate(migration => rollback(migration, 0));
      expect([await catalogSnapshot(client), await contents()]).toEqual(before);
    },
  );

  it.each(Object.entries(REFUSED))(
    'with %s is refused, until its statements were run',
    async (_, { check, given, named, otherwise }) => {
      await database.client.query(given);
      const [found, ...others] = findings(await preflight(database), 'failure');
      expect(found).toMatchObject({
        check,
        message: expect.stringContaining(named),
        advice: expect.any(String),
      });
      expect(others).toEqual([]);
      await run(otherwise ?? found.sql!);
      expect(findings(await preflight(database), 'failure')).toEqual([]);
    },
  );

  it('gets again what was dropped, which a rollback then names', async () => {
    await database.client.query(`
      create function noop() returns trigger language plpgsql as 'begin return null; end';
      create trigger history after insert on relations for each row execute function noop();
      create view one as select * from entities; create view two as select * from one;
      create index late on relations (lower(type)) where weight > 0;
      alter table relations add constraint once unique (originating_entity_id, type),
        add constraint light check (weight < 1000);
      create policy mine on relations as restrictive using (weight < 10);
      create rule quiet as on delete to relations do also nothing;
      create function newest() returns text begin atomic select max(entity_ref) from entities; end`);
    const found = findings(await preflight(database), 'failure');
    await run(found.map(({ sql }) => sql).join('\n'));
    await runPhases(database, 5);
    const goBack = () => database.migrate(migration => rollback(migration));
    for (const { again } of found) {
      await database.client.query(again ?? '');
    }
    await database.client.query(`
      create index late on relations (lower(type)) where weight > 0;
      create policy mine on relations as restrictive using (weight < 10);
      create rule quiet as on delete to relations do also nothing;
      create function newest() returns text begin atomic select max(entity_ref) from entities; end`);
    const steps = () =>
      database.migrate(migration => migration.completedSteps());
    const before = await steps();
    const refusal: Error = await goBack().catch(error => error);
    for (const named of [
      'history (relations)',
      'view tenancy.two',
      'view tenancy.one',
      'mine (relations)',
      'function newest()',
      'rule quiet',
    ]) {
      expect(refusal.message).toContain(named);
    }
    await expect(steps()).resolves.toEqual(before);
    await run(`drop trigger history on relations;
drop view two, one;
drop policy mine on relations;
drop function newest();
drop rule quiet on relations`);
    await expect(goBack()).resolves.not.toEqual([]);
  });
});
