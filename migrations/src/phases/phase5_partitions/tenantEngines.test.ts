import { createTestDatabases } from '@internal/postgres/testUtils';
import type { CatalogDatabase } from '../../__testUtils__/catalogDatabase';
import { catalogTemplate } from '../../__testUtils__/catalogTemplate';
import { asLogin } from '../../__testUtils__/roles';
import { runPhases } from '../../__testUtils__/runPhases';
import { silentReporter } from '../../Reporter';
import { findings, preflight } from '../../preflight/__testUtils__/preflight';
import { readLosses, rollback } from '../../rollback/rollback';
import { verify } from '../../verify/verify';
import { phases } from '..';
import { tenantEngines } from './16_tenant_engines';
import { engineStatus } from './18_engine_status';

const databases = createTestDatabases();

/** The phases of the version before this table. */
const EARLIER = phases.map(phase => ({
  ...phase,
  steps: phase.steps.filter(
    step => step !== tenantEngines && step !== engineStatus,
  ),
}));

const ADD_ENGINES = `
  insert into tenants (tenant_slug, tenant_name) values ('acme', 'Acme'), ('globex', 'Globex');
  insert into tenant_engines (tenant_id, created_by, catalog_config)
  select tenant_id, 'user:default/admin',
         case tenant_slug when 'acme' then '{"catalog":{}}'::jsonb end
    from tenants where tenant_slug in ('acme', 'globex');`;

describe.each(databases.eachSupportedId())(
  'the engines of tenants on %s',
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

    it('are kept in a table that the application reads, and only portal_admin writes to', async () => {
      const { database, query } = await use(migrated);
      await query(ADD_ENGINES);
      await asLogin(database, 'portal_app', async client => {
        const { rows } = await client.query('select from tenant_engines');
        expect(rows).toHaveLength(2);
        await expect(
          client.query(`update tenant_engines set catalog_config = '{}'`),
        ).rejects.toThrow('permission denied for table tenant_engines');
      });
      await expect(
        query(`select pg_get_userbyid(relowner) as owner from pg_class
              where oid = 'tenant_engines'::regclass`),
      ).resolves.toEqual([{ owner: 'portal_admin' }]);
      await expect(problemsOf(database)).resolves.toEqual([]);
    });

    it('go with their tenant', async () => {
      const { query } = await use(migrated);
      await query(ADD_ENGINES);
      await query(`delete from tenants where tenant_slug = 'acme'`);
      await expect(query('select from tenant_engines')).resolves.toHaveLength(
        1,
      );
    });

    it.each([
      [
        'no table',
        'drop table tenant_engines',
        /^There is no tenant_engines in schema "tenancy": run ".*phase5"/,
      ],
      [
        'no right to read it',
        'revoke select on tenant_engines from portal_app',
        /has no SELECT on tenant_engines: run "grant select on table tenancy.tenant_engines to portal_app"/,
      ],
      [
        'a right to write to it',
        'grant update on tenant_engines to portal_app',
        /may write to tenant_engines, .*: run "revoke insert, .* on table tenancy.tenant_engines from portal_app"/,
      ],
      [
        'no key',
        'alter table tenant_engines drop constraint tenant_engines_pkey',
        /^tenant_engines has no valid constraint PRIMARY KEY \(tenant_id\)/,
      ],
      [
        'any configuration',
        'alter table tenant_engines drop constraint tenant_engines_catalog_config_check',
        /^tenant_engines has no valid constraint CHECK/,
      ],
    ])('are missed by verify where there is %s', async (_, sql, problem) => {
      const { database, query } = await use(migrated);
      await query(sql);
      await expect(problemsOf(database)).resolves.toContainEqual(
        expect.stringMatching(problem),
      );
    });

    it('get their table from phase 5 in a database that an earlier version has migrated', async () => {
      const { database } = await use(migratedEarlier);
      await expect(problemsOf(database)).resolves.toEqual([
        expect.stringMatching(
          /^There is no tenant_engines, engine_status in schema .*phase5/,
        ),
      ]);
      expect(
        findings(await preflight(database), 'warning', 'members').map(
          ({ message }) => message,
        ),
      ).toContainEqual(
        expect.stringMatching(
          /^There is no tenant_engines and no engine_status:/,
        ),
      );
      await database.migrate(migration => migration.runPhase(5));
      await expect(problemsOf(database)).resolves.toEqual([]);
    });

    it('stay where the swap alone is undone', async () => {
      const { database, query } = await use(migrated);
      await query(ADD_ENGINES);
      await database.migrate(migration => rollback(migration));
      await expect(query('select from tenant_engines')).resolves.toHaveLength(
        2,
      );
    });

    it('go with phase 5 only by force, which says what is lost', async () => {
      const { database, query } = await use(migrated);
      await query(ADD_ENGINES);
      const LOST = 'the engines of 2 tenants, 1 with a configuration';
      await expect(
        database.migrate(migration => rollback(migration, 4)),
      ).rejects.toThrow(`tenant_engines holds ${LOST}, which undoing phase 5`);
      await expect(query('select from tenant_engines')).resolves.toHaveLength(
        2,
      );

      const warn = jest.fn();
      const options = {
        settings: { force: true },
        reporter: { ...silentReporter, warn },
      };
      await expect(
        database.migrate(migration => readLosses(migration, 4), options),
      ).resolves.toEqual([`tenant_engines: ${LOST}`]);
      await database.migrate(migration => rollback(migration, 4), options);
      expect(warn).toHaveBeenCalledWith(
        `tenant_engines is dropped with ${LOST}.`,
      );
      await expect(
        query(`select to_regclass('tenant_engines') as found`),
      ).resolves.toEqual([{ found: null }]);
    });
  },
);
