import { createTestDatabases } from '@internal/postgres/testUtils';
import { forEachTest } from '../../__testUtils__/forEachTest';
import { createCatalogDatabase } from '../../__testUtils__/catalogDatabase';
import { stopBefore } from '../../__testUtils__/stopBefore';
import { silentReporter } from '../../Reporter';
import { EXIT_CODES } from '../../errors';
import { APPLICATION_PREFIX } from '../../session/operatorLock';
import { copyRows } from './30_copy';

const databases = createTestDatabases();

// Enough for several batches of each table.
const ENTITIES = 1000;

describe.each(databases.eachSupportedId())('the copy on %s', id => {
  const database = forEachTest(() =>
    createCatalogDatabase(databases, id, {
      entities: ENTITIES,
      phase: 4,
    }),
  );

  const query = async (sql: string) => (await database.client.query(sql)).rows;
  const runPhase5 = (
    onBatch?: (what: string, batches: number, rows: number) => void,
  ) =>
    database.migrate(migration => migration.runPhase(5), {
      settings: { batchSize: 200 },
      reporter: {
        ...silentReporter,
        progress: what => {
          let batches = 0;
          return {
            advance: rows => {
              batches += 1;
              onBatch?.(what, batches, rows);
            },
            finish: () => undefined,
          };
        },
      },
    });

  /** Ends the session of the migration, as a server that dies would. */
  const endSession = () =>
    query(
      `select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()
          and application_name like '${APPLICATION_PREFIX} %'`,
    );

  async function expectEqualSides() {
    for (const table of ['entities', 'relations', 'refresh_state']) {
      const [{ differing }] = await query(
        `select count(*)::int as differing
           from ((table ${table} except all table ${table}_old)
                 union all (table ${table}_old except all table ${table})) d`,
      );
      expect([table, differing]).toEqual([table, 0]);
    }
  }

  it('goes on after the batches that are done when the session is lost', async () => {
    await stopBefore(database, 5, copyRows);
    // The server ends it in the middle of a batch: what the test would send from outside may
    // come when the copy is done.
    await query(`
      create function end_in_third_batch() returns trigger language plpgsql as $$ begin
        if (select count(*) from entities_tenant_default) > 400 then
          perform pg_terminate_backend(pg_backend_pid());
        end if;
        return null;
      end $$;
      create trigger end_in_third_batch after insert on entities_partitioned
        for each statement execute function end_in_third_batch()`);
    await expect(runPhase5()).rejects.toMatchObject({
      exitCode: EXIT_CODES.connectionLost,
    });
    await query('drop function end_in_third_batch cascade');
    const [{ copied }] = await query(
      'select count(*)::int as copied from entities_tenant_default',
    );
    expect(copied).toBeGreaterThan(0);
    expect(copied).toBeLessThan(ENTITIES);

    let copiedLater = 0;
    await runPhase5((what, _, rows) => {
      copiedLater += what === 'Copy entities' ? rows : 0;
    });
    expect(copiedLater).toBe(ENTITIES - copied);
    await expectEqualSides();
  });

  it('begins again when the table was rewritten in between', async () => {
    await expect(
      runPhase5((what, count) => {
        if (what === 'Copy relations' && count === 3) {
          endSession();
        }
      }),
    ).rejects.toMatchObject({ exitCode: EXIT_CODES.connectionLost });
    // Other rows come to stand in the blocks that are copied already.
    await query(
      `set row_security = off; delete from relations where source_entity_ref like '%5'`,
    );
    await query('vacuum full relations');
    await runPhase5();
    await expectEqualSides();
  });

  it('catches up with rows that have moved, changed, come and gone meanwhile', async () => {
    await stopBefore(database, 5, copyRows);
    await runUntilCaughtUp(async () => {
      await query(`
        update entities set hash = repeat('moved', 20) where entity_name like '%7';
        delete from entities where entity_name like '%8';
        insert into entities (tenant_id, entity_ref, entity_kind, entity_name, final_entity, hash)
        select '00000000-0000-0000-0000-000000000001', 'api:default/late-' || i, 'api',
               'late-' || i, '{}', '' from generate_series(1, 300) i;
        update relations set weight = 3 where type = 'ownedBy' and source_entity_ref like '%9';
        update refresh_state set location_key = location_key || 'x' where location_key like '%6'`);
    });
    await runPhase5();
    await expectEqualSides();
    await expect(
      query(
        `select count(*)::int as late from entities where entity_name ~ '^late-'`,
      ),
    ).resolves.toEqual([{ late: 300 }]);
  });

  /** Runs the copy, with changes in the middle of it. */
  async function runUntilCaughtUp(change: () => Promise<void>) {
    let changed: Promise<void> | undefined;
    await expect(
      runPhase5((what, count) => {
        if (what === 'Copy entities' && count === 3) {
          changed = change();
        }
        if (what === 'Copy refresh_state' && count === 2) {
          endSession();
        }
      }),
    ).rejects.toMatchObject({ exitCode: EXIT_CODES.connectionLost });
    await changed;
  }

  it('is refused while the tables hold rows of other tenants', async () => {
    await query(`
      alter table entities drop constraint entities_one_tenant_check;
      insert into tenants (tenant_id, tenant_slug, tenant_name)
      values ('00000000-0000-0000-0000-0000000000aa', 'acme', 'ACME');
      insert into entities (tenant_id, entity_ref, entity_kind, entity_name, final_entity, hash)
      values ('00000000-0000-0000-0000-0000000000aa', 'api:default/x', 'api', 'x', '{}', '')`);
    await expect(runPhase5()).rejects.toThrow(
      'The tables are not kept to the default tenant before the swap',
    );
  });
});
