import { createTestDatabases } from '@internal/postgres/testUtils';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CatalogDatabase } from '../../../__testUtils__/catalogDatabase';
import { catalogTemplate } from '../../../__testUtils__/catalogTemplate';
import { asLogin } from '../../../__testUtils__/roles';
import { runPhases } from '../../../__testUtils__/runPhases';
import { stopBefore } from '../../../__testUtils__/stopBefore';
import { recordStatement } from '../../../engine/journal';
import {
  findings,
  preflight,
} from '../../../preflight/__testUtils__/preflight';
import { rollback } from '../../../rollback/rollback';
import { verify } from '../../../verify/verify';
import { phasesBefore } from '../__testUtils__/addedTable';
import { entityParents, entityTerms, entityTermsFill } from './index';

const databases = createTestDatabases();

const EARLIER_TABLE = readFileSync(
  join(__dirname, '__fixtures__/entity_search.sql'),
  'utf8',
);

/** The phases of the version before, whose step 5_90 created and filled entity_search. */
const earlierPhases = phasesBefore(entityTerms).map(phase => ({
  ...phase,
  steps: phase.steps.map(step =>
    step === entityParents
      ? {
          ...step,
          async up(context: Parameters<typeof step.up>[0]) {
            await step.up(context);
            await context.executor.transaction({
              title: 'Create entity_search',
              locks: 'None that matter to a test.',
              statements: [EARLIER_TABLE],
            });
          },
        }
      : step,
  ),
}));

const RENAME = `update entities set final_entity = jsonb_set(final_entity, '{metadata,title}', '"Renamed"')
 where entity_id = (select min(entity_id::text)::uuid from entities where deleted_at is null)`;

describe.each(databases.eachSupportedId())(
  'a database that an earlier version has migrated, on %s',
  id => {
    const migratedEarlier = catalogTemplate(databases, id, {
      phase: 4,
      prepare: database => runPhases(database, 5, { phases: earlierPhases }),
    });
    let database: CatalogDatabase;
    const query = async (sql: string) =>
      (await database.client.query(sql)).rows;
    const problems = async () =>
      (await database.migrate(verify, { mode: 'read' })).checks.flatMap(
        check => check.problems,
      );
    const titles = (table: string, key: string) =>
      query(
        `select value from ${table} where key = '${key}' and value = 'renamed'`,
      );
    const advice = async () =>
      findings(await preflight(database), 'warning', 'earlier terms');

    beforeEach(async () => {
      database = await migratedEarlier();
    });
    afterEach(() => database.close());

    it('gets entity_terms by phase5, and keeps entity_search for the backends of that version', async () => {
      await expect(problems()).resolves.toContainEqual(
        expect.stringMatching(
          /^There is no entity_terms in schema "tenancy": run ".*phase5", also where it was run before/,
        ),
      );
      await expect(advice()).resolves.toMatchObject([
        { advice: expect.stringContaining('Phase 5 puts entity_terms') },
      ]);
      await runPhases(database, 5);
      await expect(problems()).resolves.toEqual([]);
      await query(RENAME);
      await expect(
        titles('entity_search', 'metadata.title'),
      ).resolves.toHaveLength(1);
      await expect(titles('entity_terms', 'Mtitle')).resolves.toHaveLength(1);
      await expect(problems()).resolves.toEqual([]);
      await asLogin(database, 'portal_app', async client => {
        await client.query(
          `begin; set local app.tenant_id = '00000000-0000-0000-0000-000000000001'`,
        );
        const { rows } = await client.query(
          `select count(*)::int > 0 as found from entity_search`,
        );
        expect(rows).toEqual([{ found: true }]);
      });
    });

    it('lets the other users that the application connects as read entity_terms', async () => {
      const user = `terms_${process.pid}_${id.toLowerCase()}`;
      await query(
        `create role ${user}; grant select on entity_parents to ${user}`,
      );
      try {
        await runPhases(database, 5);
        await expect(
          query(
            `select has_table_privilege('${user}', 'entity_terms', 'select') as may`,
          ),
        ).resolves.toEqual([{ may: true }]);
      } finally {
        await query(`drop owned by ${user}; drop role ${user}`);
      }
    });

    it('is examined for ways from tenant to tenant in entity_search too', async () => {
      await runPhases(database, 5);
      await query(
        'drop policy tenant_isolation on entity_search; grant insert on entity_search to portal_app',
      );
      await expect(problems()).resolves.toEqual([
        expect.stringMatching(/may write to entity_search/),
        expect.stringMatching(/entity_search/),
      ]);
    });

    it('is not served by a backend before all terms are there', async () => {
      await stopBefore(database, 5, entityTermsFill);
      await expect(problems()).resolves.toContainEqual(
        expect.stringMatching(
          /^entity_terms in schema "tenancy" does not hold the terms of all entities yet: wait for ".*phase5" to end/,
        ),
      );
    });

    it('is not filled anew where the command was killed after the end of the fill', async () => {
      const killed = new Error('killed');
      const kill = database.migrate(migration => {
        const { executor } = migration.context;
        const execute = executor.execute.bind(executor);
        executor.execute = async statement => {
          if (statement === recordStatement(entityTermsFill)) {
            throw killed;
          }
          await execute(statement);
        };
        return migration.runPhase(5);
      });
      await expect(kill).rejects.toBe(killed);
      const terms = () =>
        query(
          'select xmin::text, ctid::text, key from entity_terms order by 2, 3',
        );
      const before = await terms();
      expect(before).not.toEqual([]);
      await runPhases(database, 5);
      await expect(terms()).resolves.toEqual(before);
      await expect(problems()).resolves.toEqual([]);
    });

    it('drops entity_search by what the preflight says', async () => {
      await runPhases(database, 5);
      const [{ sql }] = await advice();
      await query(sql!);
      await query(RENAME);
      await expect(advice()).resolves.toEqual([]);
      await expect(problems()).resolves.toEqual([]);
      await expect(
        query(`select proname from pg_proc where proname like 'entity_search%'
                union all select tgname from pg_trigger where tgname like 'entity_search%'
                union all select relname from pg_class where relname like 'entity_search%'`),
      ).resolves.toEqual([]);
      await database.migrate(migration => rollback(migration, 4));
    });

    it('is rolled back with both tables', async () => {
      await runPhases(database, 5);
      await database.migrate(migration => rollback(migration, 4));
      await expect(
        query(
          `select relname from pg_class where relname ~ '^entity_(search|terms|parents)'`,
        ),
      ).resolves.toEqual([]);
      await query(RENAME);
    });
  },
);
