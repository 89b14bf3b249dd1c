import { createTestDatabases } from '@internal/postgres/testUtils';
import { Client } from 'pg';
import { AFTER_PG_UPGRADE } from '../__testUtils__/afterPgUpgrade';
import { forEachTest } from '../__testUtils__/forEachTest';
import { catalogSnapshot } from '../__testUtils__/catalogSnapshot';
import { createCatalogDatabase } from '../__testUtils__/catalogDatabase';
import { runPhases } from '../__testUtils__/runPhases';
import { runInProcess } from '../cli/__testUtils__/runCli';
import { cleanup } from '../cleanup/cleanup';
import { EXIT_CODES } from '../errors';
import { runPreflight } from '../preflight/runPreflight';
import { silentReporter } from '../Reporter';
import { rollback } from '../rollback/rollback';

const databases = createTestDatabases({ versions: 'newest' });

type Taken = [statement: string, name: string];

const table = (name: string): Taken => [
  `create table ${name} (id int, name text); insert into ${name} values (1, 'ours')`,
  `the relation ${name}`,
];

/**
 * What operators may have, as the message names it. A phase names all that are taken at
 * once, so one database has all that one phase refuses and that can exist side by side.
 */
const TAKEN: Record<string, Taken[]> = {
  'tables of phase 1': [table('tenants'), table('entities_without_tenant_idx')],
  'a domain': [[`create domain tenants as text`, 'the type tenants']],
  'a function of phase 4': [
    [
      `create function tenant_required(text) returns uuid language sql as 'select null::uuid'`,
      'the function tenant_required(text)',
    ],
  ],
  'objects of phase 5': [
    ...[
      'entities_partitioned',
      'relations_partitioned_archive',
      'entities_partitioned_archive',
      'entities_tenant_default',
      'refresh_state_catch_all',
      'entities_catch_all',
      'entities_old',
      'relations_old',
      'tenancy_change_log',
      'entity_terms',
      'entity_parents',
      'tenancy_ready',
      'entities_partitioned_live_ref_idx',
    ].map(table),
    [
      `create function tenancy_replay_changes() returns int language sql as 'select 1'`,
      'the function tenancy_replay_changes()',
    ],
  ],
  'a function of an adoption': [
    [
      `create function adoption_check_snapshot() returns int language sql as 'select 1'`,
      'the function adoption_check_snapshot()',
    ],
  ],
  'a view': [
    [
      `create view entity_terms as select 1 as one`,
      'the relation entity_terms',
    ],
  ],
};

const PREFLIGHT = { backupCompleted: true };

describe.each(databases.eachSupportedId())('names that are taken on %s', id => {
  const database = forEachTest(() => createCatalogDatabase(databases, id));

  it.each(Object.entries(TAKEN))(
    'are refused by the preflight and a phase, and stay as they are: %s',
    async (_, taken) => {
      for (const [statement] of taken) {
        await database.client.query(statement);
      }
      const before = await catalogSnapshot(database.client);
      const report = await database.migrate(
        ({ context }) => runPreflight(context, PREFLIGHT),
        { mode: 'read' },
      );
      const [names] = report.filter(({ check }) => check === 'names');
      expect(names.level).toBe('failure');
      const refused = await runPhases(database, 5).catch(error => error);
      expect(refused).toMatchObject({ exitCode: EXIT_CODES.refused });
      for (const [, name] of taken) {
        expect(refused.message).toContain(name);
        expect(names.message).toContain(name);
      }
      await database.migrate(migration => rollback(migration, 0));
      expect(await catalogSnapshot(database.client)).toEqual(before);
    },
  );

  it.each([
    'tenancy_migrations',
    'tenancy_migration_state',
    'adoption_state',
    'adoption_faults',
  ])(
    'are refused by every command: %s, in which one keeps its state',
    async name => {
      await database.client.query(table(name)[0]);
      const before = await catalogSnapshot(database.client);
      for (const command of ['preflight', 'status', 'phase1', 'rollback']) {
        const { exitCode, stderr } = await runInProcess(
          database.connection,
          command,
          ...(command === 'phase1' ? ['--backup-completed'] : []),
        );
        expect({ exitCode, stderr }).toEqual({
          exitCode: EXIT_CODES.refused,
          stderr: expect.stringContaining(`the relation ${name}, and needs`),
        });
      }
      expect(await catalogSnapshot(database.client)).toEqual(before);
    },
  );

  it('are not taken for those of a step that failed before it created anything', async () => {
    await database.client.query(
      `create function refuse() returns event_trigger language plpgsql as $$
       begin
         if exists (select from pg_event_trigger_ddl_commands() where object_identity ~ 'tenant_members') then
           raise exception 'not now';
         end if;
       end $$;
       create event trigger refuse on ddl_command_end execute function refuse()`,
    );
    await expect(runPhases(database, 5)).rejects.toThrow('not now');
    await database.client.query(
      `drop event trigger refuse;
       create table tenant_members (id int); insert into tenant_members values (1)`,
    );
    await database.migrate(migration => rollback(migration, 0));
    const { rows } = await database.client.query(
      'select count(*)::int as rows from tenant_members',
    );
    expect(rows).toEqual([{ rows: 1 }]);
  });

  it('are not dropped if they were taken while an undo waited for a lock', async () => {
    await runPhases(database, 5);
    await database.migrate(migration => rollback(migration));
    let exchanged: Promise<unknown> | undefined;
    const holder = new Client(database.connection);
    await holder.connect();
    await holder.query(
      'begin; lock table tenancy.tenant_members in access share mode',
    );
    const undone = database.migrate(migration => rollback(migration, 0), {
      reporter: {
        ...silentReporter,
        waiting: () => {
          exchanged ??= holder.query(
            `drop table tenancy.tenant_members;
             create table tenancy.tenant_members (id int); commit`,
          );
        },
      },
    });
    await expect(undone).rejects.toMatchObject({
      exitCode: EXIT_CODES.refused,
      message: expect.stringContaining('the relation tenant_members'),
    });
    await exchanged;
    await holder.end();
    const { rows } = await database.client.query(
      `select to_regclass('tenant_members') is not null as kept`,
    );
    expect(rows).toEqual([{ kept: true }]);
  });

  it('are never dropped by an undo, whenever they were taken', async () => {
    await runPhases(database, 4);
    await database.client.query(
      `create table entity_terms (id int); insert into entity_terms values (1);
       create table entities_old as select * from entities`,
    );
    await expect(runPhases(database, 5)).rejects.toMatchObject({
      exitCode: EXIT_CODES.refused,
      message: expect.stringContaining(
        'the relation entity_terms, the relation entities_old',
      ),
    });
    await database.migrate(migration => rollback(migration, 0));
    const { rows } = await database.client.query(
      `select (select count(*)::int from entity_terms) as search,
              (select count(*)::int from entities_old) as old`,
    );
    expect(rows).toEqual([{ search: 1, old: 200 }]);
  });

  it('are told from ours after pg_upgrade, which gives functions other ids', async () => {
    await runPhases(database, 5);
    await database.client.query(AFTER_PG_UPGRADE);
    await database.migrate(migration => rollback(migration, 0));
    await database.migrate(
      async migration => expect(await migration.completedSteps()).toEqual([]),
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
