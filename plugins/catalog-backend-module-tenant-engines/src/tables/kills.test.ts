import { engineSchemaOf } from 'backstage-catalog-tenancy-migrations';
import {
  createTestDatabases,
  waitUntil,
  withDeadline,
} from '@internal/postgres/testUtils';
import { randomUUID } from 'node:crypto';
import { Breaking } from './__testUtils__/breakingStream';
import { EngineDatabase } from './__testUtils__/EngineDatabase';
import {
  inventory,
  structure,
  upstreamInventory,
  withoutIds,
} from './__testUtils__/inventory';
import { UPSTREAM_NAMES } from './__testUtils__/migrationsFolder';

jest.setTimeout(600_000);

// The connection of an operation breaks before each of its statements in turn, as the kill
// of the process does it. What the next process makes of it must equal an undisturbed run.

// EngineTables.test.ts and upstreamMigrations.test.ts run the same statements on each version.
const databases = createTestDatabases({ versions: 'newest' });

/**
 * Runs an operation that breaks off, later each time, until it does not.
 *
 * @param stride - in statements; KILL_AFTER_EVERY=1 breaks it before every one
 * @returns at least how many statements it has
 */
async function atStatements(
  stride: number,
  attempt: (breaking: Breaking) => Promise<'broken' | 'done'>,
): Promise<number> {
  const every = Number(process.env.KILL_AFTER_EVERY ?? stride);
  const offset = 1 + Math.floor(Math.random() * every);
  for (let before = offset; ; before += every) {
    const breaking = new Breaking(before);
    const outcome = await withDeadline(
      `a run that breaks before statement ${before}`,
      attempt(breaking),
    );
    if (outcome === 'done') {
      return breaking.statements;
    }
  }
}

/** No session of the login is left: the server has noticed all that broke. */
async function quiet(database: EngineDatabase): Promise<void> {
  await waitUntil('the end of the sessions', async () => {
    const sessions = await database.query(
      `select from pg_stat_activity where datname = current_database() and usename = $1`,
      [database.login.user],
    );
    return sessions.length === 0;
  });
}

const outcomeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'done' as const,
    () => 'broken' as const,
  );

describe.each(databases.eachSupportedId())(
  'a process that is killed, %p',
  id => {
    it('while it makes the tables of a tenant leaves none of them, or all', async () => {
      const database = await EngineDatabase.create(databases, id);
      const upstream = await upstreamInventory(databases, id);
      const statements = await atStatements(60, async breaking => {
        const tenantId = randomUUID();
        const schema = engineSchemaOf(tenantId);
        const outcome = await outcomeOf(
          database
            .tables({ connection: breaking.connection(database.login) })
            .provision(tenantId),
        );
        await quiet(database);
        const isThere =
          (
            await database.query(
              'select from pg_namespace where nspname = $1',
              [schema],
            )
          ).length > 0;
        expect(isThere).toBe(outcome === 'done');
        await expect(database.tables().provision(tenantId)).resolves.toBe(
          isThere ? 'current' : 'created',
        );
        expect(withoutIds(await inventory(database, schema))).toEqual(upstream);
        return outcome;
      });
      expect(statements).toBeGreaterThan(100);
    });

    it.each([
      ['makes', UPSTREAM_NAMES[0], 60],
      ['upgrades', '20260510000000_search_indices_and_dedup.js', 10],
    ])(
      'while it %s the tables of the default catalog leaves what the next start completes',
      async (_, before, stride) => {
        const database = await EngineDatabase.create(databases, id);
        await database.migrateStock('alone');
        const expected = await structure(database, 'alone');
        await atStatements(stride, async breaking => {
          const schema = `default_${randomUUID()}`;
          await database.migrateStock(schema, { before });
          const outcome = await outcomeOf(
            database
              .tables({ connection: breaking.connection(database.login) })
              .protectDefaultCatalog({ schema }),
          );
          await quiet(database);
          const done = await database.query(
            `select name from "${schema}".knex_migrations`,
          );
          // Not every one of the first migrations can be repeated.
          const isAtomic = before === UPSTREAM_NAMES[0];
          expect(isAtomic && outcome === 'broken' ? done : []).toEqual([]);
          await database.tables().protectDefaultCatalog({ schema });
          expect(await structure(database, schema)).toEqual(expected);
          return outcome;
        });
      },
    );
  },
);
