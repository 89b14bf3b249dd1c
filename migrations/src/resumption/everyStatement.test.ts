import { createTestDatabases } from '@internal/postgres/testUtils';
import { createCatalogDatabase } from '../__testUtils__/catalogDatabase';
import type { PhaseNumber } from '../engine/Step';
import type { TenancyMigration } from '../engine/TenancyMigration';
import { rollback } from '../rollback/rollback';
import { Clones } from './__testUtils__/Clones';

// The sessions of each phase and of its undo are terminated between two statements.
// Then it is gone on with or turned round, and the outcome is compared with that of one
// that was not disturbed. A run takes some of the places; all of them, in about half an
// hour, with
//
//   KILL_AFTER_EVERY=1 CI=1 npx backstage-cli repo test migrations/src/resumption

const every = Number(process.env.KILL_AFTER_EVERY ?? 97);

jest.setTimeout(3_600_000);

const databases = createTestDatabases();
const PHASES = [1, 2, 3, 4, 5] as const;

// What an undisturbed way has, or has not, of the way back.
const BY_THE_WAY =
  /tenancy_replay_changes|_tenant_entity_(fkey|id_key)|_tenant_id_(entity_id|originating_entity(_id)?)_fkey/;

type Change = (migration: TenancyMigration) => Promise<unknown>;

interface Case {
  title: string;
  phase: PhaseNumber;
  begin: 'up' | 'down';
  goOn: 'up' | 'down';
}

const cases = PHASES.flatMap((phase): Case[] => [
  { title: `phase ${phase}, run again`, phase, begin: 'up', goOn: 'up' },
  { title: `phase ${phase}, undone`, phase, begin: 'up', goOn: 'down' },
  {
    title: `the undo of phase ${phase}, run again`,
    phase,
    begin: 'down',
    goOn: 'down',
  },
  {
    title: `the undo of phase ${phase}, and up again`,
    phase,
    begin: 'down',
    goOn: 'up',
  },
]);

describe.each(databases.eachSupportedId())('on %s', id => {
  let clones: Clones;
  /** The databases after so many phases, and after the undo of the next one. */
  const after: string[] = [];
  const undone: string[] = [];
  /** How many statements an undisturbed way has. */
  const statements: Record<'up' | 'down', number[]> = { up: [], down: [] };

  const change = (direction: 'up' | 'down', phase: PhaseNumber): Change =>
    direction === 'up'
      ? migration => migration.runPhase(phase)
      : migration => rollback(migration, (phase - 1) as PhaseNumber | 0);

  async function undisturbed(
    name: string,
    direction: 'up' | 'down',
    phase: PhaseNumber,
  ): Promise<string> {
    statements[direction][phase] = await clones.count(name, () =>
      clones.migrate(name, change(direction, phase)),
    );
    return name;
  }

  beforeAll(async () => {
    const database = await createCatalogDatabase(databases, id, {
      entities: 8,
    });
    await database.close();
    clones = await Clones.open(database.connection);
    after[0] = await clones.clone(database.connection.database!);
    for (const phase of PHASES) {
      const up = await clones.clone(after[phase - 1]);
      after[phase] = await undisturbed(up, 'up', phase);
      const down = await clones.clone(after[phase]);
      undone[phase - 1] = await undisturbed(down, 'down', phase);
    }
  });
  afterAll(() => clones.close());

  /** What is different after a kill behind so many statements. */
  async function differencesAfter(
    place: number,
    { phase, begin, goOn }: Case,
    expected: Record<string, string[]>,
  ): Promise<string[]> {
    const name = await clones.clone(after[begin === 'up' ? phase - 1 : phase]);
    await clones.kill(place, name, () =>
      clones.migrate(name, change(begin, phase)),
    );
    await clones.migrate(name, change(goOn, phase));
    const found = await clones.describe(name);
    await clones.drop(name);
    return compare(found, expected).map(
      difference => `after ${place} statements: ${difference}`,
    );
  }

  it.each(cases)('goes on from wherever it was killed: $title', async each => {
    const { phase, begin, goOn } = each;
    const expected = await clones.describe(
      goOn === 'up' ? after[phase] : undone[phase - 1],
    );
    const places = placesAmong(statements[begin][phase], cases.indexOf(each));
    expect(places).not.toEqual([]);
    for (const place of places) {
      await expect(differencesAfter(place, each, expected)).resolves.toEqual(
        [],
      );
    }
  });
});

/** After how many statements to kill: others for each case, and at least one. */
function placesAmong(total: number, seed: number): number[] {
  const step = Math.min(every, total - 1);
  const places = [];
  for (let place = 1 + ((seed * 7) % step); place < total; place += step) {
    places.push(place);
  }
  return places;
}

function compare(
  found: Record<string, string[]>,
  expected: Record<string, string[]>,
): string[] {
  const lack = (some: string[] = [], others: string[] = []) =>
    some.filter(each => !others.includes(each) && !BY_THE_WAY.test(each));
  return Object.keys({ ...found, ...expected }).flatMap(name => [
    ...lack(found[name], expected[name]).map(each => `${name}: also ${each}`),
    ...lack(expected[name], found[name]).map(each => `${name}: not ${each}`),
  ]);
}
