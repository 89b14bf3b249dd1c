import { createTestDatabases, waitUntil } from '@internal/postgres/testUtils';
import { Client } from 'pg';
import type { ClientConfig } from 'pg';
import { connectionOf } from '../__testUtils__/roles';
import { silentReporter } from '../Reporter';
import { givePartition, takeBackPartition } from './move';
import { SYNCHRONIZED } from './unfinishedMoves';
import { describeTenants, OTHER, TEAM } from './__testUtils__/tenants';

const databases = createTestDatabases();

// What a snapshot shows of the tables: by the tables, by the tenant, and all of it.
const READS = [
  `select t::text from entities t where tenant_id = '${TEAM}' order by 1`,
  `select count(*)::int from entities where tenant_id = any('{${TEAM}}')`,
  `select count(*)::int, sum(hashtextextended(t::text, 0)) from relations t`,
  `select count(*)::int, sum(hashtextextended(t::text, 0)) from refresh_state t
    where tenant_id in ('${TEAM}', '${OTHER}')`,
];

// The others show the rows of all tenants, despite the policies.
const READERS = {
  'a superuser': [],
  portal_admin: ['set local role portal_admin'],
  'a tenant': [
    'set local role portal_app',
    `set local app.tenant_id = '${TEAM}'`,
  ],
};

/** A transaction of one snapshot. */
class Snapshot {
  static async take(
    login: ClientConfig,
    settings: string[] = [],
    snapshot?: string,
  ): Promise<Snapshot> {
    const client = new Client(login);
    await client.connect();
    await client.query('begin isolation level repeatable read');
    await client.query(
      snapshot ? `set transaction snapshot '${snapshot}'` : 'select 1',
    );
    await client.query(
      ['set local search_path = tenancy', ...settings].join(';'),
    );
    return new Snapshot(client);
  }

  constructor(private readonly client: Client) {}

  /** Another transaction of the same snapshot: one that reads locks the tables. */
  async twin(login: ClientConfig, settings: string[]): Promise<Snapshot> {
    const { rows } = await this.client.query(
      'select pg_export_snapshot() as id',
    );
    return Snapshot.take(login, settings, rows[0].id);
  }

  async read(): Promise<unknown[]> {
    const rows = [];
    for (const statement of READS) {
      rows.push((await this.client.query(statement)).rows);
    }
    return rows;
  }

  async write(statement: string): Promise<unknown> {
    return this.client.query(statement).then(
      ({ rowCount }) => rowCount,
      error => error.code,
    );
  }

  async end(): Promise<void> {
    await this.client.query('commit');
    await this.client.end();
  }
}

describe.each(databases.eachSupportedId())('snapshots on %s', id => {
  const { database, query, give } = describeTenants(databases, id);

  /**
   * A transaction in another database that is older than the switch to the mirroring
   * triggers would hold back the horizon of later snapshots, and the command would wait
   * for these too.
   */
  const noTransactionIsOlderThanTheSwitch = () =>
    waitUntil('transactions from before the switch to end', async () => {
      const [{ passed }] = await query(
        `select pg_snapshot_xmin(pg_current_snapshot()) > (value ->> 'xid')::xid8 as passed
           from tenancy_migration_state where key = '${SYNCHRONIZED}'`,
      );
      return passed;
    });

  /** Runs a command, and `meanwhile` once, while it waits for an older transaction. */
  async function during(
    command: typeof givePartition,
    meanwhile: (older: Snapshot) => Promise<void>,
    login: ClientConfig = database().connection,
  ): Promise<void> {
    const older = await Snapshot.take(login);
    let work: Promise<void> | undefined;
    await database().migrate(({ context }) => command(context, 'my-team'), {
      reporter: {
        ...silentReporter,
        info: text => {
          if (/^Waiting/.test(text)) {
            work ??= noTransactionIsOlderThanTheSwitch()
              .then(() => meanwhile(older))
              .finally(() => older.end());
          }
        },
      },
    });
    expect(work).toBeDefined();
    await work;
  }

  it.each([
    ['a tenant gets its partitions', givePartition],
    ['they are taken back', takeBackPartition],
  ])(
    'show every row once, as it was, when %s, whoever asks',
    async (_what, command) => {
      if (command === takeBackPartition) {
        await give();
      }
      const login = await connectionOf(database(), 'portal_app');
      const logins = [database().connection, login, database().connection];
      const snapshots: Snapshot[] = [];
      const before: unknown[] = [];
      await during(command, async older => {
        const unchanged = await older.read();
        for (const [index, settings] of Object.values(READERS).entries()) {
          const snapshot = await Snapshot.take(logins[index], settings);
          const twin = await snapshot.twin(logins[index], settings);
          snapshots.push(snapshot);
          before.push(await twin.read());
          await twin.end();
        }
        expect(before[0]).toEqual(unchanged);
        // After all snapshots were taken, and before the partitions change.
        await query(`
          update entities set hash = 'new' where tenant_id = '${TEAM}' and entity_name < 'part-3';
          delete from entities where tenant_id = '${TEAM}' and entity_name like 'part-5%';
          insert into relations (tenant_id, originating_entity_id, source_entity_ref, type, target_entity_ref)
          select tenant_id, entity_id, entity_ref, 'partOf', 'system:default/s' from entities
           where tenant_id in ('${TEAM}', '${OTHER}')`);
        await expect(older.read()).resolves.toEqual(unchanged);
      });
      for (const [index, snapshot] of snapshots.entries()) {
        await expect(snapshot.read()).resolves.toEqual(before[index]);
        await snapshot.end();
      }
      const after = await Snapshot.take(database().connection);
      await expect(after.read()).resolves.not.toEqual(before[0]);
      await after.end();
    },
  );

  it('of a replication connection show every row once, as it was', async () => {
    const login = { ...database().connection, replication: 'database' };
    await during(
      givePartition,
      async older => {
        const unchanged = await older.read();
        await query(`update entities set hash = 'new'`);
        await expect(older.read()).resolves.toEqual(unchanged);
      },
      login,
    );
  });

  it('from before the changes are made on both sides can not write, those from after can', async () => {
    const outcomes: unknown[] = [];
    const update = (name: string) =>
      `update entities set hash = 'new' where tenant_id = '${TEAM}' and entity_name = '${name}'`;
    let newer: Snapshot | undefined;
    await during(givePartition, async older => {
      newer = await Snapshot.take(database().connection);
      outcomes.push(await older.write(update('part-1')));
      outcomes.push(await newer.write(update('part-2')));
      await newer.end();
      newer = await Snapshot.take(database().connection);
    });
    // One that began before the partitions changed, and writes to the new ones.
    outcomes.push(await newer!.write(update('part-3')));
    await newer!.end();
    expect(outcomes).toEqual(['40001', 1, 1]);
    await expect(
      query(`select entity_name as name from entities_tenant_my_team
              where hash = 'new' order by 1`),
    ).resolves.toEqual([{ name: 'part-2' }, { name: 'part-3' }]);
  });
});
