import { createTestDatabases } from '@internal/postgres/testUtils';
import type { CatalogDatabase } from '../../__testUtils__/catalogDatabase';
import { catalogTemplate } from '../../__testUtils__/catalogTemplate';
import { asLogin } from '../../__testUtils__/roles';
import { runPhases } from '../../__testUtils__/runPhases';
import { findings, preflight } from '../../preflight/__testUtils__/preflight';
import { rollback } from '../../rollback/rollback';
import { verify } from '../../verify/verify';
import { phases } from '..';
import { engineStatus } from './18_engine_status';

const databases = createTestDatabases({ versions: 'newest' });

/** The phases of the version before this table. */
const EARLIER = phases.map(phase => ({
  ...phase,
  steps: phase.steps.filter(step => step !== engineStatus),
}));

const ADD_STATUS = `
  insert into tenants (tenant_slug, tenant_name) values ('acme', 'Acme'), ('globex', 'Globex');
  insert into tenant_engines (tenant_id, created_by, paused_at, paused_by)
  select tenant_id, 'x', now(), 'user:default/admin' from tenants where tenant_slug = 'acme';
  insert into engine_status (tenant_id, state, last_error)
  select tenant_id, 'failed', 'It has no token' from tenants
   where tenant_slug in ('acme', 'globex');`;

describe.each(databases.eachSupportedId())(
  'the status of engines on %s',
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

    it('is for portal_admin alone, and the application reads which engines are paused', async () => {
      const { database, query } = await use(migrated);
      await query(ADD_STATUS);
      await asLogin(database, 'portal_app', async client => {
        await expect(client.query('select from engine_status')).rejects.toThrow(
          'permission denied for table engine_status',
        );
        const { rows } = await client.query(
          'select paused_by from tenant_engines',
        );
        expect(rows).toEqual([{ paused_by: 'user:default/admin' }]);
      });
      await expect(problemsOf(database)).resolves.toEqual([]);
    });

    it('goes with its tenant', async () => {
      const { query } = await use(migrated);
      await query(ADD_STATUS);
      await query(`delete from tenants where tenant_slug = 'acme'`);
      await expect(query('select from engine_status')).resolves.toHaveLength(1);
    });

    it.each([
      [
        'no table',
        'drop table engine_status',
        /^There is no engine_status in schema "tenancy": run ".*phase5"/,
      ],
      [
        'a right to read it',
        'grant select on engine_status to portal_app',
        /has rights on engine_status, .*: run "revoke all on table tenancy.engine_status from portal_app"/,
      ],
      [
        'no key',
        'alter table engine_status drop constraint engine_status_pkey',
        /^engine_status has no valid constraint PRIMARY KEY \(tenant_id\)/,
      ],
    ])('is missed by verify where there is %s', async (_, sql, problem) => {
      const { database, query } = await use(migrated);
      await query(sql);
      await expect(problemsOf(database)).resolves.toContainEqual(
        expect.stringMatching(problem),
      );
    });

    it('gets its table from phase 5 in a database that an earlier version has migrated, and keeps its engines', async () => {
      const { database, query } = await use(migratedEarlier);
      await query(
        `insert into tenants (tenant_slug, tenant_name) values ('acme', 'Acme');
         insert into tenant_engines (tenant_id, created_by)
         select tenant_id, 'x' from tenants where tenant_slug = 'acme'`,
      );
      await expect(problemsOf(database)).resolves.toEqual([
        expect.stringMatching(/^There is no engine_status in schema .*phase5/),
      ]);
      expect(
        findings(await preflight(database), 'warning', 'members').map(
          ({ message }) => message,
        ),
      ).toContainEqual(expect.stringMatching(/^There is no engine_status:/));
      await database.migrate(migration => migration.runPhase(5));
      await expect(problemsOf(database)).resolves.toEqual([]);
      await expect(
        query('select paused_at, paused_by from tenant_engines'),
      ).resolves.toEqual([{ paused_at: null, paused_by: null }]);
    });

    it('goes with phase 5, and its columns where the engines are gone before', async () => {
      const { database, query } = await use(migrated);
      await query(`drop table tenant_engines`);
      await database.migrate(migration => rollback(migration, 4));
      await expect(
        query(`select to_regclass('engine_status') as found`),
      ).resolves.toEqual([{ found: null }]);
    });
  },
);
