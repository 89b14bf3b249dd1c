import { createTestDatabases } from '@internal/postgres/testUtils';
import type { CatalogDatabase } from '../../__testUtils__/catalogDatabase';
import { createCatalogDatabase } from '../../__testUtils__/catalogDatabase';
import { stopBefore } from '../../__testUtils__/stopBefore';
import { rollback } from '../../rollback/rollback';
import { MigrationSession } from '../../session/MigrationSession';
import { swap } from './70_swap';

const databases = createTestDatabases();

/** What is added, and how a refusal names it. */
const ADDITIONS = [
  ['create index late on relations (weight)', 'late (relations)'],
  [
    'alter table relations add constraint late check (weight < 1000)',
    'late (relations)',
  ],
  [
    `create function noop() returns trigger language plpgsql as 'begin return null; end';
     create trigger late after insert on relations for each row execute function noop()`,
    'late (relations)',
  ],
  ['create view late as select * from relations', 'tenancy.late'],
] as const;

describe.each(databases.eachSupportedId())(
  'what is added to the tables after their copies on %s',
  id => {
    const create = () =>
      createCatalogDatabase(databases, id, {
        entities: 20,
        phase: 4,
        prepare: prepared => stopBefore(prepared, 5, swap),
      });
    let database: CatalogDatabase;
    const query = async (sql: string) =>
      (await database.client.query(sql)).rows;
    beforeEach(async () => {
      database = await create();
    });
    afterEach(async () => {
      jest.restoreAllMocks();
      await database.close();
    });

    const runPhase5 = () =>
      database.migrate(migration => migration.runPhase(5));
    const isSwapped = async () => {
      const [{ relkind }] = await query(
        `select relkind from pg_class where oid = 'relations'::regclass`,
      );
      return relkind === 'p';
    };
    const refused = (named: string) => ({
      name: 'RefusedError',
      exitCode: 3,
      message: expect.stringContaining(named),
    });

    it('refuses the swap, also forward again', async () => {
      const [[add, named]] = ADDITIONS;
      await query(add);
      await expect(runPhase5()).rejects.toMatchObject(refused(named));
      await expect(isSwapped()).resolves.toBe(false);
      await query('drop index late');
      await runPhase5();
      await expect(isSwapped()).resolves.toBe(true);
      await database.migrate(migration => rollback(migration));
      await query(add);
      await expect(runPhase5()).rejects.toMatchObject(refused(named));
    });

    it.each(ADDITIONS)(
      'is noticed in the very moment before the swap: %s',
      async (add, named) => {
        const original = MigrationSession.prototype.query;
        let added = false;
        jest
          .spyOn(MigrationSession.prototype, 'query')
          .mockImplementation(async function addFirst(
            this: MigrationSession,
            ...args: Parameters<typeof original>
          ) {
            if (!added && args[0].includes('rename to relations_old')) {
              added = true;
              await query(add);
            }
            return original.apply(this, args) as any;
          });
        await expect(runPhase5()).rejects.toMatchObject(
          refused('changed a moment ago. Run the command again'),
        );
        expect(added).toBe(true);
        await expect(isSwapped()).resolves.toBe(false);
        await expect(runPhase5()).rejects.toMatchObject(refused(named));
      },
    );
  },
);
