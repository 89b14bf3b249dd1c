import { createTestDatabases, waitUntil } from '@internal/postgres/testUtils';
import { Client } from 'pg';
import { connectionOf } from '../__testUtils__/roles';
import { LiveTraffic } from '../liveTraffic/__testUtils__/LiveTraffic';
import { sizesFromEnvironment } from '../liveTraffic/__testUtils__/sizes';
import { silentReporter } from '../Reporter';
import type { Reporter } from '../Reporter';
import { DEFAULT_TENANT_ID } from '../schema/tables';
import { MigrationSession } from '../session/MigrationSession';
import { givePartition, takeBackPartition } from './move';
import type { PartitionResult } from './move';
import { describeTenants, OTHER, TEAM } from './__testUtils__/tenants';

const databases = createTestDatabases();

const sizes = {
  ...sizesFromEnvironment(),
  writers: 2,
  entitiesPerWriter: 20,
  bigTransaction: 50,
  longestHoldMs: 200,
};

describe.each(databases.eachSupportedId())('live moves on %s', id => {
  const { database, query } = describeTenants(databases, id);

  /**
   * Gives my-team its partitions. As the command has replayed the log for the first time
   * and is about to lock the partitions for the switch to the mirroring triggers, another
   * transaction writes there; it commits once the command waits for its lock.
   */
  async function giveWhile(
    write: string,
    reporter: Partial<Reporter>,
  ): Promise<PartitionResult> {
    const writer = new Client(database().connection);
    await writer.connect();
    await writer.query('set search_path = tenancy');
    const { rows } = await writer.query('select pg_backend_pid() as pid');
    let written = false;
    const original = MigrationSession.prototype.query;
    const spy = jest
      .spyOn(MigrationSession.prototype, 'query')
      .mockImplementation(async function interposed<Row>(
        this: MigrationSession,
        text: string,
        values?: unknown[],
      ): Promise<Row[]> {
        const run = () => original.call(this, text, values) as Promise<Row[]>;
        if (written || !text.includes('$mirror$')) {
          return run();
        }
        written = true;
        await writer.query(`begin; ${write}`);
        const switched = run();
        // Awaited below, where a failure before that is thrown.
        switched.catch(() => undefined);
        await waitUntil('the command to wait for the writer', () =>
          query(`select from pg_locks
            where not granted and mode = 'ShareRowExclusiveLock'
              and ${rows[0].pid} = any (pg_blocking_pids(pid))`).then(
            ({ length }) => length,
          ),
        );
        await writer.query('commit');
        return switched;
      });
    try {
      return await database().migrate(
        ({ context }) =>
          givePartition(context, 'my-team', { patienceMs: 60_000 }),
        {
          // The request outlasts the wait for the writer.
          settings: { maxPauseMs: 600_000 },
          reporter: { ...silentReporter, ...reporter },
        },
      );
    } finally {
      spy.mockRestore();
      expect(written).toBe(true);
      await writer.end();
    }
  }

  it('keep a write that commits between the last replay and the lock', async () => {
    const comparisons: string[] = [];
    await expect(
      giveWhile(
        `
        update entities set hash = 'late' where tenant_id = '${TEAM}' and entity_name = 'part-1';
        delete from entities where tenant_id = '${TEAM}' and entity_name = 'part-2';
        insert into entities (tenant_id, entity_ref, entity_kind, entity_name, final_entity, hash)
        values ('${TEAM}', 'component:default/late', 'component', 'late', '{}', 'late')`,
        {
          info: text =>
            comparisons.push(...(/^Compare/.test(text) ? [text] : [])),
        },
      ),
    ).resolves.toMatchObject({ changed: true });
    await expect(
      query(`select entity_name as name, hash = 'late' as late
               from entities_tenant_my_team
              where entity_name in ('part-1', 'part-2', 'late') order by 1`),
    ).resolves.toEqual([
      { name: 'late', late: true },
      { name: 'part-1', late: true },
    ]);
    // Copies that lacked it at the switch would have gone through a second one.
    expect(comparisons).toHaveLength(1);
  });

  it('replay a log that became too long for the lock, before they ask for it again', async () => {
    const attempts: number[] = [];
    await expect(
      giveWhile(
        `update relations set type = 'late' where tenant_id in ('${TEAM}', '${OTHER}')`,
        { waiting: (_title, attempt) => attempts.push(attempt) },
      ),
    ).resolves.toMatchObject({ changed: true });
    // The first one found more than 100 entries under its lock.
    expect(attempts).toEqual([1]);
    await expect(
      query(`select distinct type from relations_tenant_my_team`),
    ).resolves.toEqual([{ type: 'late' }]);
  });

  it('replay a row that a trigger found missing in its copy, before the exchange', async () => {
    // The command waits for this one between the switch and the exchange.
    const older = new Client(database().connection);
    await older.connect();
    await older.query('begin isolation level repeatable read; select 1');
    let written: Promise<unknown> | undefined;
    const write = async () => {
      await query(`
        delete from entities_tenant_my_team where entity_name = 'part-1';
        update entities set hash = 'late' where tenant_id = '${TEAM}' and entity_name = 'part-1'`);
      await older.end();
    };
    await expect(
      database().migrate(({ context }) => givePartition(context, 'my-team'), {
        reporter: {
          ...silentReporter,
          info: text => {
            if (/^Waiting/.test(text)) {
              written ??= write();
            }
          },
        },
      }),
    ).resolves.toMatchObject({ changed: true });
    await written;
    await expect(
      query(
        `select entity_name as name from entities_tenant_my_team where hash = 'late'`,
      ),
    ).resolves.toEqual([{ name: 'part-1' }]);
  });

  it('lose no write, and let none fail', async () => {
    const login = {
      ...(await connectionOf(database(), 'portal_app')),
      options: '-c search_path=tenancy',
    };
    const traffic = await LiveTraffic.start(
      database().client,
      [TEAM, OTHER, DEFAULT_TENANT_ID].map(tenantId => ({
        name: 'new',
        ...{ login, tenantId },
      })),
      sizes,
    );
    try {
      for (let round = 0; round < 3; round += 1) {
        for (const command of [givePartition, takeBackPartition]) {
          await traffic.committed(5);
          await expect(
            database().migrate(({ context }) => command(context, 'my-team')),
          ).resolves.toMatchObject({ changed: true });
        }
      }
      await expect(traffic.end(database().client)).resolves.toEqual([]);
    } finally {
      // Writers that go on would keep a command that failed from being reported.
      await traffic.stop();
    }
  });
});
