import {
  createTestDatabases,
  withDeadline,
} from '@internal/postgres/testUtils';
import { Client } from 'pg';
import { createCatalogDatabase } from '../../__testUtils__/catalogDatabase';
import type { CatalogDatabase } from '../../__testUtils__/catalogDatabase';
import { LiveTraffic } from '../../liveTraffic/__testUtils__/LiveTraffic';
import { sizesFromEnvironment } from '../../liveTraffic/__testUtils__/sizes';
import { recordingReporter } from './__testUtils__/recordingReporter';
import type { ReporterHooks } from './__testUtils__/recordingReporter';
import { rowsWithoutTenant } from './__testUtils__/rowsWithoutTenant';

const databases = createTestDatabases();

describe.each(databases.eachSupportedId())('the backfill on %s', id => {
  let database: CatalogDatabase;
  let holder: Client;
  beforeEach(async () => {
    database = await createCatalogDatabase(databases, id, { entities: 600 });
    await database.migrate(migration => migration.runPhase(1));
    holder = new Client(database.connection);
    await holder.connect();
    await holder.query('set search_path = tenancy');
  });
  afterEach(async () => {
    await holder.end();
    await database.close();
  });

  const start = (hooks: ReporterHooks) => {
    const reporter = recordingReporter(hooks);
    const done = database.migrate(migration => migration.runPhase(2), {
      reporter,
      settings: { batchSize: 10 },
    });
    return { done, reporter };
  };

  it('fails no write, loses none and ends while applications write', async () => {
    const login = {
      ...database.connection,
      options: '-c search_path=tenancy',
    };
    const traffic = await LiveTraffic.start(
      database.client,
      [{ name: 'old', login }],
      { ...sizesFromEnvironment(), writers: 3, bigTransaction: 50, pauseMs: 0 },
    );
    await traffic.committed(1);
    await start({}).done;
    await expect(traffic.end(database.client)).resolves.toEqual([]);
    await expect(rowsWithoutTenant(database)).resolves.toBe(0);
  });

  it('fills all rows but the one that a long transaction holds, then waits for it', async () => {
    await holder.query('begin');
    await holder.query(
      `update entities set hash = 'held' where entity_name = 'service-7'`,
    );
    let resolveWaiting: (holders: string[]) => void = () => undefined;
    const waiting = new Promise<string[]>(resolve => {
      resolveWaiting = resolve;
    });
    const { done } = start({
      onWaiting: (_what, holders) => resolveWaiting(holders),
    });
    const holders = await withDeadline(
      'the backfill to wait for the row',
      waiting,
    );
    await expect(rowsWithoutTenant(database, 'entities')).resolves.toBe(1);

    // The transaction goes on to rows that were filled, and is not in anybody's way.
    await holder.query(
      `update entities set hash = 'held' where entity_name in ('service-1', 'service-600')`,
    );
    const { rows: pids } = await holder.query('select pg_backend_pid() as pid');
    await holder.query('commit');
    await done;
    const { rows } = await database.client.query(
      `select entity_name, tenant_id is not null as filled
         from entities where hash = 'held' order by 1`,
    );
    expect(rows).toEqual([
      { entity_name: 'service-1', filled: true },
      { entity_name: 'service-600', filled: true },
      { entity_name: 'service-7', filled: true },
    ]);
    expect(holders).toEqual([
      expect.stringContaining(`process ${pids[0].pid} (`),
    ]);
  });

  it('waits for no transaction that has only inserted rows which reference others', async () => {
    await holder.query('begin');
    await holder.query(
      `insert into relations (originating_entity_id, source_entity_ref, type, target_entity_ref)
       select entity_id, entity_ref, 'partOf', 'system:default/s' from entities
        where entity_name = 'service-7'`,
    );
    const waits: string[] = [];
    let resolveFinished: () => void = () => undefined;
    const finished = new Promise<void>(resolve => {
      resolveFinished = resolve;
    });
    const { done } = start({
      onWaiting: what => {
        waits.push(what);
        resolveFinished();
      },
      onFinish: what => what === 'Fill entities' && resolveFinished(),
    });
    await withDeadline('the backfill of entities', finished);
    expect(waits).toEqual([]);
    await expect(rowsWithoutTenant(database, 'entities')).resolves.toBe(0);
    await holder.query('commit');
    await done;
    await expect(rowsWithoutTenant(database)).resolves.toBe(0);
  });

  it('holds no row while it waits for one', async () => {
    await holder.query('begin');
    await holder.query(
      `update entities set hash = 'held' where entity_name = 'service-300'`,
    );
    const changed: Promise<unknown>[] = [];
    const { done } = start({
      // A transaction that holds one row asks for the others while the backfill
      // waits for that one.
      onWaiting: () => {
        if (changed.length === 0) {
          changed.push(holder.query(`update entities set hash = 'held too'`));
          changed.push(holder.query('commit'));
        }
      },
    });
    await done;
    await expect(Promise.all(changed)).resolves.toHaveLength(2);
    await expect(rowsWithoutTenant(database)).resolves.toBe(0);
  });
});
