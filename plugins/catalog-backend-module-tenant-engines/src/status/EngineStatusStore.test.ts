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

  it('are those of the process with the lease, and not of one that was paused since it had it', async () => {
    const database = await EngineDatabase.create(databases, id);
    const tenantId = await database.newTenant();
    const [paused, holder] = [randomUUID(), randomUUID()];
    await database.query(
      `insert into tenancy.engine_processes (process_id, name, expires_at)
       select unnest($1::uuid[]), 'a process', now() + interval '1 hour'`,
      [[paused, holder]],
    );
    await database.query(
      'insert into tenancy.engine_leases (tenant_id, process_id) values ($1, $2)',
      [tenantId, holder],
    );
    const [ofPaused, ofHolder] = [paused, holder].map(
      processId =>
        new EngineStatusStore({
          connection: database.login,
          schema: 'tenancy',
          processId,
        }),
    );
    const copies = { shareId: randomUUID(), copies: 1, conflicts: 0 };
    try {
      await ofHolder.write([{ tenantId, state: 'running' }]);
      await ofHolder.writeCopies(tenantId, [copies]);
      await ofPaused.write([{ tenantId, state: 'failed', reason: 'before' }]);
      await ofPaused.writeCopies(tenantId, []);
      await expect(ofHolder.report(tenantId)).resolves.toMatchObject({
        state: 'running',
      });
      await expect(ofHolder.readCopies()).resolves.toEqual(
        new Map([[tenantId, [copies.shareId]]]),
      );
    } finally {
      await ofPaused.close();
      await ofHolder.close();
    }
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
