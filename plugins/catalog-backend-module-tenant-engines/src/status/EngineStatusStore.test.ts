import { mockServices } from '@backstage/backend-test-utils';
import { createTestDatabases, waitUntil } from '@internal/postgres/testUtils';
import { engineSchemaOf } from 'backstage-catalog-tenancy-migrations';
import { randomUUID } from 'node:crypto';
import { EngineDatabase } from '../tables/__testUtils__/EngineDatabase';
import { EngineStatusRecorder } from './EngineStatusRecorder';
import { EngineStatusStore } from './EngineStatusStore';

const databases = createTestDatabases({ versions: 'newest' });

describe.each(databases.eachSupportedId())('reports on %s', id => {
  it('do not keep a process from giving its leases up', async () => {
    const database = await EngineDatabase.create(databases, id);
    const store = new EngineStatusStore({
      connection: database.login,
      schema: 'tenancy',
    });
    const recorder = new EngineStatusRecorder({
      store,
      leases: {
        isHeld: () => true,
        onChange: () => () => undefined,
        beforeRelease: () => () => undefined,
      },
      logger: mockServices.logger.mock(),
    });
    try {
      await database.use(async client => {
        await client.query('begin; lock table tenancy.engine_processes');
        recorder.start(() => []);
        const isReading = async () => {
          const { rows } = await client.query(
            `select from pg_locks where relation = 'tenancy.engine_processes'::regclass and not granted`,
          );
          return rows.length > 0;
        };
        await waitUntil('a read', isReading);
        await recorder.stop();
        await expect(isReading()).resolves.toBe(true);
        await client.query('rollback');
      });
    } finally {
      await store.close();
    }
  });

  describe('of a process', () => {
    let database: EngineDatabase;
    let processId: string;
    let tenantId: string;
    let store: EngineStatusStore;

    /** A process whose lease time ends in a while, or has ended. */
    const newProcess = async (expiresIn: string) => {
      const [row] = await database.query<{ id: string }>(
        `insert into tenancy.engine_processes (process_id, name, expires_at)
         values (gen_random_uuid(), 'a process', now() + $1::interval)
         returning process_id as id`,
        [expiresIn],
      );
      return row.id;
    };
    const lease = (tenant: string, holder: string) =>
      database.query(
        'insert into tenancy.engine_leases (tenant_id, process_id) values ($1, $2)',
        [tenant, holder],
      );
    const open = (options: { processId?: string } = {}) =>
      new EngineStatusStore({
        connection: database.login,
        schema: 'tenancy',
        ...options,
      });

    beforeAll(async () => {
      database = await EngineDatabase.create(databases, id);
    });

    beforeEach(async () => {
      await database.query(
        `truncate tenancy.engine_processes, tenancy.engine_leases;
         delete from tenancy.tenants where tenant_slug <> 'default'`,
      );
      processId = await newProcess('1 hour');
      tenantId = await database.newTenant();
      await lease(tenantId, processId);
      store = open({ processId });
    });

    afterEach(async () => {
      jest.restoreAllMocks();
      await store.close();
    });

    it('are those of the one with the lease, and not of one that was paused since it had it', async () => {
      const ofPaused = open({ processId: await newProcess('1 hour') });
      const copies = { shareId: randomUUID(), copies: 1, conflicts: 0 };
      try {
        await store.write([{ tenantId, state: 'running' }]);
        await store.writeCopies(tenantId, [copies]);
        await ofPaused.write([{ tenantId, state: 'failed', reason: 'before' }]);
        await ofPaused.writeCopies(tenantId, []);
        await ofPaused.writeCopies(tenantId, [
          { ...copies, shareId: randomUUID() },
        ]);
      } finally {
        await ofPaused.close();
      }
      await expect(store.report(tenantId)).resolves.toMatchObject({
        state: 'running',
      });
      const all = new Map([[tenantId, [copies.shareId]]]);
      await expect(store.readCopies()).resolves.toEqual(all);
      await store.writeCopies(tenantId, [], { keep: [copies.shareId] });
      await expect(store.readCopies()).resolves.toEqual(all);
    });

    it('keep the latest of what they say, as PostgreSQL can store it', async () => {
      const [early, late] = ['2026-01-01', '2026-01-02'].map(
        day => new Date(`${day}T00:00:00.000Z`),
      );
      const failed = { lastError: 'a\0b\ud83d', lastErrorAt: late };
      const note = {
        ...{ tenantId, state: 'running' as const, caughtUpAt: late },
        // Said of a failed engine alone.
        reason: 'of a start',
      };
      await store.write([{ ...note, ...failed }]);
      await store.write([{ ...note, caughtUpAt: early }]);
      const report = {
        state: 'running',
        reason: null,
        last_error: 'ab\ufffd',
        last_error_at: late.toISOString(),
        last_full_run_at: late.toISOString(),
      };
      await expect(store.report(tenantId)).resolves.toMatchObject(report);
      // By a clock that was set back.
      const due = new Map([[tenantId, new Date(Date.now() + 60_000)]]);
      const ahead = await store.reports([tenantId], due);
      expect(ahead.get(tenantId)).toMatchObject({ lag_seconds: 0 });
      const version = () =>
        database.query('select xmin, * from tenancy.engine_status');
      const before = await version();
      await store.write([{ ...note, caughtUpAt: early }]);
      expect(await version()).toEqual(before);
    });

    it('wake an engine that sleeps, and leave one alone that runs', async () => {
      const asleep = await database.newTenant();
      await lease(asleep, processId);
      const caughtUpAt = new Date();
      await store.write(
        [asleep, tenantId].map(each => ({
          ...{ tenantId: each, state: 'running' as const, caughtUpAt },
        })),
      );
      await database.query(
        `update tenancy.engine_status set wake_at = now() + interval '1 hour' where tenant_id = $1`,
        [asleep],
      );
      await expect(store.readAsleep()).resolves.toEqual(
        new Map([[asleep, caughtUpAt]]),
      );
      await store.makeDue(asleep);
      await store.makeDue(tenantId);
      await expect(
        database.query(
          'select tenant_id, wake_at <= now() as due from tenancy.engine_status where wake_at is not null',
        ),
      ).resolves.toEqual([{ tenant_id: asleep, due: true }]);
    });

    it('count the engines that no live process has', async () => {
      const [lost, deleted, paused] = [
        await database.newTenant(),
        await database.newTenant(),
        await database.newTenant(),
        // Of no process.
        await database.newTenant(),
      ];
      await lease(lost, await newProcess('-1 second'));
      await database.query(
        `update tenancy.tenants set deleted_at = now() where tenant_id = $1`,
        [deleted],
      );
      await database.query(
        `insert into tenancy.tenant_engines (tenant_id, created_by, paused_at) values ($1, 'test', now())`,
        [paused],
      );
      await expect(store.readDeployment()).resolves.toMatchObject({
        processes: 1,
        unassigned: 2,
      });
    });

    it('count the errors of entities that a source has, in the time that there is', async () => {
      const schema = engineSchemaOf(tenantId);
      await database.tables().provision(tenantId);
      await database.query(
        `insert into ${schema}.refresh_state (entity_id, entity_ref, unprocessed_entity, errors, next_update_at, last_discovery_at)
         select ref, ref, '{"x": "\\u0000"}', '[{"message": "wrong \\ud800"}]', now(), now()
           from unnest('{of-a-source,of-none}'::text[]) ref;
         insert into ${schema}.refresh_state_references (source_key, target_entity_ref)
         values ('test', 'of-a-source')`,
      );
      await expect(store.report(tenantId)).resolves.toMatchObject({
        source_error_count: 1,
        source_errors: [{ entity_ref: 'of-a-source', message: 'wrong \ufffd' }],
      });
      const now = performance.now();
      jest
        .spyOn(performance, 'now')
        .mockReturnValueOnce(now)
        .mockReturnValue(now + 2_000);
      await expect(store.countSourceErrors([tenantId])).resolves.toEqual(
        new Map([[tenantId, null]]),
      );
      jest.restoreAllMocks();
      await database.query(
        `alter table ${schema}.refresh_state rename column errors to others`,
      );
      await expect(store.countSourceErrors([tenantId])).rejects.toThrow(
        'does not exist',
      );
    });
  });

  it('on a large engine are read once for all who ask, and others do not wait', async () => {
    const database = await EngineDatabase.create(databases, id);
    const tenantId = await database.newTenant();
    const schema = engineSchemaOf(tenantId);
    await database.use(
      client =>
        client.query(
          `create schema ${schema};
           create view ${schema}.refresh_state as
             select 'component:default/a' as entity_ref, '[]' as errors,
                    '{}' as unprocessed_entity, now() as next_update_at
               from (select pg_advisory_xact_lock_shared(4711)) s;
           create view ${schema}.stitch_queue as select now() as next_stitch_at;
           create view ${schema}.refresh_state_references as
             select 'component:default/a' as target_entity_ref`,
        ),
      database.login,
    );
    const store = new EngineStatusStore({
      connection: database.login,
      schema: 'tenancy',
    });
    try {
      await database.use(async client => {
        await client.query('select pg_advisory_lock(4711)');
        const reports = Promise.all(
          Array.from({ length: 5 }, () => store.report(tenantId)),
        );
        const readers = async () => {
          const { rows } = await client.query(
            `select from pg_locks where locktype = 'advisory' and not granted`,
          );
          return rows.length;
        };
        await waitUntil('the reports', async () => (await readers()) > 0);
        await store.makeDue(tenantId);
        expect(await readers()).toBe(1);
        await client.query('select pg_advisory_unlock(4711)');
        expect(new Set(await reports).size).toBe(1);
      });
    } finally {
      await store.close();
    }
  });
});
