import {
  createTestDatabases,
  waitUntil,
  withDeadline,
} from '@internal/postgres/testUtils';
import type { Knex } from 'knex';
import { setTimeout as pause } from 'node:timers/promises';
import { forEachTest } from '../__testUtils__/forEachTest';
import { migrateTo } from '../migrateTo';
import { silentReporter } from '../Reporter';
import { column, differences, faultsOf, refsOf } from './__testUtils__/inspect';
import { createStockCatalog } from './__testUtils__/stockCatalog';
import type { EngineEntity } from './__testUtils__/stockCatalog';
import { adopt, retryFaults } from './library';

const databases = createTestDatabases();

const ENTITY: EngineEntity = {
  ref: 'component:default/a',
  relations: [['ownedBy', 'group:default/before']],
};
const PROCESSED: EngineEntity = {
  ...ENTITY,
  locationKey: 'url:after',
  errors: '[{"message":"after"}]',
  relations: [
    ['ownedBy', 'group:default/after'],
    ['partOf', 'system:default/after'],
  ],
};

describe.each(databases.eachSupportedId())(
  'the engine and the adoption at the same time on %s',
  id => {
    const catalog = forEachTest(() => createStockCatalog(databases, id));

    /** Until so many sessions of the engine wait for a lock. */
    async function untilWaiting(sessions = 1): Promise<void> {
      const waiting = `select pid from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'
          and application_name = 'backstage'`;
      await waitUntil(
        `${sessions} sessions of the engine to wait`,
        async () => (await column(catalog, waiting)).length >= sessions,
      );
    }

    async function expectEqual(): Promise<void> {
      expect(await faultsOf(catalog)).toEqual([]);
      expect(await differences(catalog)).toEqual([]);
    }

    it('carries what is processed while an entity is stitched for the first time', async () => {
      const { engine, knex, connection } = catalog;
      await adopt({ connection });
      const entityId = await engine.discover(ENTITY);
      await engine.process(entityId, ENTITY);
      const processing = await knex.transaction();
      await engine.process(entityId, PROCESSED, { tx: processing });
      const stitching = engine.stitch(entityId, ENTITY);
      await untilWaiting();
      await processing.commit();
      await stitching;
      await expectEqual();
      expect(
        await column(catalog, 'select target_entity_ref from relations'),
      ).toHaveLength(2);
    });

    it('carries what is processed after an entity was stitched, and before that is committed', async () => {
      const { engine, knex, connection } = catalog;
      await adopt({ connection });
      const entityId = await engine.discover(ENTITY);
      await engine.process(entityId, ENTITY);
      const stitching = await knex.transaction();
      await stitching('final_entities').insert({
        entity_id: entityId,
        entity_ref: ENTITY.ref,
        final_entity: '{}',
        hash: '',
      });
      const processing = engine.process(entityId, PROCESSED);
      await untilWaiting();
      await stitching.commit();
      await processing;
      await expectEqual();
      expect(
        await column(catalog, 'select location_key from refresh_state'),
      ).toEqual(['url:after']);
    });

    it('locks no partition of other tenants, whatever plans a session keeps', async () => {
      const { engine, knex, connection, client } = catalog;
      await adopt({ connection });
      // PostgreSQL then takes them for free.
      await client.query('vacuum entities_catch_all, relations_catch_all');
      const entities = Array.from({ length: 12 }, (_, n) => ({
        ...ENTITY,
        ref: `component:default/c${n}`,
      }));
      const ids: string[] = [];
      for (const entity of entities) {
        const entityId = await engine.discover(entity);
        await engine.process(entityId, entity);
        ids.push(entityId);
      }
      await knex.transaction(async tx => {
        for (const [index, entityId] of ids.entries()) {
          await tx('final_entities').insert({
            entity_id: entityId,
            entity_ref: entities[index].ref,
            final_entity: '{}',
            hash: '',
          });
        }
        const { rows } = await tx.raw(
          `select relation::regclass::text as name from pg_locks
            where pid = pg_backend_pid() and relation::regclass::text like '%catch\\_all'`,
        );
        expect(rows).toEqual([]);
      });
      await expectEqual();
    });

    it('copies what is being processed once that is over', async () => {
      const { engine, knex, connection } = catalog;
      const entityId = await engine.ingest(ENTITY);
      await engine.ingest({ ref: 'component:default/other' });
      let waited: () => void = () => undefined;
      const waiting = new Promise<void>(resolve => {
        waited = resolve;
      });
      // The triggers are there from an adoption that was stopped: they are only created
      // when those who have written are gone.
      await adopt({ connection });
      await catalog.client.query(
        `delete from entities; update adoption_state set value = '{"after": "", "done": false}' where key = 'copy'`,
      );
      const processing = await knex.transaction();
      await engine.process(entityId, PROCESSED, { tx: processing });
      const adopting = adopt({
        connection,
        reporter: { ...silentReporter, waiting: () => waited() },
      });
      await withDeadline('the adoption to wait', waiting);
      await processing.commit();
      await adopting;
      await expectEqual();
      expect(await refsOf(catalog)).toHaveLength(2);
    });

    it('neither fails nor deadlocks the engine while it deletes what is copied', async () => {
      const { engine, knex, connection } = catalog;
      await adopt({ connection });
      const refs: string[] = [];
      for (let i = 0; i < 200; i += 1) {
        const ref = `component:default/s${i}`;
        refs.push(ref);
        await engine.ingest({ ref, relations: ENTITY.relations });
      }
      for (let round = 0; round < 4; round += 1) {
        await catalog.client.query(
          `delete from entities; update adoption_state set value = '{"after": "", "done": false}' where key = 'copy'`,
        );
        const deleting = (async () => {
          for (const chunk of [0, 1, 2, 3, 4]) {
            await knex.transaction(async tx => {
              // Against the order of the copy.
              const rows = await tx('final_entities')
                .select('entity_ref')
                .orderBy('entity_id', 'desc')
                .offset(chunk * 5)
                .limit(10);
              for (const { entity_ref: ref } of rows) {
                await tx('refresh_state').where({ entity_ref: ref }).delete();
              }
            });
          }
        })();
        await Promise.all([adopt({ connection }), deleting]);
        await expectEqual();
      }
      expect((await refsOf(catalog)).length).toBeLessThan(100);
    });

    describe.each([
      {
        rows: 'relations',
        table: 'relations',
        row: (entityId: string) => ({
          originating_entity_id: entityId,
          source_entity_ref: ENTITY.ref,
          type: 'ownedBy',
          target_entity_ref: 'group:default/before',
        }),
        ours: 'relations',
      },
      {
        rows: 'edges',
        table: 'refresh_state_references',
        row: () => ({
          source_entity_ref: ENTITY.ref,
          target_entity_ref: ENTITY.ref,
        }),
        ours: 'entity_parents',
      },
    ])(
      'carries $rows that are there more than once',
      ({ table, row, ours }) => {
        beforeEach(async () => {
          const { engine, knex, connection } = catalog;
          await adopt({ connection });
          const entityId = await engine.ingest({ ref: ENTITY.ref });
          for (let times = 0; times < 3; times += 1) {
            await knex(table).insert(row(entityId));
          }
        });

        /** One of the rows, as long as there are any, each in another transaction. */
        const deleteOne = (transaction: Knex.Transaction, index: number) =>
          transaction(table)
            .whereIn(
              'ctid' as never,
              transaction(table)
                .select(transaction.raw('ctid'))
                .whereNotNull('source_entity_ref')
                .orderBy(transaction.raw('ctid') as never)
                .offset(index)
                .limit(1),
            )
            .delete();

        it.each([2, 3])('and of which %s go at the same time', async times => {
          const transactions = await Promise.all(
            Array.from({ length: times }, () => catalog.knex.transaction()),
          );
          await deleteOne(transactions[0], 0);
          const deleting = transactions
            .slice(1)
            .map((transaction, index) =>
              deleteOne(transaction, index + 1).then(() =>
                transaction.commit(),
              ),
            );
          await untilWaiting(times - 1);
          await transactions[0].commit();
          await Promise.all(deleting);
          await expectEqual();
          expect(await column(catalog, `select 1 from ${ours}`)).toHaveLength(
            3 - times,
          );
        });
      },
    );

    it('does not put back an edge that is being deleted', async () => {
      const { engine, knex, connection, client } = catalog;
      await adopt({ connection });
      await engine.ingest({ ...ENTITY, parent: ENTITY.ref });
      await client.query(`delete from entity_parents;
        insert into adoption_faults (source, key, reason, sqlstate)
        values ('refresh_state_references', '*', '', '')`);
      const deleting = await knex.transaction();
      await deleting('refresh_state_references').delete();
      let waited: () => void = () => undefined;
      const waiting = new Promise<void>(resolve => {
        waited = resolve;
      });
      const retrying = retryFaults({
        connection,
        reporter: { ...silentReporter, waiting: () => waited() },
      });
      await withDeadline(
        'the command to wait',
        Promise.race([waiting, retrying]),
      );
      await deleting.commit();
      await retrying;
      await expectEqual();
      expect(await column(catalog, 'select 1 from entity_parents')).toEqual([]);
    });

    it('never lets transactions of the engine wait for each other because of faults', async () => {
      const { engine, knex, connection, client } = catalog;
      await adopt({ connection });
      await engine.ingest(ENTITY);
      await client.query(
        'alter table entity_parents rename column entity_ref to other',
      );
      const transactions = [await knex.transaction(), await knex.transaction()];
      for (const transaction of transactions) {
        await transaction('refresh_state_references').insert({
          source_entity_ref: ENTITY.ref,
          target_entity_ref: ENTITY.ref,
        });
      }
      for (const transaction of transactions) {
        await transaction.commit();
      }
      expect(await faultsOf(catalog)).toMatchObject(
        transactions.map(() => ({ source: 'refresh_state_references' })),
      );
      await client.query(
        'alter table entity_parents rename column other to entity_ref',
      );
      await adopt({ connection });
      await expectEqual();
    });

    it('goes on where it was killed, while the engine writes', async () => {
      const { engine, connection, client } = catalog;
      for (let i = 0; i < 150; i += 1) {
        await engine.ingest({
          ref: `component:default/s${i}`,
          relations: ENTITY.relations,
        });
      }
      let writing = true;
      const failures: unknown[] = [];
      const writer = async (name: string) => {
        for (let i = 0; writing; i += 1) {
          const entity = {
            ref: `component:default/${name}-${i % 7}`,
            relations: [['ownedBy', `group:default/${i}`]] as [
              string,
              string,
            ][],
          };
          await engine.remove(entity.ref);
          const entityId = await engine.ingest(entity);
          await Promise.all([
            engine.process(entityId, { ...PROCESSED, ref: entity.ref }),
            engine.stitch(entityId, { ...entity, description: `${i}` }),
          ]);
        }
      };
      const writers = ['x', 'y', 'z'].map(name =>
        writer(name).catch(error => {
          failures.push(error);
        }),
      );
      const kill = async (after: number) => {
        await pause(after);
        await client.query(
          `select pg_terminate_backend(pid) from pg_stat_activity
            where datname = current_database()
              and application_name like 'catalog-tenancy adopt%'`,
        );
      };
      const adopting = () =>
        adopt({ connection, batchSize: 5 }).then(
          () => true,
          () => false,
        );
      // Somewhere in it, a bit later each time.
      for (const after of [15, 55, 95, 135]) {
        await Promise.all([adopting(), kill(after)]);
      }
      expect(await adopting()).toBe(true);
      writing = false;
      await Promise.all(writers);
      expect(failures).toEqual([]);
      await expectEqual();
    });

    it('does not lose what a transaction writes that is older than the copy', async () => {
      const { engine, knex, connection } = catalog;
      await migrateTo(5, { connection, createTables: true });
      const kept = await engine.ingest(ENTITY);
      const removed = await engine.ingest({ ref: 'component:default/b' });
      const old = await knex.transaction({ isolationLevel: 'repeatable read' });
      await old('final_entities').count();
      await adopt({ connection });
      await old('final_entities')
        .where({ entity_id: kept })
        .update({ hash: 'new' });
      await engine.process(kept, PROCESSED, { tx: old });
      await old('refresh_state').where({ entity_id: removed }).delete();
      await old.commit();
      const faults = await faultsOf(catalog);
      expect(faults.map(({ key }) => key)).toEqual(
        expect.arrayContaining([kept, removed]),
      );
      await adopt({ connection });
      await expectEqual();
      expect(await refsOf(catalog)).toEqual([ENTITY.ref]);
    });
  },
);
