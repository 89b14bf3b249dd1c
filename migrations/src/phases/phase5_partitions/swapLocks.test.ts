import { createTestDatabases, waitUntil } from '@internal/postgres/testUtils';
import { Client } from 'pg';
import type { CatalogDatabase } from '../../__testUtils__/catalogDatabase';
import { createCatalogDatabase } from '../../__testUtils__/catalogDatabase';
import { runPhases } from '../../__testUtils__/runPhases';
import { stopBefore } from '../../__testUtils__/stopBefore';
import { cleanupTransactions } from '../../cleanup/cleanup';
import { EXIT_CODES } from '../../errors';
import { silentReporter } from '../../Reporter';
import type { Reporter } from '../../Reporter';
import type { TenancyMigration } from '../../engine/TenancyMigration';
import { rollback } from '../../rollback/rollback';
import { swap } from './70_swap';

const databases = createTestDatabases();
const TENANT = '00000000-0000-0000-0000-000000000001';
const WRITE = `update refresh_state set errors = '["seen"]' where tenant_id = '${TENANT}'`;

describe.each(databases.eachSupportedId())('the swap on %s', id => {
  const create = () =>
    createCatalogDatabase(databases, id, {
      entities: 20,
      phase: 4,
    });
  let database: CatalogDatabase;
  let other: Client;
  beforeEach(async () => {
    database = await create();
    other = new Client(database.connection);
    await other.connect();
    await other.query('set search_path = tenancy');
  });
  afterEach(async () => {
    await other.end();
    await database.close();
  });

  /** What `onWaiting` resolved to when the swap first had to wait for a lock. */
  async function whileWaiting<T>(
    change: (migration: TenancyMigration) => Promise<unknown>,
    onWaiting: () => Promise<T>,
  ): Promise<T | undefined> {
    let waited: Promise<T> | undefined;
    const reporter = {
      ...silentReporter,
      waiting: () => {
        waited ??= onWaiting();
      },
    };
    await database.migrate(change, { reporter });
    return waited;
  }

  it('fails no READ COMMITTED statement that waits for it, even where it is planned meanwhile', async () => {
    await stopBefore(database, 5, swap);
    const reader = new Client(database.connection);
    await reader.connect();
    await reader.query(`set search_path = tenancy; set role portal_app;
      set app.tenant_id = '${TENANT}'`);
    // Prepared, so that it waits for the table as it was planned with, and is planned
    // anew after that. It names no tenant, whose rows the planner would know.
    const read = () =>
      reader.query({ name: 'read', text: 'select entity_ref from entities' });
    const waitingFor = (count: number) =>
      waitUntil(`${count} sessions to wait for locks`, async () => {
        const { rows } = await database.client.query(
          `select count(distinct pid)::int as count from pg_locks
            where not granted and database = (
              select oid from pg_database where datname = current_database())`,
        );
        return rows[0].count >= count;
      });
    const before = await read();
    // The swap gets the other tables, and waits for the last one.
    await other.query('begin; lock table refresh_state in access share mode');
    let isOver = false;
    const swapped = database
      .migrate(migration => migration.runPhase(5))
      .finally(() => {
        isOver = true;
      });
    const counts = (async () => {
      const found = new Set<number | null>();
      while (!isOver) {
        found.add((await read()).rowCount);
      }
      return found;
    })();
    await waitingFor(2);
    await other.query('commit');
    await swapped;
    await expect(counts).resolves.toEqual(new Set([before.rowCount]));
    await reader.end();
  });

  it('makes no writer wait for whoever reads the tables that are not in use', async () => {
    await runPhases(database, 5);
    await other.query('begin; select count(*) from entities_old');
    const written = await whileWaiting(
      migration => rollback(migration),
      async () => {
        await database.client.query(`set statement_timeout = 5000; ${WRITE}`);
        return other.query('commit');
      },
    );
    expect(written).toBeDefined();
    const { rows } = await database.client.query(
      `select distinct errors from refresh_state`,
    );
    expect(rows).toEqual([{ errors: ['seen'] }]);
  });

  it('is refused where a column was added meanwhile', async () => {
    await stopBefore(database, 5, swap);
    await other.query(`begin; update relations set weight = 2`);
    await expect(
      whileWaiting(
        migration => migration.runPhase(5),
        () => other.query(`alter table relations add column note text; commit`),
      ),
    ).rejects.toThrow('relations_partitioned has no note text');
  });

  it.each([
    ['the swap', 'relations', async () => stopBefore(database, 5, swap)],
    [
      'its undo',
      'relations_tenant_default',
      async () => runPhases(database, 5),
    ],
  ])(
    'is refused where a table was published meanwhile: %s',
    async (what, table, prepare) => {
      await prepare();
      await other.query(
        `begin; update refresh_state set errors = '[]' where tenant_id = '${TENANT}'`,
      );
      await expect(
        whileWaiting(
          migration =>
            what === 'the swap' ? migration.runPhase(5) : rollback(migration),
          () =>
            other.query(`commit; create publication late for table ${table}`),
        ),
      ).rejects.toThrow(/changed a moment ago\. Run the command again/);
    },
  );

  it('carries over a grant that is given while it waits for the tables', async () => {
    await stopBefore(database, 5, swap);
    await database.client.query('create role auditor');
    await other.query('begin; lock table entities in access share mode');
    const swapped = database.migrate(migration => migration.runPhase(5));
    const waitsFor = (mode: string) =>
      waitUntil(`a session to wait for ${mode}`, async () => {
        const { rows } = await database.client.query(
          `select from pg_locks
            where relation = 'entities'::regclass and not granted and mode = $1`,
          [mode],
        );
        return rows.length > 0;
      });
    await waitsFor('AccessExclusiveLock');
    // From PostgreSQL 18 on it waits for the swap, and then finds the new table by its name.
    const grants = new Client(database.connection);
    await grants.connect();
    const granted = grants.query(
      `grant select (entity_ref) on tenancy.entities to auditor`,
    );
    await Promise.race([granted, waitsFor('ShareUpdateExclusiveLock')]);
    await other.query('commit');
    await Promise.all([swapped, granted]);
    await grants.end();
    const { rows } = await database.client.query(
      `select has_column_privilege('auditor', 'entities', 'entity_ref', 'select') as may`,
    );
    expect(rows).toEqual([{ may: true }]);
    await database.client.query('drop owned by auditor; drop role auditor');
  });

  it('is not undone once a cleanup has ended the log of changes', async () => {
    await runPhases(database, 5);
    await database.migrate(async ({ context }) => {
      const [first] = cleanupTransactions(context);
      await context.executor.transaction(first);
    });
    await expect(
      database.migrate(migration => migration.undoFrom(swap)),
    ).rejects.toThrow('The changes of entities are not logged');
  });

  it('is given up by name where writers change more than it may replay', async () => {
    await stopBefore(database, 5, swap);
    // Whatever a replay takes from the log, others have changed by then.
    await database.client.query(
      `create function refill() returns trigger language plpgsql security definer as $$ begin
         insert into tenancy.tenancy_change_log (table_name, key)
         select 'entities', gen_random_uuid() from generate_series(1, 2);
         return null;
       end $$;
       create trigger refill after delete on tenancy_change_log execute function refill();
       insert into tenancy_change_log (table_name, key) values ('entities', gen_random_uuid())`,
    );
    const told: string[][] = [];
    const { now } = performance;
    const clock = jest.spyOn(performance, 'now');
    const reporter: Reporter = {
      ...silentReporter,
      waiting: (_what, _attempts, holders) => {
        told.push(holders);
        clock.mockReturnValue(now.call(performance) + 3_600_000);
      },
    };
    const failure = await database
      .migrate(migration => migration.runPhase(5), {
        reporter,
        settings: { maxPauseMs: 1 },
      })
      .catch(error => error)
      .finally(() => clock.mockRestore());
    expect(told).toEqual([[]]);
    expect(failure).toMatchObject({
      exitCode: EXIT_CODES.lockNotGranted,
      message: expect.stringMatching(
        /in 2 attempts: writers change more than a swap replays within --max-pause\. Give a longer --max-pause than 1 ms\.$/,
      ),
    });
  });
});
