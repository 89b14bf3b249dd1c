import {
  createTestDatabases,
  withDeadline,
} from '@internal/postgres/testUtils';
import { Client } from 'pg';
import type { CatalogDatabase } from '../../../__testUtils__/catalogDatabase';
import { catalogSnapshot } from '../../../__testUtils__/catalogSnapshot';
import { catalogTemplate } from '../../../__testUtils__/catalogTemplate';
import { dryRun } from '../../../__testUtils__/dryRun';
import { runPhases } from '../../../__testUtils__/runPhases';
import { stopBefore } from '../../../__testUtils__/stopBefore';
import { silentReporter } from '../../../engine/Reporter';
import type { Reporter } from '../../../engine/Reporter';
import { rollback } from '../../../rollback/rollback';
import { readStatus } from '../../../status';
import { faultsOf } from './__testUtils__/faults';
import { entitySearch, entitySearchFill } from './index';

const databases = createTestDatabases();
const ENTITIES = 60;
// Every 20th is deleted.
const LIVE = 57;

describe.each(databases.eachSupportedId())(
  'the step that fills entity_search on %s',
  id => {
    const beforeFill = catalogTemplate(databases, id, {
      entities: ENTITIES,
      prepare: async prepared => {
        await prepared.client.query('create extension pg_trgm schema public');
        await runPhases(prepared, 4);
        await stopBefore(prepared, 5, entitySearchFill);
      },
    });
    let database: CatalogDatabase;
    beforeEach(async () => {
      database = await beforeFill();
    });
    afterEach(() => database.close());

    const runPhase5 = (
      options: Parameters<CatalogDatabase['migrate']>[1] = {},
    ) => database.migrate(migration => migration.runPhase(5), options);

    async function entitiesWithTerms(): Promise<number> {
      const { rows } = await database.client.query<{ count: number }>(
        'select count(distinct entity_id)::int as count from entity_search',
      );
      return rows[0].count;
    }

    it('gives the entities their terms that were there before', async () => {
      await expect(entitiesWithTerms()).resolves.toBe(0);
      expect(await faultsOf(database)).toHaveLength(1);
      await runPhase5();
      await expect(entitiesWithTerms()).resolves.toBe(LIVE);
      await expect(faultsOf(database)).resolves.toEqual([]);
    });

    it('goes on where it was stopped', async () => {
      const stop = new Error('stopped');
      let filled = 0;
      const stopping: Reporter = {
        ...silentReporter,
        progress: () => ({
          advance: rows => {
            filled += rows;
            if (filled >= 8) {
              throw stop;
            }
          },
          finish: () => undefined,
        }),
      };
      // Twenty entities in a batch, of which some may be deleted.
      await expect(runPhase5({ reporter: stopping })).rejects.toBe(stop);
      await expect(entitiesWithTerms()).resolves.toBe(filled);
      expect(filled).toBeLessThan(LIVE);
      let more = 0;
      await runPhase5({
        reporter: {
          ...silentReporter,
          progress: () => ({
            advance: rows => {
              more += rows;
            },
            finish: () => undefined,
          }),
        },
      });
      expect(filled + more).toBe(LIVE);
      await expect(faultsOf(database)).resolves.toEqual([]);
    });

    it('leaves no term of what was changed meanwhile, by whatever snapshot', async () => {
      const others = await Promise.all(
        [1, 2, 3, 4].map(async () => {
          const client = new Client(database.connection);
          await client.connect();
          await client.query('set search_path = tenancy');
          return client;
        }),
      );
      const [locking, deleting, renaming, writing] = others;
      const snapshot =
        'begin isolation level repeatable read; select count(*) from entity_search';
      try {
        await locking.query(
          `begin; update entities set final_entity = '{"spec": 1}' where entity_name = 'service-1'`,
        );
        for (const client of [deleting, renaming, writing]) {
          await client.query(snapshot);
        }
        let goOn: () => void = () => undefined;
        const filled = new Promise<void>(resolve => {
          goOn = resolve;
        });
        const phase = runPhase5({
          reporter: {
            ...silentReporter,
            info: message => {
              if (message.startsWith('Waiting for the transactions')) {
                goOn();
              }
            },
          },
        });
        await withDeadline('the fill', Promise.race([filled, phase]));
        await expect(entitiesWithTerms()).resolves.toBe(LIVE - 1);
        // Their snapshots do not show what was filled.
        await deleting.query(
          `delete from entities where entity_name = 'service-2'; commit`,
        );
        await renaming.query(
          `update entities set final_entity = final_entity, deleted_at = now()
            where entity_name = 'service-3'; commit`,
        );
        await expect(
          writing.query(
            `update entities set final_entity = jsonb_set(final_entity, '{kind}', '"API"')
              where entity_name = 'service-4'`,
          ),
        ).rejects.toMatchObject({ code: '40001' });
        await writing.query('rollback');
        await locking.query('rollback');
        await phase;
      } finally {
        await Promise.all(others.map(client => client.end()));
      }
      await expect(entitiesWithTerms()).resolves.toBe(LIVE - 2);
      await expect(faultsOf(database)).resolves.toEqual([]);
    });

    it('prints a script that does the same', async () => {
      const script = await dryRun(database, 5);
      await expect(entitiesWithTerms()).resolves.toBe(0);
      const client = new Client(database.connection);
      await client.connect();
      try {
        for (const statement of script) {
          await client.query(statement);
        }
      } finally {
        await client.end();
      }
      await expect(entitiesWithTerms()).resolves.toBe(LIVE);
      await expect(faultsOf(database)).resolves.toEqual([]);
      await expect(runPhase5()).resolves.toBe(false);
    });

    it('is undone and done again, and a rollback leaves nothing of it', async () => {
      await runPhase5();
      const before = await catalogSnapshot(database.client);
      await database.migrate(migration => migration.undoFrom(entitySearch));
      const undone = JSON.stringify(await catalogSnapshot(database.client));
      expect(undone).not.toMatch(/entity_search|entity_parents/);
      await runPhase5();
      await expect(catalogSnapshot(database.client)).resolves.toEqual(before);
      await database.migrate(migration => rollback(migration));
      const back = JSON.stringify(await catalogSnapshot(database.client));
      expect(back).not.toMatch(/entity_search|entity_parents/);
      await runPhase5();
      await expect(entitiesWithTerms()).resolves.toBe(LIVE);
      await expect(faultsOf(database)).resolves.toEqual([]);
    });

    it('is what remains to be done where all other steps were done before there was one', async () => {
      await database.migrate(migration => migration.undoFrom(entitySearch));
      // As the smoke tests of phase 6 leave it.
      await database.client.query(
        `insert into tenancy_migrations (name, batch, migration_time)
         values ('6_10_smoke_tests', 1, now())`,
      );
      const status = await database.migrate(readStatus, { mode: 'read' });
      expect(status.next.command).toBe(
        'npx backstage-catalog-tenancy-migrations phase5',
      );
      await runPhase5();
      await expect(faultsOf(database)).resolves.toEqual([]);
      await expect(
        database.migrate(readStatus, { mode: 'read' }),
      ).resolves.toMatchObject({ phase: 6 });
    });
  },
);
