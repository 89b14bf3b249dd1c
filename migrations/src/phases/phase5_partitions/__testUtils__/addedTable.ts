import type {
  TestDatabaseId,
  TestDatabases,
} from '@internal/postgres/testUtils';
import type { CatalogDatabase } from '../../../__testUtils__/catalogDatabase';
import { catalogTemplate } from '../../../__testUtils__/catalogTemplate';
import { runPhases } from '../../../__testUtils__/runPhases';
import type { Step } from '../../../engine/Step';
import {
  findings,
  preflight,
} from '../../../preflight/__testUtils__/preflight';
import { verify } from '../../../verify/verify';
import { phases } from '../..';

type CreateDatabase = () => Promise<CatalogDatabase>;

/** The phases of the version before a step was added. */
export function phasesBefore(addition: Step) {
  return phases.map(phase => ({
    ...phase,
    steps: phase.steps.filter(
      step => !step.isAddition || step.name < addition.name,
    ),
  }));
}

/** What the tests of a table need that a step added to phase 5; they close what they use. */
export function addedTable(
  databases: TestDatabases,
  id: TestDatabaseId,
  addition: Step,
) {
  const open: CatalogDatabase[] = [];
  afterEach(() => Promise.all(open.splice(0).map(each => each.close())));

  const problemsOf = async (database: CatalogDatabase) => {
    const { checks } = await database.migrate(verify, { mode: 'read' });
    return checks.flatMap(({ problems }) => problems);
  };

  async function use(create: CreateDatabase) {
    const database = await create();
    open.push(database);
    const query = async (sql: string) =>
      (await database.client.query(sql)).rows;
    return {
      database,
      query,
      problems: () => problemsOf(database),
      /** What the preflight warns of, about members and engines. */
      warnings: async () =>
        findings(await preflight(database), 'warning', 'members').map(
          ({ message, advice }) => `${message} ${advice}`,
        ),
      exists: async (table: string) => {
        const [{ found }] = await query(
          `select to_regclass('${table}') is not null as found`,
        );
        return found;
      },
    };
  }

  const migrated = catalogTemplate(databases, id, { phase: 5 });

  return {
    use,
    /** A database after phase 5. */
    migrated,
    /** A database that the version before the step has taken through phase 5. */
    migratedEarlier: catalogTemplate(databases, id, {
      phase: 4,
      prepare: database =>
        runPhases(database, 5, { phases: phasesBefore(addition) }),
    }),
    /** What verify finds in a migrated database after a statement. */
    problemsAfter: async (sql: string) => {
      const { query, problems } = await use(migrated);
      await query(sql);
      return await problems();
    },
  };
}
