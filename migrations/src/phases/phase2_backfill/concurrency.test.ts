import {
  createTestDatabases,
  withDeadline,
} from '@internal/postgres/testUtils';
import { Client } from 'pg';
import { createCatalogDatabase } from '../../__testUtils__/catalogDatabase';
import type { CatalogDatabase } from '../../__testUtils__/catalogDatabase';
import { LiveTraffic } from '../../liveTraffic/__testUtils__/LiveTraffic';
import { sizesFromEnvironment } from '../../liveTraffic/__testUtils__/sizes';
import { recordingReporter } from '../../__testUtils__/recordingReporter';
import type { ReporterHooks } from '../../__testUtils__/recordingReporter';
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

  it('waits for a row, names who holds it, and lets others go that this one asks for', async () => {
    await holder.query('begin');
    await holder.query(
      `update entities set hash = 'held' where entity_name = 'service-300'`,
    );
    const { rows: pids } = await holder.query('select pg_backend_pid() as pid');
    const changed: Promise<unknown>[] = [];
    const named: string[][] = [];
    const { done } = start({
      // A transaction that holds one row asks for the others while the backfill
      // waits for that one.
      onWaiting: (_what, holders) => {
        named.push(holders);
        if (changed.length === 0) {
          changed.push(holder.query(`update entities set hash = 'held too'`));
          changed.push(holder.query('commit'));
        }
      },
    });
    await done;
    await expect(Promise.all(changed)).resolves.toHaveLength(2);
    expect(named[0]).toEqual([
      expect.stringContaining(`process ${pids[0].pid} (`),
    ]);
    await expect(rowsWithoutTenant(database)).resolves.toBe(0);
  });
});
