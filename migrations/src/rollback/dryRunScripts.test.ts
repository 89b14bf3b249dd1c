import { createTestDatabases } from '@internal/postgres/testUtils';
import { Client } from 'pg';
import { testSettings } from '../__testUtils__/catalogDatabase';
import type { CatalogDatabase } from '../__testUtils__/catalogDatabase';
import { catalogTemplate } from '../__testUtils__/catalogTemplate';
import { databaseDump, journalDump } from '../__testUtils__/databaseDump';
import { runPhases } from '../__testUtils__/runPhases';
import { stopBefore } from '../__testUtils__/stopBefore';
import { cleanup } from '../cleanup/cleanup';
import { runInProcess } from '../cli/__testUtils__/runCli';
import type { PhaseNumber } from '../engine/Step';
import { foreignKeys } from '../phases/phase5_partitions/60_foreign_keys';
import { entityParents } from '../phases/phase5_partitions/90_entity_terms';
import { rollback } from './rollback';

const databases = createTestDatabases();
const OTHER = '00000000-0000-0000-0000-0000000000aa';

interface State {
  name: string;
  prepare(database: CatalogDatabase): Promise<void>;
  /** The phases to go back to. Without one, a rollback goes to the last safe point. */
  targets: (PhaseNumber | 0 | undefined)[];
  /** Whether a rollback is forced. */
  force?: boolean;
  /** The phase that comes next, if it changes the database. */
  next?: PhaseNumber;
  /** Whether the tables of before can be dropped. */
  cleanup?: boolean;
}

const back =
  (to?: PhaseNumber | 0, force = false) =>
  (database: CatalogDatabase) =>
    database.migrate(migration => rollback(migration, to), {
      settings: { force },
    });

const SWAPPED = 'the swap of phase 5';

const STATES: State[] = [
  ...([1, 2, 3, 4] as const).map(
    (phase): State => ({
      name: `phase ${phase}`,
      prepare: database => runPhases(database, phase),
      targets: [
        undefined,
        ...([0, 1, 2, 3] as const).filter(target => target < phase),
      ],
      next: (phase + 1) as PhaseNumber,
    }),
  ),
  {
    name: SWAPPED,
    prepare: database => runPhases(database, 5),
    targets: [undefined, 0, 1, 2, 3, 4],
    cleanup: true,
  },
  {
    name: 'a swap, with rows of another tenant',
    prepare: async database => {
      await runPhases(database, 5);
      await database.client.query(
        `set row_security = off;
         insert into tenants (tenant_id, tenant_slug, tenant_name)
         values ('${OTHER}', 'acme', 'ACME');
         insert into entities (tenant_id, entity_ref, entity_kind, entity_name, final_entity, hash)
         values ('${OTHER}', 'api:default/a', 'api', 'a', '{}', '')`,
      );
    },
    targets: [undefined, 0, 3],
    force: true,
    cleanup: true,
  },
  {
    name: 'a copy without foreign keys',
    prepare: async database => {
      await runPhases(database, 4);
      await stopBefore(database, 5, foreignKeys);
    },
    targets: [undefined, 0, 4],
    next: 5,
  },
  {
    name: 'a swap without entity_terms',
    prepare: async database => {
      await runPhases(database, 4);
      await stopBefore(database, 5, entityParents);
    },
    targets: [undefined, 0],
    next: 5,
  },
  {
    name: 'a rollback of the swap',
    prepare: async database => {
      await runPhases(database, 5);
      await back()(database);
    },
    targets: [0, 3, 4],
    next: 5,
  },
  {
    name: 'a second swap',
    prepare: async database => {
      await runPhases(database, 5);
      await back()(database);
      await runPhases(database, 5);
    },
    targets: [undefined, 0, 4],
  },
];

// A minute for each version. On all but the newest, only of the partitioned tables in use,
// unless EVERY_DRY_RUN=1 is set.
const statesOn = (id: string) =>
  process.env.EVERY_DRY_RUN === '1' ||
  id === databases.eachSupportedId().at(-1)?.[0]
    ? STATES
    : STATES.filter(({ name }) => name === SWAPPED);

describe.each(databases.eachSupportedId())(
  'the script of a dry run on %s',
  id => {
    const opened: CatalogDatabase[] = [];
    afterEach(async () => {
      await Promise.all(opened.splice(0).map(database => database.close()));
    });

    /** Runs the script as psql does: each statement in a message, in one session. */
    const runScript = async (database: CatalogDatabase, script: string) => {
      const operator = new Client(database.connection);
      await operator.connect();
      try {
        for (const statement of script.split(';\n\n').slice(0, -1)) {
          await operator.query(statement).catch(error => {
            throw new Error(`${error.message}\n${statement}`);
          });
        }
      } finally {
        await operator.end();
      }
    };

    const dump = async ({ client }: CatalogDatabase) => ({
      ...(await databaseDump(client)),
      journal: await journalDump(client),
    });

    /** Prints the script with the command line, and changes nothing. */
    const scriptOf = async (database: CatalogDatabase, ...args: string[]) => {
      const before = await dump(database);
      const { exitCode, stdout, stderr } = await runInProcess(
        database.connection,
        ...args,
        '--dry-run',
      );
      expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
      expect(await dump(database)).toEqual(before);
      return stdout;
    };

    describe.each(statesOn(id))('after $name', state => {
      const { prepare, targets, force, next } = state;
      const create = catalogTemplate(databases, id, {
        entities: 12,
        prepare: async database => {
          await prepare(database);
          await database.client.query(
            `update relations set weight = 3 where type = 'ownedBy'`,
          );
        },
      });
      const open = async () => {
        const database = await create();
        opened.push(database);
        return database;
      };

      it.each(targets)(
        'goes back to phase %s as the command does',
        async to => {
          const [byCommand, byScript] = [await open(), await open()];
          const script = await scriptOf(
            byScript,
            'rollback',
            ...(to === undefined ? [] : ['--to', String(to)]),
            ...(force ? ['--force'] : []),
          );
          await runScript(byScript, script);
          await back(to, force)(byCommand);
          expect(await dump(byScript)).toEqual(await dump(byCommand));
        },
      );

      if (next) {
        it(`goes forward with phase ${next} as the command does`, async () => {
          const [byCommand, byScript] = [await open(), await open()];
          const script = await scriptOf(
            byScript,
            `phase${next}`,
            ...(next === 2
              ? ['--tenant-name', testSettings.defaultTenantName]
              : []),
          );
          await runScript(byScript, script);
          await byCommand.migrate(migration => migration.runPhase(next));
          expect(await dump(byScript)).toEqual(await dump(byCommand));
        });
      }

      if (state.cleanup) {
        it('drops the tables of before as the command does', async () => {
          const [byCommand, byScript] = [await open(), await open()];
          await runScript(
            byScript,
            await scriptOf(byScript, 'cleanup', '--force'),
          );
          await byCommand.migrate(({ context }) => cleanup(context), {
            settings: { force: true },
          });
          expect(await dump(byScript)).toEqual(await dump(byCommand));
        });
      }
    });
  },
);
