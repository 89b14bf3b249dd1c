import { createTestDatabases } from '@internal/postgres/testUtils';
import type { CatalogDatabase } from '../__testUtils__/catalogDatabase';
import { catalogSnapshot } from '../__testUtils__/catalogSnapshot';
import { catalogTemplate } from '../__testUtils__/catalogTemplate';
import { runPhases } from '../__testUtils__/runPhases';
import { cleanup } from '../cleanup/cleanup';
import { EXIT_CODES } from '../errors';
import { runPreflight } from '../preflight/runPreflight';
import { rollback } from '../rollback/rollback';

const databases = createTestDatabases();

/**
 * What operators may have, each with what a phase calls it, and the check of the
 * preflight that refuses it where that is not the one of names.
 */
const TAKEN: [statement: string, name: string, check?: string][] = [
  ...[
    'tenants',
    'entities_partitioned',
    'relations_partitioned_archive',
    'entities_partitioned_archive',
    'entities_tenant_default',
    'refresh_state_catch_all',
    'entities_catch_all',
    'entities_old',
    'relations_old',
    'tenancy_change_log',
    'entity_search',
    'entity_parents',
    'tenancy_ready',
    'entities_without_tenant_idx',
    'entities_partitioned_live_ref_idx',
  ].map((table): [string, string] => [
    `create table ${table} (id int, name text); insert into ${table} values (1, 'ours')`,
    `the relation ${table}`,
  ]),
  [
    `create view entity_search as select 1 as one`,
    'the relation entity_search',
  ],
  [`create sequence tenants`, 'the relation tenants'],
  [`create type entity_search as enum ('a')`, 'the type entity_search'],
  [`create domain tenants as text`, 'the type tenants'],
  [
    `create function tenant_required(text) returns uuid language sql as 'select null::uuid'`,
    'the function tenant_required(text)',
  ],
  [
    `create function tenancy_replay_changes() returns int language sql as 'select 1'`,
    'the function tenancy_replay_changes()',
  ],
  [
    `create trigger tenancy_change_log after insert on entities for each row execute function noted()`,
    'the trigger tenancy_change_log of entities',
  ],
  [
    `create trigger entity_search_insert after insert on entities for each row execute function noted()`,
    'the trigger entity_search_insert of entities',
  ],
  [
    `alter table entities add constraint entities_entity_ref_check check (entity_ref <> '')`,
    'the constraint entities_entity_ref_check of entities',
  ],
  [
    `alter table relations add constraint relations_entity_fkey foreign key (originating_entity_id) references entities (entity_id)`,
    'the constraint relations_entity_fkey of relations',
  ],
  [
    `create policy tenant_isolation on entities using (true)`,
    'the policy tenant_isolation of entities',
  ],
  [
    `alter table entities add column tenant_id uuid`,
    'the column tenant_id of entities',
    'columns',
  ],
];

const PREFLIGHT = { allowMissing: ['pg_cron'], backupCompleted: true };

describe.each(databases.eachSupportedId())('names that are taken on %s', id => {
  let database: CatalogDatabase;
  const create = catalogTemplate(databases, id, {
    prepare: async prepared => {
      await prepared.client.query(
        `create function noted() returns trigger language plpgsql as 'begin return null; end'`,
      );
    },
  });
  beforeEach(async () => {
    database = await create();
  });
  afterEach(() => database.close());

  it.each(TAKEN)(
    'are refused before anything begins: %s',
    async (statement, name, check = 'names') => {
      await database.client.query(statement);
      const before = await catalogSnapshot(database.client);
      const report = await database.migrate(
        ({ context }) => runPreflight(context, PREFLIGHT),
        { mode: 'read' },
      );
      const failures = report.filter(({ level }) => level === 'failure');
      expect(failures.map(finding => finding.check)).toContain(check);
      expect(JSON.stringify(failures)).toContain(
        check === 'names' ? name : name.split(' ')[2],
      );

      const phases = runPhases(database, 5);
      await expect(phases).rejects.toMatchObject({
        exitCode: EXIT_CODES.refused,
        message: expect.stringContaining(name),
      });
      await database.migrate(migration => rollback(migration, 0));
      expect(await catalogSnapshot(database.client)).toEqual(before);
    },
  );

  it('are never dropped by an undo, whenever they were taken', async () => {
    await runPhases(database, 4);
    await database.client.query(
      `create table entity_search (id int); insert into entity_search values (1);
       create table entities_old as select * from entities`,
    );
    await expect(runPhases(database, 5)).rejects.toMatchObject({
      exitCode: EXIT_CODES.refused,
      message: expect.stringContaining(
        'the relation entities_old, the relation entity_search',
      ),
    });
    await database.migrate(migration => rollback(migration, 0));
    const { rows } = await database.client.query(
      `select (select count(*)::int from entity_search) as search,
              (select count(*)::int from entities_old) as old`,
    );
    expect(rows).toEqual([{ search: 1, old: 200 }]);
  });

  it('are not taken by what the migration has left there itself', async () => {
    await runPhases(database, 5);
    await database.migrate(migration => rollback(migration));
    await runPhases(database, 5);
    await database.migrate(migration => rollback(migration, 3));
    await runPhases(database, 5);
    await database.migrate(migration => rollback(migration, 0));
    await runPhases(database, 5);
    await database.migrate(
      async migration => expect(await migration.completedPhase()).toBe(5),
      { mode: 'read' },
    );
  });

  it('keep what an operator has put in the place of a table from being dropped', async () => {
    await runPhases(database, 5);
    await database.migrate(migration => rollback(migration));
    await database.client.query(
      `drop table entities_partitioned_archive, relations_partitioned_archive, refresh_state_partitioned_archive;
       create table entities_partitioned_archive (id int)`,
    );
    await expect(
      database.migrate(migration => rollback(migration, 0)),
    ).rejects.toMatchObject({
      exitCode: EXIT_CODES.refused,
      message: expect.stringContaining(
        'The migration did not create the relation entities_partitioned_archive',
      ),
    });
    await database.client.query('drop table entities_partitioned_archive');
    await database.migrate(migration => rollback(migration, 0));
  });

  it('keep a table that an operator has put in the place of an old one from the cleanup', async () => {
    await runPhases(database, 5);
    await database.client.query(
      `drop table relations_old; create table relations_old (id int)`,
    );
    await expect(
      database.migrate(({ context }) => cleanup(context), {
        settings: { force: true },
      }),
    ).rejects.toMatchObject({
      exitCode: EXIT_CODES.refused,
      message: expect.stringContaining('the relation relations_old'),
    });
    const { rows } = await database.client.query(
      `select to_regclass('entities_old') is not null as kept`,
    );
    expect(rows).toEqual([{ kept: true }]);
  });
});
