import { createTestDatabases } from '@internal/postgres/testUtils';
import type { PhaseNumber } from '../engine/Step';
import { cleanup } from '../cleanup/cleanup';
import { rollback } from '../rollback/rollback';
import { column, differences, faultsOf, refsOf } from './__testUtils__/inspect';
import { createStockCatalog } from './__testUtils__/stockCatalog';
import type { StockCatalog } from './__testUtils__/stockCatalog';
import { adopt, retryFaults } from './library';

const databases = createTestDatabases();

const PHASES: PhaseNumber[] = [1, 2, 3, 4, 5];

describe.each(databases.eachSupportedId())(
  'the phases of an adopted catalog on %s',
  id => {
    let catalog: StockCatalog;
    beforeEach(async () => {
      catalog = await createStockCatalog(databases, id);
    });
    afterEach(() => catalog.close());

    let written = 0;
    let oldest: string | undefined;
    /** One of each write of the engine, all of which must arrive. */
    async function write(): Promise<void> {
      const { engine } = catalog;
      written += 1;
      const entity = (name: string) => ({
        ref: `component:default/${name}-${written}`,
        relations: [['ownedBy', 'group:default/g']] as [string, string][],
      });
      const changed = await engine.ingest(entity('changed'));
      await engine.ingest(entity('removed'));
      await engine.ingest({
        ...entity('child'),
        parent: `component:default/changed-${written}`,
      });
      await engine.process(changed, {
        ...entity('changed'),
        locationKey: `url:${written}`,
        relations: [['partOf', 'system:default/s']],
      });
      await engine.stitch(changed, {
        ...entity('changed'),
        description: 'changed',
      });
      // What was there before the phase.
      oldest ??= changed;
      await engine.process(oldest, {
        ref: 'component:default/changed-1',
        locationKey: `url:${written}`,
        errors: `[{"message":"${written}"}]`,
        relations: [['dependsOn', `component:default/changed-${written}`]],
      });
      await engine.stitch(oldest, {
        ref: 'component:default/changed-1',
        description: `${written}`,
      });
      await engine.touch();
      await engine.remove(`component:default/removed-${written}`);
      expect(await faultsOf(catalog)).toEqual([]);
      expect(await differences(catalog)).toEqual([]);
      expect(await refsOf(catalog)).toHaveLength(2 * written);
    }

    const ownerOfFunctions = () =>
      column<string>(
        catalog,
        `select distinct pg_get_userbyid(proowner)::text from pg_proc
          where pronamespace = 'tenancy'::regnamespace and proname like 'adoption%'
          union
         select tableowner::text from pg_tables
          where schemaname = 'tenancy' and tablename like 'adoption%'`,
      );

    it('leave every write of the engine to be carried, there and back', async () => {
      written = 0;
      oldest = undefined;
      const { connection } = catalog;
      await adopt({ connection });
      await write();
      const [operator] = await ownerOfFunctions();
      for (const phase of PHASES) {
        await catalog.migrate(migration => migration.runPhase(phase));
        await write();
        expect(await ownerOfFunctions()).toEqual([
          phase < 4 ? operator : 'portal_admin',
        ]);
      }
      for (const to of [4, 3, 2, 1, 0] as const) {
        await catalog.migrate(migration => rollback(migration, to));
        await write();
        expect(await ownerOfFunctions()).toEqual([
          to < 4 ? operator : 'portal_admin',
        ]);
      }
      for (const phase of PHASES) {
        await catalog.migrate(migration => migration.runPhase(phase));
      }
      await write();
      await catalog.migrate(({ context }) => cleanup(context), {
        settings: { force: true },
      });
      await write();
    });

    it.each<[string, PhaseNumber, () => Promise<unknown>]>([
      ['adopt', 5, () => adopt({ connection: catalog.connection })],
      ['a phase', 3, () => catalog.migrate(m => m.runPhase(4))],
      ['a rollback', 4, () => catalog.migrate(m => rollback(m, 3))],
      [
        'the retries of a backend',
        5,
        () => retryFaults({ connection: catalog.connection }),
      ],
    ])(
      'have the functions of this version, not those of another one, after %s',
      async (_, phase, run) => {
        const { connection, engine } = catalog;
        await adopt({ connection });
        for (const each of PHASES.slice(0, phase)) {
          await catalog.migrate(migration => migration.runPhase(each));
        }
        const body = () =>
          column<string>(
            catalog,
            `select prosrc from pg_proc where oid = 'tenancy.adoption_json(text)'::regprocedure`,
          );
        const [own] = await body();
        await catalog.client.query(
          `create or replace function tenancy.adoption_json(p_text text)
           returns jsonb language sql immutable as 'select null::jsonb'`,
        );
        await run();
        await expect(body()).resolves.toEqual([own]);
        await engine.ingest({ ref: 'component:default/a' });
        await expect(refsOf(catalog)).resolves.toEqual(['component:default/a']);
      },
    );

    it('refuse no session of the engine, which writes to tables of its own', async () => {
      const { connection, knex } = catalog;
      await adopt({ connection });
      for (const phase of PHASES.slice(0, 3)) {
        await catalog.migrate(migration => migration.runPhase(phase));
      }
      const transaction = await knex.transaction();
      await transaction.raw('select');
      await catalog.migrate(migration => migration.runPhase(4));
      await transaction.rollback();
      expect(await catalog.migrate(m => m.completedPhase())).toBe(4);
    });

    it('go on after an adoption between any two of them', async () => {
      const { connection, engine } = catalog;
      await engine.ingest({ ref: 'component:default/first' });
      await adopt({ connection });
      for (const phase of PHASES) {
        await catalog.migrate(migration => migration.runPhase(phase));
        await engine.ingest({ ref: `component:default/after-${phase}` });
        // Again: what it has put there follows the phase.
        await adopt({ connection });
        await engine.ingest({ ref: `component:default/again-${phase}` });
        expect(await faultsOf(catalog)).toEqual([]);
        expect(await differences(catalog)).toEqual([]);
      }
      expect(await refsOf(catalog)).toHaveLength(11);
    });
  },
);
