import { createTestDatabases, withClient } from '@internal/postgres/testUtils';
import type { CatalogDatabase } from '../__testUtils__/catalogDatabase';
import { createCatalogDatabase } from '../__testUtils__/catalogDatabase';
import { asLogin } from '../__testUtils__/roles';
import { runPhases } from '../__testUtils__/runPhases';
import { stopBefore } from '../__testUtils__/stopBefore';
import type { ProductMigration } from '../engine/Step';
import { OtherOperatorError } from '../errors';
import { upgrade } from '../migrateTo';
import { phases } from '../phases';
import { silentReporter } from '../Reporter';
import { readLosses } from '../rollback/losses';
import { rollback } from '../rollback/rollback';
import { DEFAULT_TENANT_ID } from '../schema/tables';
import { MigrationSession } from '../session/MigrationSession';
import {
  applicationName,
  takeOperatorLock,
  UPGRADE,
} from '../session/operatorLock';
import { verify } from '../verify/verify';
import { PRODUCT_MIGRATIONS, PRODUCT_TABLES } from './migrations';

const databases = createTestDatabases();

const NAMES = PRODUCT_MIGRATIONS.map(({ name }) => name);
const PROCESS = '00000000-0000-4000-8000-000000000001';

/** Rows in all of the tables, of two tenants. */
const FILL = `
  insert into tenants (tenant_slug, tenant_name, concurrency, burst)
  values ('acme', 'Acme', 1, null), ('globex', 'Globex', null, 200);
  insert into tenant_members (tenant_id, principal, role, created_by)
  select tenant_id, 'user:default/jane', 'member', 'x' from tenants;
  insert into tenant_engines (tenant_id, created_by, catalog_config)
  select tenant_id, 'x', case tenant_slug when 'acme' then '{"catalog":{}}'::jsonb end
    from tenants where tenant_slug <> 'default';
  insert into engine_processes (process_id, name, expires_at) values ('${PROCESS}', 'one', now());
  insert into engine_leases (tenant_id, process_id)
  select tenant_id, '${PROCESS}' from tenants where tenant_slug <> 'default';
  insert into engine_status (tenant_id, state)
  select tenant_id, 'failed' from tenants where tenant_slug <> 'default';`;

/** The phases of a version whose product has other migrations. */
function phasesWith(productMigrations: readonly ProductMigration[]) {
  return phases.map(phase =>
    phase.productMigrations ? { ...phase, productMigrations } : phase,
  );
}

describe.each(databases.eachSupportedId())('the product tables on %s', id => {
  const beforePhase5 = () => createCatalogDatabase(databases, id, { phase: 4 });
  const migrated = () => createCatalogDatabase(databases, id, { phase: 5 });
  /** Phase 5 by a version that had none of the tables. */
  const migratedEarlier = () =>
    createCatalogDatabase(databases, id, {
      phase: 4,
      prepare: each => runPhases(each, 5, { phases: phasesWith([]) }),
    });

  let database: CatalogDatabase;
  const use = async (create: () => Promise<CatalogDatabase>) => {
    database = await create();
  };
  afterEach(() => database.close());

  const openSession = (name: string) =>
    MigrationSession.open({
      connection: database.connection,
      schema: 'tenancy',
      applicationName: name,
    });
  const query = async (sql: string) => (await database.client.query(sql)).rows;
  const exists = async (table: string) => {
    const [{ found }] = await query(
      `select to_regclass('${table}') is not null as found`,
    );
    return found;
  };
  const recorded = async () => {
    const rows = await query(
      'select name from tenancy_migrations order by name collate "C"',
    );
    return rows
      .map(({ name }) => name)
      .filter(name => NAMES.includes(name) || name.startsWith('5_1'));
  };
  const problems = async () => {
    const { checks } = await database.migrate(verify, { mode: 'read' });
    return checks.flatMap(each => each.problems);
  };

  describe('after phase 5', () => {
    beforeEach(() => use(migrated));

    it('are read by the application where it needs to, and written by portal_admin alone', async () => {
      await query(FILL);
      await asLogin(database, 'portal_app', async client => {
        await client.query(`set app.tenant_id = '${DEFAULT_TENANT_ID}'`);
        const read = await Promise.all(
          PRODUCT_TABLES.map(async ({ name, policy }) => ({
            name,
            policy,
            read: await client.query(`select from ${name}`).then(
              () => true,
              () => false,
            ),
          })),
        );
        expect(read).toEqual(PRODUCT_TABLES);
        for (const { name } of PRODUCT_TABLES) {
          await expect(client.query(`delete from ${name}`)).rejects.toThrow(
            `permission denied for table ${name}`,
          );
        }
        const { rows } = await client.query(
          'select burst from tenants order by tenant_slug',
        );
        expect(rows.map(({ burst }) => burst)).toEqual([null, null, 200]);
      });
      await expect(problems()).resolves.toEqual([]);
    });

    it('show the application the audit trail of the tenant that is set, and of no other', async () => {
      await query(FILL);
      await query(
        `insert into tenant_audit (tenant_id, event_id, at, plugin, event, severity)
         select tenant_id, gen_random_uuid(), now(), 'tenants', tenant_slug, 'medium' from tenants`,
      );
      await asLogin(database, 'portal_app', async client => {
        await expect(client.query('select from tenant_audit')).rejects.toThrow(
          'permission denied for table tenant_audit',
        );
        await client.query(
          `select set_config('app.tenant_id', tenant_id::text, false)
             from tenants where tenant_slug = 'acme'`,
        );
        const { rows } = await client.query('select event from tenant_audit');
        expect(rows).toEqual([{ event: 'acme' }]);
      });
    });

    it('lose the rows of a tenant, and of a process, that goes', async () => {
      await query(FILL);
      const counts = async () => {
        const [row] = await query(
          `select (select count(*)::int from tenant_members) as members,
                  (select count(*)::int from tenant_engines) as engines,
                  (select count(*)::int from engine_leases) as leases,
                  (select count(*)::int from engine_status) as status`,
        );
        return Object.values(row);
      };
      await query(`delete from tenants where tenant_slug = 'acme'`);
      await expect(counts()).resolves.toEqual([2, 1, 1, 1]);
      await query('delete from engine_processes');
      await expect(counts()).resolves.toEqual([2, 1, 0, 1]);
    });

    it.each([
      [
        'drop table tenant_members',
        /^There is no tenant_members in schema "tenancy": run ".*upgrade"/,
      ],
      [
        'revoke select on tenant_engines from portal_app',
        /has no SELECT on tenant_engines: run "grant select on table tenancy.tenant_engines to portal_app"/,
      ],
      [
        'grant insert on tenant_members to portal_app',
        /has rights on tenant_members .*: run "revoke .* on table tenancy.tenant_members from portal_app"/,
      ],
      [
        'alter table tenant_members drop constraint tenant_members_role_check',
        /^tenant_members has no valid constraint tenant_members_role_check/,
      ],
      [
        'alter table engine_leases drop constraint engine_leases_process_id_fkey',
        /^engine_leases has no valid constraint engine_leases_process_id_fkey/,
      ],
      [
        'alter table tenants drop column burst, drop column concurrency',
        /^tenants has no column concurrency of type integer, nullable: run ".*upgrade"/,
      ],
    ])('are verified: %s', async (sql, problem) => {
      await query(sql);
      await expect(problems()).resolves.toContainEqual(
        expect.stringMatching(problem),
      );
    });

    it('stay where the swap alone is undone, and go with phase 5 only by force', async () => {
      await query(FILL);
      await database.migrate(migration => rollback(migration));
      await expect(query('select from tenant_members')).resolves.toHaveLength(
        3,
      );
      await database.migrate(migration => migration.runPhase(5));
      const losses = [
        'tenant_members: 3 rows',
        'tenant_engines: 2 rows',
        'concurrency of tenants: 1 row',
        'burst of tenants: 1 row',
      ];
      await expect(
        database.migrate(migration => readLosses(migration, 4)),
      ).resolves.toEqual(losses);
      await expect(
        database.migrate(migration => rollback(migration, 4)),
      ).rejects.toThrow(
        `These would be lost:\n- ${losses.join('\n- ')}\nGive --force`,
      );
      await expect(recorded()).resolves.toEqual(expect.arrayContaining(NAMES));
      await database.migrate(migration => rollback(migration, 4), {
        settings: { force: true },
      });
      await expect(recorded()).resolves.toEqual([]);
      await expect(exists('tenant_members')).resolves.toBe(false);
      const [tenant] = await query('select * from tenants');
      expect(Object.keys(tenant)).not.toContain('burst');
      await database.migrate(migration => migration.runPhase(5));
      await expect(problems()).resolves.toEqual([]);
    });
  });

  describe('of a version that has one more', () => {
    const MORE: ProductMigration = {
      name: '99_more',
      title: 'Add a column',
      locks: 'ACCESS EXCLUSIVE on tenant_members, for a change of the catalog.',
      tables: ['tenant_members'],
      sql: `alter table tenant_members add column more int;
            create table more (id int constraint more_pkey primary key);`,
      creates: { tables: { more: { read: true } } },
    };
    const later = { phases: phasesWith([...PRODUCT_MIGRATIONS, MORE]) };
    beforeEach(() => use(migrated));

    it('get it in one transaction, with its record', async () => {
      const failing = {
        ...MORE,
        sql: `${MORE.sql} select 1 / 0;`,
      };
      await expect(
        database.migrate(migration => migration.upgrade(), {
          phases: phasesWith([...PRODUCT_MIGRATIONS, failing]),
        }),
      ).rejects.toThrow('division by zero');
      await expect(exists('more')).resolves.toBe(false);
      await expect(
        database.migrate(migration => migration.upgrade(), later),
      ).resolves.toEqual(['Add a column']);
      await expect(
        database.migrate(migration => migration.upgrade(), later),
      ).resolves.toEqual([]);
    });

    it('refuse its name where it is taken', async () => {
      await query('create table more (theirs int)');
      await expect(
        database.migrate(migration => migration.upgrade(), later),
      ).rejects.toMatchObject({
        exitCode: 3,
        message: expect.stringContaining('the relation more'),
      });
      await database.migrate(migration => rollback(migration), later);
      await database.migrate(migration => rollback(migration, 0), later);
      await expect(exists('more')).resolves.toBe(true);
    });

    it('are refused to a version before it, which does not know it', async () => {
      await database.migrate(migration => migration.upgrade(), later);
      await expect(
        database.migrate(migration => rollback(migration, 4)),
      ).rejects.toThrow('This version does not know the recorded step 99_more');
    });
  });

  describe('of a database that a version without them has migrated', () => {
    beforeEach(() => use(migratedEarlier));

    it('are made by one of several processes, for which the others wait', async () => {
      const done = await Promise.all([1, 2, 3].map(() => upgrade(database)));
      expect(done.flat()).toEqual(PRODUCT_MIGRATIONS.map(({ title }) => title));
      await expect(problems()).resolves.toEqual([]);
    });

    it.each([
      [UPGRADE, 'taken'],
      ['phase5', 'refused'],
    ])(
      'while %s is at work, the lock is %s after a while',
      async (command, outcome) => {
        const holder = await openSession(applicationName(command));
        const other = await openSession(applicationName('phase5'));
        await takeOperatorLock(holder, 'tenancy');
        let pauses = 0;
        const taken = takeOperatorLock(
          {
            query: (sql, values) => other.query(sql, values),
            pause: async () => {
              pauses += 1;
              if (pauses === 20) {
                await holder.close();
              }
            },
          },
          'tenancy',
        );
        await expect(
          taken.then(
            () => 'taken',
            error => error instanceof OtherOperatorError && 'refused',
          ),
        ).resolves.toBe(outcome);
        await holder.close();
        await other.close();
      },
    );

    it('are read by the other users that the application connects as', async () => {
      const user = `"members ${process.pid} ${id}"`;
      await query(
        `create role ${user}; grant select on entity_parents to ${user}`,
      );
      try {
        await upgrade(database);
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

    it('come between the transactions of writers, who do not wait for the longest of them', async () => {
      const insert = (name: string) =>
        `insert into entities (tenant_id, entity_ref, entity_kind, entity_namespace,
                               entity_name, final_entity, hash)
         values ('${DEFAULT_TENANT_ID}', 'component:default/${name}', 'component', 'default',
                 '${name}', '{}', 'x')`;
      await withClient(database.connection, async writer => {
        // Its foreign key has locked the row of the tenant, and with that the table.
        await writer.query(
          `set search_path = tenancy; begin; ${insert('long')}`,
        );
        let isHeldUp = () => {};
        const heldUp = new Promise<void>(resolve => (isHeldUp = resolve));
        const done = upgrade({
          ...database,
          reporter: { ...silentReporter, waiting: isHeldUp },
        });
        await Promise.race([heldUp, done]);
        for (const name of ['short', 'shorter']) {
          await query(insert(name));
        }
        await writer.query('commit');
        await done;
      });
      await expect(
        query(`select from entities where hash = 'x'`),
      ).resolves.toHaveLength(3);
    });

    it('are not in the way of the way back, and another table of the name stays', async () => {
      await query('create table tenant_members (theirs int)');
      await database.migrate(migration => rollback(migration));
      await database.migrate(migration => rollback(migration, 4));
      await expect(exists('tenant_members')).resolves.toBe(true);
    });
  });

  describe('before phase 5', () => {
    beforeEach(() => use(beforePhase5));

    it('are not there, and no upgrade makes them', async () => {
      await expect(problems()).resolves.toEqual([]);
      await expect(upgrade(database)).resolves.toEqual([]);
      await expect(
        database.migrate(migration => migration.upgrade()),
      ).rejects.toMatchObject({
        exitCode: 3,
        message: expect.stringMatching(/^Phase 5 is not complete.*phase5"/),
      });
    });

    it('go where a phase 5 that was killed before its first step is undone', async () => {
      await stopBefore(database, 5, phases[4].steps[0]);
      await expect(exists('tenant_members')).resolves.toBe(true);
      await database.migrate(migration => rollback(migration));
      await expect(exists('tenant_members')).resolves.toBe(false);
      await expect(recorded()).resolves.toEqual([]);
    });
  });
});

it('numbers its migrations in their order', () => {
  expect(NAMES.map(name => Number(name.slice(0, 2)))).toEqual(
    NAMES.map((_, index) => index + 1),
  );
});
