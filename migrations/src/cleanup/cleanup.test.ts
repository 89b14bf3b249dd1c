import { createTestDatabases } from '@internal/postgres/testUtils';
import { forAllTests } from '../__testUtils__/forEachTest';
import { createCatalogDatabase } from '../__testUtils__/catalogDatabase';
import { runPhases } from '../__testUtils__/runPhases';
import { rollback } from '../rollback/rollback';
import { verify } from '../verify/verify';
import { cleanup, cleanupTransactions } from './cleanup';

const databases = createTestDatabases();

describe.each(databases.eachSupportedId())('the cleanup on %s', id => {
  const database = forAllTests(() =>
    createCatalogDatabase(databases, id, {
      entities: 40,
      phase: 4,
    }),
  );

  const query = async (sql: string) => (await database.client.query(sql)).rows;

  const clean = (force = false) =>
    database.migrate(({ context }) => cleanup(context), {
      settings: { force },
    });

  /** Lets time pass for the migration. */
  const swapHoursAgo = (hours: number) =>
    query(
      `update tenancy_migration_state
          set value = value || jsonb_build_object('at', now() - interval '${hours} hours')
        where key = 'swap'`,
    );

  /** What only serves the way back. */
  const leftovers = async () => {
    const rows = await query(
      `select relname as name from pg_class
        where relnamespace = 'tenancy'::regnamespace
          and relname ~ '_old$|change_log|without_tenant|partitioned_archive'
       union all
       select tgname from pg_trigger where tgname ~ '^tenancy_'
       union all
       select policyname from pg_policies where policyname ~ 'fence'
       union all
       select proname from pg_proc where pronamespace = 'tenancy'::regnamespace
          and proname ~ '^tenancy_'`,
    );
    return rows.map(({ name }) => name);
  };

  it('is refused before the swap', async () => {
    await expect(clean(true)).rejects.toThrow(
      'The partitioned tables are not in use',
    );
  });

  it('is refused within 24 hours of the swap', async () => {
    await runPhases(database, 5);
    await swapHoursAgo(23.9);
    await expect(clean()).rejects.toThrow(
      'The tables were swapped 23.9 hours ago, and the old ones are the way back for 24 hours',
    );
    await expect(
      query(`select 1 from entities_old limit 1`),
    ).resolves.toHaveLength(1);
  });

  it('counts the 24 hours from the last swap, not from the first', async () => {
    await swapHoursAgo(30);
    await database.migrate(migration => rollback(migration));
    await expect(clean(true)).rejects.toThrow('are not in use');
    await runPhases(database, 5);
    await expect(clean()).rejects.toThrow('were swapped 0.0 hours ago');
  });

  it('is refused while something hangs on the old tables, and changes nothing', async () => {
    await swapHoursAgo(25);
    await query(
      `create function newest() returns text stable
         begin atomic select max(entity_ref) from entities_old; end`,
    );
    await expect(clean()).rejects.toThrow(
      'would drop or empty: function newest(). Drop them',
    );
    await expect(leftovers()).resolves.toContain('tenancy_change_log');
    await query('drop function newest()');
  });

  it('that was stopped leaves no way back, which is refused before it begins', async () => {
    await database.migrate(async ({ context }) => {
      await context.executor.transaction(cleanupTransactions(context)[0]);
    });
    await query(`update entities set hash = 'later'`);
    const END =
      'Changes of entities are not logged any more: a cleanup was begun. Run "';
    await expect(
      database.migrate(migration => rollback(migration)),
    ).rejects.toThrow(END);
    await expect(leftovers()).resolves.toContain('entities_old');
    await expect(query('select from tenancy_ready')).resolves.toEqual([]);
    await expect(
      database.migrate(async migration =>
        (await verify(migration)).checks.flatMap(({ problems }) => problems),
      ),
    ).resolves.toEqual([expect.stringContaining(END)]);
  });

  it('drops the old tables and all that served the way back, and nothing else', async () => {
    const before = await query('select count(*) from entities');
    await expect(clean()).resolves.toBe(true);
    await expect(leftovers()).resolves.toEqual([]);
    await expect(query('select count(*) from entities')).resolves.toEqual(
      before,
    );
    await query(
      `insert into entities (tenant_id, entity_ref, entity_kind, entity_name, final_entity, hash)
       values ('00000000-0000-0000-0000-000000000001', 'api:default/x', 'api', 'x', '{}', '');
       insert into refresh_state (tenant_id, entity_id)
       select tenant_id, entity_id from entities where entity_name = 'x'`,
    );
  });

  it('has nothing to do a second time', async () => {
    await expect(clean()).resolves.toBe(false);
  });

  it('leaves no way back, and says so', async () => {
    await expect(
      database.migrate(migration => rollback(migration)),
    ).rejects.toThrow('entities_old is gone');
  });
});
