import { createTestDatabases } from '@internal/postgres/testUtils';
import { Client } from 'pg';
import { catalogTemplate } from '../../__testUtils__/catalogTemplate';
import { asLogin } from '../../__testUtils__/roles';
import { stopBefore } from '../../__testUtils__/stopBefore';
import { silentReporter } from '../../Reporter';
import { recordStatement } from '../../engine/journal';
import { readLosses, rollback } from '../../rollback/rollback';
import { addedTable, phasesBefore } from './__testUtils__/addedTable';
import { tenantLimits } from './19_tenant_limits';
import { tenantMembers } from './15_tenant_members';
import { changeLog } from './20_change_log';
import { swap } from './70_swap';

const databases = createTestDatabases();
const TENANT = '00000000-0000-0000-0000-000000000001';

const ADD_MEMBERS = `
  insert into tenants (tenant_slug, tenant_name) values ('acme', 'Acme');
  insert into tenant_members (tenant_id, principal, role, created_by)
  select tenant_id, p, 'member', 'user:default/admin'
    from tenants, unnest(array['user:default/jane', 'group:default/team']) p
   where tenant_slug = 'acme';
  insert into tenant_members (tenant_id, principal, role, created_by)
  values ('${TENANT}', 'user:default/jane', 'admin', 'user:default/admin');`;

describe.each(databases.eachSupportedId())(
  'the members of tenants on %s',
  id => {
    const before = catalogTemplate(databases, id, { phase: 4 });
    const { use, migrated, migratedEarlier, problemsAfter } = addedTable(
      databases,
      id,
      tenantMembers,
    );

    it('are kept in a table that only portal_admin writes to', async () => {
      const { database, query, problems } = await use(migrated);
      await query(ADD_MEMBERS);
      await asLogin(database, 'portal_app', async client => {
        const { rows } = await client.query('select from tenant_members');
        expect(rows).toHaveLength(3);
        await expect(
          client.query('delete from tenant_members'),
        ).rejects.toThrow('permission denied for table tenant_members');
      });
      await expect(
        query(`select pg_get_userbyid(relowner) as owner from pg_class
              where oid = 'tenant_members'::regclass`),
      ).resolves.toEqual([{ owner: 'portal_admin' }]);
      await expect(problems()).resolves.toEqual([]);
    });

    it.each([
      [
        'another role',
        `'user:default/x', 'owner'`,
        'tenant_members_role_check',
      ],
      [
        'a principal twice',
        `'user:default/jane', 'member'`,
        'tenant_members_pkey',
      ],
    ])('are refused with %s', async (_, values, constraint) => {
      const { query } = await use(migrated);
      await query(ADD_MEMBERS);
      await expect(
        query(`insert into tenant_members (tenant_id, principal, role, created_by)
             values ('${TENANT}', ${values}, 'x')`),
      ).rejects.toMatchObject({ constraint });
    });

    it('go with their tenant', async () => {
      const { query } = await use(migrated);
      await query(ADD_MEMBERS);
      await query(`delete from tenants where tenant_slug = 'acme'`);
      await expect(
        query('select principal from tenant_members'),
      ).resolves.toEqual([{ principal: 'user:default/jane' }]);
    });

    it.each([
      [
        'no table',
        'drop table tenant_members',
        /^There is no tenant_members in schema "tenancy": run ".*phase5"/,
      ],
      [
        'no right to read it',
        'revoke select on tenant_members from portal_app',
        /has no SELECT on tenant_members: run "grant select on table tenancy.tenant_members to portal_app"/,
      ],
      [
        'a right to write to it',
        'grant insert on tenant_members to portal_app',
        /has rights on tenant_members .*: run "revoke .* on table tenancy.tenant_members from portal_app"/,
      ],
      [
        'no key',
        'alter table tenant_members drop constraint tenant_members_pkey',
        /^tenant_members has no valid constraint PRIMARY KEY \(tenant_id, principal\)/,
      ],
      [
        'any role',
        'alter table tenant_members drop constraint tenant_members_role_check',
        /^tenant_members has no valid constraint CHECK/,
      ],
    ])('verify finds %s', async (_, sql, problem) => {
      await expect(problemsAfter(sql)).resolves.toContainEqual(
        expect.stringMatching(problem),
      );
    });

    describe('are asked about by the preflight', () => {
      it('where a tenant has none', async () => {
        const { query, warnings } = await use(migrated);
        await query(ADD_MEMBERS);
        await expect(warnings()).resolves.toEqual([]);
        await query(
          `insert into tenants (tenant_slug, tenant_name, deleted_at)
           values ('globex', 'Globex', null), ('gone', 'Gone', now())`,
        );
        await expect(warnings()).resolves.toEqual([
          expect.stringMatching(
            /^1 tenant without members: globex\. .*MULTI_TENANCY_ENABLED=true.*tenancy\.membership/,
          ),
        ]);
      });

      it('where an earlier version has migrated, whose tenants have none', async () => {
        const { query, warnings } = await use(migratedEarlier);
        await query(
          `insert into tenants (tenant_slug, tenant_name) values ('acme', 'Acme')`,
        );
        await expect(warnings()).resolves.toEqual([
          expect.stringMatching(/^There is no .*tenant_members.*phase5/),
          expect.stringMatching(/^1 tenant without members: acme\./),
        ]);
      });
    });

    describe('of a database that an earlier version has migrated', () => {
      it('get their table from phase 5, while tenants write', async () => {
        const { database, problems, exists } = await use(migratedEarlier);
        await expect(problems()).resolves.toEqual([
          expect.stringMatching(/^There is no .*tenant_members.*phase5/),
        ]);
        const writer = new Client(database.connection);
        await writer.connect();
        await writer.query(
          `set search_path = tenancy; set app.tenant_id = '${TENANT}'; begin;
         insert into entities (tenant_id, entity_ref, entity_kind, entity_name, final_entity, hash)
         values ('${TENANT}', 'api:default/new', 'api', 'new', '{}', '')`,
        );
        try {
          // The columns for limits, which a later version added, do wait for the writer.
          await database.migrate(migration => migration.runPhase(5), {
            phases: phasesBefore(tenantLimits),
          });
          await expect(exists('tenant_members')).resolves.toBe(true);
          await expect(
            database.migrate(migration => migration.completedSteps()),
          ).resolves.toContain(tenantMembers.name);
        } finally {
          await writer.query('commit');
          await writer.end();
        }
        await database.migrate(migration => migration.runPhase(5));
        await expect(problems()).resolves.toEqual([]);
      });

      it('are read by the other users that the application connects as', async () => {
        const { database, query } = await use(migratedEarlier);
        const user = `"members ${process.pid} ${id}"`;
        await query(
          `create role ${user}; grant select on entity_parents to ${user}`,
        );
        try {
          await database.migrate(migration => migration.runPhase(5));
          const [{ may }] = await query(
            `select has_table_privilege('${user.replace(
              /"/g,
              '',
            )}', 'tenant_members', 'select') as may`,
          );
          expect(may).toBe(true);
        } finally {
          await query(`drop owned by ${user}; drop role ${user}`);
        }
      });

      it('are not in the way of the way back', async () => {
        const { database, query, exists } = await use(migratedEarlier);
        await query(`create table tenant_members (theirs int)`);
        await database.migrate(migration => rollback(migration));
        await database.migrate(migration => rollback(migration, 4));
        await expect(
          database.migrate(migration => migration.completedPhase()),
        ).resolves.toBe(4);
        // It is somebody else's.
        await expect(exists('tenant_members')).resolves.toBe(true);
      });

      it('do not hide the step in which that version was killed', async () => {
        const { database, query } = await use(before);
        const names = () =>
          query(`select relname as name from pg_class
                where relnamespace = 'tenancy'::regnamespace
                union all
               select tgname from pg_trigger where not tgisinternal order by 1`);
        const found = await names();
        const killed = new Error('killed');
        const kill = database.migrate(
          migration => {
            const { executor } = migration.context;
            const execute = executor.execute.bind(executor);
            executor.execute = async statement => {
              if (statement === recordStatement(changeLog)) {
                throw killed;
              }
              await execute(statement);
            };
            return migration.runPhase(5);
          },
          { phases: phasesBefore(tenantMembers) },
        );
        await expect(kill).rejects.toBe(killed);
        await expect(names()).resolves.not.toEqual(found);
        await database.migrate(migration => rollback(migration, 4));
        await expect(names()).resolves.toEqual(found);
      });
    });

    it('stay where the swap alone is undone, and when it is done again', async () => {
      const { database, query } = await use(migrated);
      await query(ADD_MEMBERS);
      await database.migrate(migration => rollback(migration));
      await expect(query('select from tenant_members')).resolves.toHaveLength(
        3,
      );
      await database.migrate(migration => migration.runPhase(5));
      await expect(query('select from tenant_members')).resolves.toHaveLength(
        3,
      );
    });

    it('go with phase 5 only by force, which says how many they are', async () => {
      const { database, query, exists } = await use(migrated);
      await query(ADD_MEMBERS);
      const error = await database
        .migrate(migration => rollback(migration, 4))
        .catch(e => e);
      expect(error.message).toMatch(
        /^tenant_members holds 3 members of 2 tenants, .* --force/,
      );
      await expect(exists('tenant_members')).resolves.toBe(true);

      const warn = jest.fn();
      const options = {
        settings: { force: true },
        reporter: { ...silentReporter, warn },
      };
      await expect(
        database.migrate(migration => readLosses(migration, 4), options),
      ).resolves.toEqual(['tenant_members: 3 members of 2 tenants']);
      await database.migrate(migration => rollback(migration, 4), options);
      expect(warn).toHaveBeenCalledWith(
        'tenant_members is dropped with 3 members of 2 tenants.',
      );
      await expect(exists('tenant_members')).resolves.toBe(false);
    });

    it('are none before phase 5', async () => {
      const { database, problems, exists } = await use(before);
      await expect(exists('tenant_members')).resolves.toBe(false);
      await expect(problems()).resolves.toEqual([]);
      await stopBefore(database, 5, swap);
      await expect(exists('tenant_members')).resolves.toBe(true);
    });
  },
);
