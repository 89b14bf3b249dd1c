import { createTestDatabases } from '@internal/postgres/testUtils';
import { createCatalogDatabase } from '../__testUtils__/catalogDatabase';
import type { PhaseNumber } from '../engine/Step';
import type { TenancyMigration } from '../engine/TenancyMigration';
import { rollback } from '../rollback/rollback';
import { Clones } from './__testUtils__/Clones';
import { Killer } from './__testUtils__/Killer';

// Each phase and its undo are killed between two statements, then gone on with or
// turned round, and the outcome is compared with that of one that nobody disturbed.
// A run takes some of the places; all of them, in about half an hour, with
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

  const change = (direction: 'up' | 'down', phase: PhaseNumber): Change =>
    direction === 'up'
      ? migration => migration.runPhase(phase)
      : migration => rollback(migration, (phase - 1) as PhaseNumber | 0);

  beforeAll(async () => {
    const database = await createCatalogDatabase(databases, id, {
      entities: 8,
    });
    await database.close();
    clones = await Clones.open(database.connection);
    after[0] = await clones.clone(database.connection.database!);
    for (const phase of PHASES) {
      after[phase] = await clones.clone(after[phase - 1]);
      await clones.migrate(after[phase], change('up', phase));
      undone[phase - 1] = await clones.clone(after[phase]);
      await clones.migrate(undone[phase - 1], change('down', phase));
    }
  });
  afterAll(() => clones.close());

  /** What is different after a kill behind so many statements; nothing after the last. */
  async function differences(
    { phase, begin, goOn }: Case,
    statements: number,
    expected: Record<string, string[]>,
  ): Promise<string[] | undefined> {
    const name = await clones.clone(after[begin === 'up' ? phase - 1 : phase]);
    const killer = Killer.afterStatements(statements, clones.admin);
    try {
      await clones.migrate(name, change(begin, phase));
      return undefined;
    } catch (error) {
      if (!killer.hasKilled) {
        throw error;
      }
    } finally {
      killer.stop();
    }
    await clones.migrate(name, change(goOn, phase));
    const found = await clones.describe(name);
    await clones.drop(name);
    return compare(found, expected).map(
      difference => `after ${statements} statements: ${difference}`,
    );
  }

  it.each(cases)('goes on from wherever it was killed: $title', async each => {
    const { phase, goOn } = each;
    const expected = await clones.describe(
      goOn === 'up' ? after[phase] : undone[phase - 1],
    );
    // Another place in each case.
    let statements = 1 + ((cases.indexOf(each) * 7) % every);
    const found: string[] = [];
    for (;;) {
      const more = await differences(each, statements, expected);
      if (!more) {
        break;
      }
      found.push(...more);
      statements += every;
    }
    expect(found).toEqual([]);
  });
});

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
