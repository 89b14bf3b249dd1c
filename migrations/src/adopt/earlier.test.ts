import {
  createTestDatabases,
  waitUntil,
  withDeadline,
} from '@internal/postgres/testUtils';
import { Client } from 'pg';
import type { PhaseNumber } from '../engine/Step';
import { runPhases } from '../__testUtils__/runPhases';
import { silentReporter } from '../Reporter';
import { rollback } from '../rollback/rollback';
import { MigrationSession } from '../session/MigrationSession';
import { readStatus } from '../status/readStatus';
import { makeEarlier } from './__testUtils__/earlierAdoption';
import { column, differences, faultsOf, refsOf } from './__testUtils__/inspect';
import { createStockCatalog } from './__testUtils__/stockCatalog';
import type { StockCatalog } from './__testUtils__/stockCatalog';
import { ACME, createTenant, giveEngine } from './__testUtils__/tenantEngine';
import { adopt, readAdoption, retryFaults } from './library';
import { unadopt } from './unadopt';

const databases = createTestDatabases({ versions: 'newest' });

const WITH_NUL = '{"metadata":{"description":"\\u0000"}}';
const OWNED = [['ownedBy', 'group:default/g']] as [string, string][];
const REF = 'component:default/a';

// Of the earlier version; the functions of triggers keep their signatures.
const FORMER = `select oid::regprocedure::text from pg_proc
  where proname = any ('{adoption_put,adoption_put_entity,adoption_note,adoption_copy}')
    and not 'uuid'::regtype = any (proargtypes)`;

describe.each(databases.eachSupportedId())(
  'what an earlier version adopted on %s',
  id => {
    let catalog: StockCatalog;

    /** Adopted by the earlier version, at a phase; one entity could not be carried. */
    async function setUp(phase: PhaseNumber | 0): Promise<void> {
      catalog = await createStockCatalog(databases, id);
      await catalog.engine.ingest({ ref: REF, relations: OWNED });
      await adopt({ connection: catalog.connection });
      if (phase > 0) {
        await runPhases(catalog, phase as PhaseNumber);
      }
      await makeEarlier(catalog);
      await catalog.engine.ingest({
        ref: 'component:default/kept-aside',
        json: WITH_NUL,
      });
    }
    afterEach(async () => {
      jest.restoreAllMocks();
      await catalog.close();
    });

    /** What the earlier version left is gone, and a change is carried. */
    async function expectBroughtAlong(): Promise<void> {
      expect(await column(catalog, FORMER)).toEqual([]);
      expect(
        await column(
          catalog,
          `select pg_get_constraintdef(oid) from pg_constraint
            where conrelid = any ('{adoption_faults,adoption_state}'::regclass[]) and contype = 'p'
            order by 1`,
        ),
      ).toEqual([
        'PRIMARY KEY (tenant_id, key)',
        'PRIMARY KEY (tenant_id, source, key)',
      ]);
      await catalog.engine.ingest({
        ref: 'component:default/last',
        relations: OWNED,
      });
      expect(await refsOf(catalog)).toContain('component:default/last');
      expect(await faultsOf(catalog)).toMatchObject([
        {
          source: 'final_entities',
          reason: expect.stringContaining('Unicode'),
        },
      ]);
      expect(await differences(catalog)).toEqual([]);
    }

    const bringAlong: [string, PhaseNumber | 0, () => Promise<unknown>][] = [
      [
        'by adopt before phase 1',
        0,
        () => adopt({ connection: catalog.connection }),
      ],
      ['by a phase', 3, () => catalog.migrate(m => m.runPhase(4))],
      ['by phase 5', 4, () => catalog.migrate(m => m.runPhase(5))],
      [
        'by phase 5, which was complete',
        5,
        () => catalog.migrate(m => m.runPhase(5)),
      ],
      [
        'by the retries of a backend',
        5,
        () => retryFaults({ connection: catalog.connection }),
      ],
      [
        'by a rollback',
        4,
        () => catalog.migrate(migration => rollback(migration, 3)),
      ],
    ];

    it.each(bringAlong)('is brought along %s', async (_, phase, run) => {
      await setUp(phase);
      await run();
      expect(await column(catalog, FORMER)).toEqual([]);
      await expectBroughtAlong();
    });

    it('works as before until then, and status tells', async () => {
      await setUp(5);
      const { connection, engine } = catalog;
      expect(await readAdoption({ connection })).toMatchObject({
        adopted: true,
        faults: 1,
      });
      await engine.ingest({ ref: 'component:default/b', relations: OWNED });
      expect(await differences(catalog)).toEqual([]);
      expect(await catalog.migrate(readStatus)).toMatchObject({
        phase: 4,
        next: { command: expect.stringContaining('phase5') },
        adoptedTenants: [{ slug: 'default', faults: 1 }],
      });
    });

    it('can be ended', async () => {
      await setUp(0);
      await catalog.migrate(({ context }) => unadopt(context));
      await catalog.engine.ingest({ ref: 'component:default/b' });
      expect(
        await column(
          catalog,
          `select proname::text from pg_proc where proname ~ '^adoption_'`,
        ),
      ).toEqual([]);
    });

    it('is brought along while engines write, of whose writes none fails or is missed', async () => {
      await setUp(5);
      const { connection, engine } = catalog;
      let isOver = false;
      let written = 0;
      const write = async (name: string) => {
        while (!isOver) {
          const ref = `component:default/${name}-${written}`;
          const entityId = await engine.ingest({ ref, relations: OWNED });
          await engine.process(entityId, { ref, errors: `[${written}]` });
          await engine.stitch(entityId, { ref, description: 'again' });
          if (written % 3 === 0) {
            await engine.remove(ref);
          }
          written += 1;
        }
      };
      const writers = Promise.all(['x', 'y', 'z'].map(write));
      await waitUntil('writes', () => written > 5);
      try {
        await adopt({ connection });
        const before = written;
        await waitUntil('more writes', () => written > before + 5);
      } finally {
        isOver = true;
        await writers;
      }
      expect(await column(catalog, FORMER)).toEqual([]);
      await expectBroughtAlong();
    });

    it('lets a write end that has begun with the earlier functions', async () => {
      await setUp(5);
      const { connection, engine, client } = catalog;
      const [entityId] = await column<string>(
        catalog,
        'select entity_id::text from entities',
      );
      const other = new Client(connection);
      await other.connect();
      try {
        await other.query('begin');
        await other.query('select from tenancy.entities for update');
        // Its trigger waits for the row.
        const write = engine.stitch(entityId, {
          ref: REF,
          description: 'waited',
        });
        await waitUntil('the trigger to wait', async () => {
          const { rows } = await client.query(
            `select from pg_locks where not granted and locktype = 'transactionid'`,
          );
          return rows.length > 0;
        });
        let isWaiting = () => {};
        const waits = new Promise<void>(resolve => {
          isWaiting = resolve;
        });
        const adopted = adopt({
          connection,
          reporter: {
            ...silentReporter,
            info: message =>
              message.includes('functions of an earlier version') &&
              isWaiting(),
          },
        });
        await withDeadline(
          'the adoption to wait',
          Promise.race([waits, adopted]),
        );
        expect(await column(catalog, FORMER)).not.toEqual([]);
        await other.query('rollback');
        await write;
        await adopted;
      } finally {
        await other.end();
      }
      expect(
        await column(
          catalog,
          `select final_entity #>> '{metadata,description}' from entities where entity_ref = $1`,
          [REF],
        ),
      ).toEqual(['waited']);
      await expectBroughtAlong();
    });
    it.each([
      ['before the first change', 'create unique index if not exists adoption'],
      ['between both', 'drop function if exists adoption_note(text, text'],
    ])('is brought along by another run after a kill %s', async (_, text) => {
      await setUp(5);
      const { connection, engine } = catalog;
      const original = MigrationSession.prototype.query;
      const spy = jest
        .spyOn(MigrationSession.prototype, 'query')
        .mockImplementation(function fail(
          this: MigrationSession,
          ...args: Parameters<typeof original>
        ) {
          if (args[0].includes(text)) {
            throw new Error('killed');
          }
          return original.apply(this, args) as any;
        });
      await expect(adopt({ connection })).rejects.toThrow('killed');
      spy.mockRestore();
      const ref = 'component:default/meanwhile';
      const entityId = await engine.ingest({ ref, json: WITH_NUL });
      expect(await faultsOf(catalog)).toHaveLength(2);
      await engine.stitch(entityId, { ref });
      expect(await faultsOf(catalog)).toHaveLength(1);
      expect(await differences(catalog)).toEqual([]);
      await adopt({ connection });
      await expectBroughtAlong();
    });

    it('serves engines of other tenants then', async () => {
      await setUp(5);
      await expect(
        createTenant(catalog, ACME, 'acme').then(() =>
          giveEngine(catalog, ACME),
        ),
      ).rejects.toThrow('run phase 5 again');
      await catalog.client.query('rollback');
      await runPhases(catalog, 5);
      const acme = await giveEngine(catalog, ACME);
      await acme.engine.ingest({ ref: REF });
      await acme.close();
      expect(
        await column(
          catalog,
          `select count(*)::int from entities where entity_ref = $1`,
          [REF],
        ),
      ).toEqual([2]);
      await expectBroughtAlong();
    });
  },
);
