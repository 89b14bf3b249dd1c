import { createTestDatabases } from '@internal/postgres/testUtils';
import type { CatalogDatabase } from '../../__testUtils__/catalogDatabase';
import { catalogTemplate } from '../../__testUtils__/catalogTemplate';
import { asLogin } from '../../__testUtils__/roles';
import { runPhases } from '../../__testUtils__/runPhases';
import { findings, preflight } from '../../preflight/__testUtils__/preflight';
import { rollback } from '../../rollback/rollback';
import { verify } from '../../verify/verify';
import { phases } from '..';
import { engineLeases } from './17_engine_leases';

const databases = createTestDatabases();

/** The phases of the version before these tables. */
const EARLIER = phases.map(phase => ({
  ...phase,
  steps: phase.steps.filter(step => step !== engineLeases),
}));

const ADD_LEASES = `
  insert into tenants (tenant_slug, tenant_name) values ('acme', 'Acme'), ('globex', 'Globex');
  insert into engine_processes (process_id, name, expires_at)
  values ('00000000-0000-4000-8000-000000000001', 'one', now()),
         ('00000000-0000-4000-8000-000000000002', 'two', now());
  insert into engine_leases (tenant_id, process_id)
  select tenant_id, case tenant_slug when 'acme' then '00000000-0000-4000-8000-000000000001'::uuid
                                     else '00000000-0000-4000-8000-000000000002' end
    from tenants where tenant_slug in ('acme', 'globex');`;

describe.each(databases.eachSupportedId())(
  'the leases of engines on %s',
  id => {
    const migrated = catalogTemplate(databases, id, { phase: 5 });
    const migratedEarlier = catalogTemplate(databases, id, {
      phase: 4,
      prepare: database => runPhases(database, 5, { phases: EARLIER }),
    });
    const open: CatalogDatabase[] = [];
    afterEach(() => Promise.all(open.splice(0).map(each => each.close())));

    async function use(create: () => Promise<CatalogDatabase>) {
      const database = await create();
      open.push(database);
      const query = async (sql: string) =>
        (await database.client.query(sql)).rows;
      return { database, query };
    }

    const problemsOf = async (database: CatalogDatabase) => {
      const { checks } = await database.migrate(verify, { mode: 'read' });
      return checks.flatMap(({ problems }) => problems);
    };

    it('are for portal_admin alone', async () => {
      const { database, query } = await use(migrated);
      await query(ADD_LEASES);
      await asLogin(database, 'portal_app', async client => {
        for (const table of ['engine_processes', 'engine_leases']) {
          await expect(client.query(`select from ${table}`)).rejects.toThrow(
            `permission denied for table ${table}`,
          );
        }
      });
      await expect(
        query(`select distinct pg_get_userbyid(relowner) as owner from pg_class
                where oid in ('engine_processes'::regclass, 'engine_leases'::regclass)`),
      ).resolves.toEqual([{ owner: 'portal_admin' }]);
      await expect(problemsOf(database)).resolves.toEqual([]);
    });

    it('go with their tenant and with their process', async () => {
      const { query } = await use(migrated);
      await query(ADD_LEASES);
      await query(`delete from tenants where tenant_slug = 'acme'`);
      const left = () => query('select from engine_leases');
      await expect(left()).resolves.toHaveLength(1);
      await query(`delete from engine_processes where name = 'two'`);
      await expect(left()).resolves.toHaveLength(0);
    });

    it.each([
      [
        'no table',
        'drop table engine_leases',
        /^There is no engine_leases in schema "tenancy": run ".*phase5"/,
      ],
      [
        'a right to read them',
        'grant select on engine_leases to portal_app',
        /has rights on engine_leases, .*: run "revoke all on table tenancy.engine_leases from portal_app"/,
      ],
      [
        'no key',
        'alter table engine_leases drop constraint engine_leases_pkey',
        /^engine_leases has no valid constraint PRIMARY KEY \(tenant_id\)/,
      ],
      [
        'leases without a process',
        'alter table engine_leases drop constraint engine_leases_process_id_fkey',
        /^engine_leases has no valid constraint FOREIGN KEY \(process_id\)/,
      ],
    ])('are missed by verify where there is %s', async (_, sql, problem) => {
      const { database, query } = await use(migrated);
      await query(sql);
      await expect(problemsOf(database)).resolves.toContainEqual(
        expect.stringMatching(problem),
      );
    });

    it('get their tables from phase 5 in a database that an earlier version has migrated', async () => {
      const { database } = await use(migratedEarlier);
      await expect(problemsOf(database)).resolves.toContainEqual(
        expect.stringMatching(
          /^There is no engine_processes, engine_leases in schema .*phase5/,
        ),
      );
      expect(
        findings(await preflight(database), 'warning', 'members').map(
          ({ message }) => message,
        ),
      ).toContainEqual(expect.stringMatching(/^There is no engine_leases:/));
      await database.migrate(migration => migration.runPhase(5));
      await expect(problemsOf(database)).resolves.toEqual([]);
    });

    it('go with phase 5 without force, since processes take them again', async () => {
      const { database, query } = await use(migrated);
      await query(ADD_LEASES);
      await query(`delete from tenants where tenant_slug = 'acme'`);
      await database.migrate(migration => rollback(migration, 4));
      await expect(
        query(
          `select to_regclass('engine_leases') as leases, to_regclass('engine_processes') as processes`,
        ),
      ).resolves.toEqual([{ leases: null, processes: null }]);
    });
  },
);
