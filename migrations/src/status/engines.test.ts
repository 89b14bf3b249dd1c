import { createTestDatabases } from '@internal/postgres/testUtils';
import { forEachTest } from '../__testUtils__/forEachTest';
import { createCatalogDatabase } from '../__testUtils__/catalogDatabase';
import { runInProcess } from '../cli/__testUtils__/runCli';

const databases = createTestDatabases({ versions: 'newest' });

const PROCESS = '00000000-0000-4000-8000-00000000000a';
const LOST = '00000000-0000-4000-8000-00000000000b';

describe.each(databases.eachSupportedId())(
  'the status of engines on %s',
  id => {
    const database = forEachTest(() =>
      createCatalogDatabase(databases, id, { phase: 5 }),
    );

    const query = async (sql: string) =>
      (await database.client.query(sql)).rows;
    const status = async () => {
      const [text, json] = [
        await runInProcess(database.connection, 'status'),
        await runInProcess(database.connection, 'status', '--json'),
      ];
      return { text: text.stdout, engines: JSON.parse(json.stdout).engines };
    };

    /** Tenants with an engine; its state in the process that has the lease. */
    const addEngines = (slugs: string[], state = 'running') =>
      query(
        `insert into engine_processes (process_id, name, expires_at)
         values ('${PROCESS}', 'portal-1 17', now() + interval '1 hour'),
                ('${LOST}', 'portal-2 18', now() - interval '1 second')
         on conflict do nothing;
         insert into tenants (tenant_slug, tenant_name)
         select s, s from unnest('{${slugs}}'::text[]) s;
         insert into tenant_engines (tenant_id, created_by)
         select tenant_id, 'x' from tenants where tenant_slug = any ('{${slugs}}');
         insert into engine_leases (tenant_id, process_id)
         select tenant_id, '${PROCESS}' from tenants where tenant_slug = any ('{${slugs}}');
         insert into engine_status (tenant_id, state, process_id, reason)
         select tenant_id, '${state}', '${PROCESS}', 'It has no token'
           from tenants where tenant_slug = any ('{${slugs}}')`,
      );

    it('says nothing where no tenant has one', async () => {
      const { text, engines } = await status();
      expect(text).not.toContain('ngines of');
      expect(engines).toEqual({
        engines: 0,
        states: {},
        processes: [],
        noticed: {},
      });
    });

    it('counts them by state, and names those to look at', async () => {
      await addEngines([
        'acme',
        'globex',
        'lost',
        'slow',
        'held',
        'new',
        'gone',
      ]);
      await addEngines(['broken'], 'failed');
      await query(
        `update engine_leases set process_id = '${LOST}'
          where tenant_id = (select tenant_id from tenants where tenant_slug = 'lost');
         delete from engine_status
          where tenant_id = (select tenant_id from tenants where tenant_slug = 'new');
         update tenants set deleted_at = now() where tenant_slug = 'gone';
         update tenant_engines set paused_at = '2026-11-22T18:00Z', paused_by = 'user:default/ops'
          where tenant_id = (select tenant_id from tenants where tenant_slug = 'held')`,
      );
      const { text, engines } = await status();
      expect(text).toContain(
        'Engines of 7 tenants: 1 failed (broken), 1 paused (held), 3 running, 1 starting, 1 unassigned (lost).\n' +
          'Processes that do their background work: portal-1 17 (7 tenants).\n',
      );
      expect(engines).toMatchObject({
        engines: 7,
        states: {
          failed: 1,
          paused: 1,
          running: 3,
          starting: 1,
          unassigned: 1,
        },
        processes: [{ name: 'portal-1 17', tenants: 7 }],
        noticed: { failed: ['broken'], paused: ['held'], unassigned: ['lost'] },
      });
    });

    it('is null where a table is missing', async () => {
      await query('drop table engine_status');
      const { text, engines } = await status();
      expect(engines).toBeNull();
      expect(text).toContain('phase 5 is complete');
    });
  },
);
