import { engineSchemaOf } from 'backstage-catalog-tenancy-migrations';
import {
  createTestDatabases,
  waitUntil,
  withDeadline,
} from '@internal/postgres/testUtils';
import { randomUUID } from 'node:crypto';
import { Breaking } from './__testUtils__/breakingStream';
import { EngineDatabase } from './__testUtils__/EngineDatabase';
import { inventory, withoutIds } from './__testUtils__/inventory';
import { migrationsFolder, NOT_COPIED } from './__testUtils__/migrationsFolder';

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
      const database = await EngineDatabase.create(databases, id, {
        hasTemplate: true,
      });
      const template = await inventory(database, 'tenant_template');
      const statements = await atStatements(7, async breaking => {
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
          isThere ? 'present' : 'created',
        );
        expect(await inventory(database, schema)).toEqual(template);
        return outcome;
      });
      expect(statements).toBeGreaterThan(20);
    });

    it('while the migrations of the catalog make the tables of a tenant leaves them to the next', async () => {
      const database = await EngineDatabase.create(databases, id);
      const migrationsDirectory = migrationsFolder({ further: NOT_COPIED });
      const tables = database.tables({ migrationsDirectory });
      await tables.prepareTemplate();
      const template = withoutIds(await inventory(database, 'tenant_template'));
      const statements = await atStatements(90, async breaking => {
        const tenantId = randomUUID();
        const outcome = await outcomeOf(
          database
            .tables({
              connection: breaking.connection(database.login),
              migrationsDirectory,
            })
            .provision(tenantId),
        );
        await quiet(database);
        const isThere = (await tables.list()).some(
          each => each.tenantId === tenantId,
        );
        expect(isThere).toBe(outcome === 'done');
        await expect(tables.provision(tenantId)).resolves.toBe(
          isThere ? 'present' : 'created',
        );
        expect(
          withoutIds(await inventory(database, engineSchemaOf(tenantId))),
        ).toEqual(template);
        return outcome;
      });
      expect(statements).toBeGreaterThan(100);
    });

    it('while it makes the template leaves the one before, and the next makes it', async () => {
      const expected = await EngineDatabase.create(databases, id);
      const older = migrationsFolder({
        before: '20260510000000_search_indices_and_dedup.js',
      });
      const newer = migrationsFolder({});
      const template = async (database: EngineDatabase) =>
        withoutIds(await inventory(database, 'tenant_template'));
      await expected.tables({ migrationsDirectory: older }).prepareTemplate();
      const before = await template(expected);
      await expected.tables({ migrationsDirectory: newer }).prepareTemplate();
      const after = await template(expected);

      const database = await EngineDatabase.create(databases, id);
      await database.tables({ migrationsDirectory: older }).prepareTemplate();
      const statements = await atStatements(59, async breaking => {
        const outcome = await outcomeOf(
          database
            .tables({
              connection: breaking.connection(database.login),
              migrationsDirectory: newer,
            })
            .prepareTemplate(),
        );
        await quiet(database);
        expect(await template(database)).toEqual(
          outcome === 'done' ? after : before,
        );
        return outcome;
      });
      expect(statements).toBeGreaterThan(100);
      expect(await template(database)).toEqual(after);
      expect(
        await database.query(
          `select nspname from pg_namespace where nspname ~ '^tenant_'`,
        ),
      ).toEqual([{ nspname: 'tenant_template' }]);
    });

    it('while it migrates the tables of a tenant, or the default ones, is gone on with by the next', async () => {
      // Upstream's next migration has no transaction, and does not look what is there.
      const before = '20240130092632_search_index.js';
      const database = await EngineDatabase.create(databases, id);
      const older = database.tables({
        migrationsDirectory: migrationsFolder({ before }),
      });
      await database.migrateStock('stock', { before });
      await older.prepareTemplate();
      const [one, other] = [randomUUID(), randomUUID()];
      await older.provision(one);
      await older.provision(other);
      const tables = database.tables();
      await tables.prepareTemplate();
      await tables.upgrade(other);
      const expected = await inventory(database, engineSchemaOf(other));

      const same = ['indexes', 'constraints', 'columns', 'statistics'] as const;
      // Each run gets as far as the statement at which it breaks, and leaves that to the next.
      const statements = await atStatements(9, async breaking => {
        const broken = database.tables({
          connection: breaking.connection(database.login),
        });
        const outcome = await outcomeOf(broken.upgrade(one));
        await quiet(database);
        return outcome;
      });
      expect(statements).toBeGreaterThan(10);
      await atStatements(9, async breaking => {
        const broken = database.tables({
          connection: breaking.connection(database.login),
        });
        const outcome = await outcomeOf(
          broken.protectDefaultCatalog({ schema: 'stock' }),
        );
        await quiet(database);
        return outcome;
      });
      for (const schema of [engineSchemaOf(one), 'stock']) {
        const found = await inventory(database, schema);
        for (const what of same) {
          expect(found[what]).toEqual(expected[what]);
        }
        expect(found['rows of knex_migrations_lock']).toEqual(
          expected['rows of knex_migrations_lock'],
        );
      }
    });
  },
);
