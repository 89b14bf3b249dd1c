import { createTestDatabases } from '@internal/postgres/testUtils';
import type { ClientConfig } from 'pg';
import {
  createCatalogDatabase,
  openCatalogDatabase,
} from '../__testUtils__/catalogDatabase';
import type { CatalogDatabase } from '../__testUtils__/catalogDatabase';
import { catalogSnapshot } from '../__testUtils__/catalogSnapshot';
import { Clones } from '../resumption/__testUtils__/Clones';
import { SessionKiller } from '../resumption/__testUtils__/SessionKiller';
import { givePartition, takeBackPartition } from './move';
import { readPreparation } from './unfinishedMoves';
import { addTenants, contents, ENTITIES, TEAM } from './__testUtils__/tenants';

const databases = createTestDatabases({ versions: 'newest' });
jest.setTimeout(600_000);

// After so many statements the sessions of a command are terminated, then after twice as
// many, and so on: KILL_AFTER_EVERY=1 takes them all, in some minutes.
const every = Number(process.env.KILL_AFTER_EVERY ?? 11);

const COMMANDS = { give: givePartition, takeBack: takeBackPartition };
type Command = keyof typeof COMMANDS;
const OPPOSITE = { give: 'takeBack', takeBack: 'give' } as const;

describe.each(databases.eachSupportedId())('killed moves on %s', id => {
  let clones: Clones;
  let template: ClientConfig;
  let name: string;

  beforeAll(async () => {
    const database = await createCatalogDatabase(databases, id, {
      entities: ENTITIES,
      phase: 5,
    });
    await addTenants(database);
    await database.close();
    template = database.connection;
    clones = await Clones.open(template);
  });
  beforeEach(async () => {
    name = await clones.clone(template.database!);
  });
  afterAll(() => clones.close());

  const run = (command: Command) =>
    clones.migrate(name, async ({ context }) => {
      await COMMANDS[command](context, 'my-team');
      expect(await readPreparation(context.state)).toBeUndefined();
    });

  /** Works in a session that ends before the next kill. */
  async function look<T>(
    work: (database: CatalogDatabase) => Promise<T>,
  ): Promise<T> {
    const database = await openCatalogDatabase({ ...template, database: name });
    try {
      return await work(database);
    } finally {
      await database.close();
    }
  }

  const write = (n: number) =>
    look(({ client }) =>
      client.query(`update entities set hash = 'after-${n}'
        where tenant_id = '${TEAM}' and entity_name = 'part-${n % 60}'`),
    );

  const catalogOf = () => look(({ client }) => catalogSnapshot(client));

  /** Whether a command came to its end before it had sent so many statements. */
  async function killAfter(after: number, command: Command): Promise<boolean> {
    const killer = new SessionKiller({
      after,
      admin: clones.admin,
      database: name,
    });
    try {
      await run(command);
    } catch (error) {
      if (!killer.kill) {
        throw killer.failure ?? error;
      }
    } finally {
      await killer.stop();
    }
    if (killer.failure) {
      throw killer.failure;
    }
    return killer.kill === undefined;
  }

  it('go on from wherever they were, with what was written since', async () => {
    const catalog = await catalogOf();
    for (const command of ['give', 'takeBack'] as const) {
      let place = every;
      let expected = await look(contents);
      while (!(await killAfter(place, command))) {
        await write(place);
        expected = await look(contents);
        place += every;
      }
      expect(place).toBeGreaterThan(5 * every);
      await expect(look(contents)).resolves.toEqual(expected);
      // It was the last run that did it, or the one before.
      await run(command);
      await expect(look(contents)).resolves.toEqual(expected);
    }
    await expect(catalogOf()).resolves.toEqual(catalog);
  });

  it.each(['give', 'takeBack'] as const)(
    'are undone by the opposite command, wherever it was: %s',
    async command => {
      if (command === 'takeBack') {
        await run('give');
      }
      const catalog = await catalogOf();
      const before = await look(contents);
      let place = every;
      while (!(await killAfter(place, command))) {
        await run(OPPOSITE[command]);
        await expect(catalogOf()).resolves.toEqual(catalog);
        await expect(look(contents)).resolves.toEqual(before);
        place += every;
      }
      expect(place).toBeGreaterThan(5 * every);
    },
  );
});
