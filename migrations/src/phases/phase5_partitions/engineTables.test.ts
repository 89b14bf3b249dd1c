import { createTestDatabases } from '@internal/postgres/testUtils';
import { asLogin } from '../../__testUtils__/roles';
import { silentReporter } from '../../Reporter';
import { readLosses, rollback } from '../../rollback/rollback';
import { addedTable } from './__testUtils__/addedTable';
import { tenantEngines } from './16_tenant_engines';
import { engineLeases } from './17_engine_leases';
import { engineStatus } from './18_engine_status';

const databases = createTestDatabases();

const ADD_TENANTS = `
  insert into tenants (tenant_slug, tenant_name) values ('acme', 'Acme'), ('globex', 'Globex');`;

describe.each(databases.eachSupportedId())('on %s', id => {
  describe('the engines of tenants', () => {
    const { use, migrated, migratedEarlier, problemsAfter } = addedTable(
      databases,
      id,
      tenantEngines,
    );
    const ADD_ENGINES = `${ADD_TENANTS}
      insert into tenant_engines (tenant_id, created_by, catalog_config)
      select tenant_id, 'user:default/admin',
             case tenant_slug when 'acme' then '{"catalog":{}}'::jsonb end
        from tenants where tenant_slug in ('acme', 'globex');`;

    it('are kept in a table that the application reads, and only portal_admin writes to', async () => {
      const { database, query, problems } = await use(migrated);
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
      await expect(problems()).resolves.toEqual([]);
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
        /has rights on tenant_engines .*: run "revoke \w+ on table tenancy.tenant_engines from portal_app"/,
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
    ])('verify finds %s', async (_, sql, problem) => {
      await expect(problemsAfter(sql)).resolves.toContainEqual(
        expect.stringMatching(problem),
      );
    });

    it('get their tables from phase 5 in a database that an earlier version has migrated', async () => {
      const { database, problems, warnings } = await use(migratedEarlier);
      await expect(problems()).resolves.toContainEqual(
        expect.stringMatching(
          /^There is no tenant_engines, .*engine_status in schema .*phase5/,
        ),
      );
      await expect(warnings()).resolves.toContainEqual(
        expect.stringMatching(
          /^There is no tenant_engines.* engine_status and .*:/,
        ),
      );
      await database.migrate(migration => migration.runPhase(5));
      await expect(problems()).resolves.toEqual([]);
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
      const { database, query, exists } = await use(migrated);
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
      await expect(exists('tenant_engines')).resolves.toBe(false);
    });
  });

  describe('the leases of engines', () => {
    const { use, migrated, migratedEarlier, problemsAfter } = addedTable(
      databases,
      id,
      engineLeases,
    );
    const ADD_LEASES = `${ADD_TENANTS}
      insert into engine_processes (process_id, name, expires_at)
      values ('00000000-0000-4000-8000-000000000001', 'one', now()),
             ('00000000-0000-4000-8000-000000000002', 'two', now());
      insert into engine_leases (tenant_id, process_id)
      select tenant_id, case tenant_slug when 'acme' then '00000000-0000-4000-8000-000000000001'::uuid
                                         else '00000000-0000-4000-8000-000000000002' end
        from tenants where tenant_slug in ('acme', 'globex');`;

    it('are for portal_admin alone', async () => {
      const { database, query, problems } = await use(migrated);
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
      await expect(problems()).resolves.toEqual([]);
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
        /has rights on engine_leases .*: run "revoke \w+ on table tenancy.engine_leases from portal_app"/,
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
    ])('verify finds %s', async (_, sql, problem) => {
      await expect(problemsAfter(sql)).resolves.toContainEqual(
        expect.stringMatching(problem),
      );
    });

    it('get their tables from phase 5 in a database that an earlier version has migrated', async () => {
      const { database, problems, warnings } = await use(migratedEarlier);
      await expect(problems()).resolves.toContainEqual(
        expect.stringMatching(
          /^There is no engine_processes, engine_leases, .*in schema .*phase5/,
        ),
      );
      await expect(warnings()).resolves.toContainEqual(
        expect.stringMatching(/^There is no .*engine_leases.*:/),
      );
      await database.migrate(migration => migration.runPhase(5));
      await expect(problems()).resolves.toEqual([]);
    });

    it('go with phase 5 without force, since processes take them again', async () => {
      const { database, query, exists } = await use(migrated);
      await query(ADD_LEASES);
      await query(`delete from tenants where tenant_slug = 'acme'`);
      await database.migrate(migration => rollback(migration, 4));
      await expect(exists('engine_leases')).resolves.toBe(false);
      await expect(exists('engine_processes')).resolves.toBe(false);
    });
  });

  describe('the status of engines', () => {
    const { use, migrated, migratedEarlier, problemsAfter } = addedTable(
      databases,
      id,
      engineStatus,
    );
    const ADD_STATUS = `${ADD_TENANTS}
      insert into tenant_engines (tenant_id, created_by, paused_at, paused_by)
      select tenant_id, 'x', now(), 'user:default/admin' from tenants where tenant_slug = 'acme';
      insert into engine_status (tenant_id, state, last_error)
      select tenant_id, 'failed', 'It has no token' from tenants
       where tenant_slug in ('acme', 'globex');`;

    it('is for portal_admin alone, and the application reads which engines are paused', async () => {
      const { database, query, problems } = await use(migrated);
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
      await expect(problems()).resolves.toEqual([]);
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
        /has rights on engine_status .*: run "revoke \w+ on table tenancy.engine_status from portal_app"/,
      ],
      [
        'no key',
        'alter table engine_status drop constraint engine_status_pkey',
        /^engine_status has no valid constraint PRIMARY KEY \(tenant_id\)/,
      ],
    ])('verify finds %s', async (_, sql, problem) => {
      await expect(problemsAfter(sql)).resolves.toContainEqual(
        expect.stringMatching(problem),
      );
    });

    it('gets its table from phase 5 in a database that an earlier version has migrated, and keeps its engines', async () => {
      const { database, query, problems, warnings } = await use(
        migratedEarlier,
      );
      await query(
        `insert into tenants (tenant_slug, tenant_name) values ('acme', 'Acme');
         insert into tenant_engines (tenant_id, created_by)
         select tenant_id, 'x' from tenants where tenant_slug = 'acme'`,
      );
      await expect(problems()).resolves.toContainEqual(
        expect.stringMatching(/^There is no engine_status in schema .*phase5/),
      );
      await expect(warnings()).resolves.toContainEqual(
        expect.stringMatching(/^There is no engine_status and .*:/),
      );
      await database.migrate(migration => migration.runPhase(5));
      await expect(problems()).resolves.toEqual([]);
      await expect(
        query('select paused_at, paused_by from tenant_engines'),
      ).resolves.toEqual([{ paused_at: null, paused_by: null }]);
    });

    it('goes with phase 5, and its columns where the engines are gone before', async () => {
      const { database, query, exists } = await use(migrated);
      await query(`drop table tenant_engines`);
      await database.migrate(migration => rollback(migration, 4));
      await expect(exists('engine_status')).resolves.toBe(false);
    });
  });
});
