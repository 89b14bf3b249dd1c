import { createTestDatabases } from '@internal/postgres/testUtils';
import { createCatalogDatabase } from '../__testUtils__/catalogDatabase';
import type { CatalogDatabase } from '../__testUtils__/catalogDatabase';
import { forEachTest } from '../__testUtils__/forEachTest';
import { createStockCatalog } from '../adopt/__testUtils__/stockCatalog';
import {
  ACME,
  createTenant,
  giveEngine,
} from '../adopt/__testUtils__/tenantEngine';
import { adopt } from '../adopt/adopt';
import { engineSchemaOf } from '../adopt/engine';
import { runInProcess } from '../cli/__testUtils__/runCli';
import { EXIT_CODES } from '../errors';
import { operatorCommand } from '../operatorCommand';
import { silentReporter } from '../Reporter';

const databases = createTestDatabases({ versions: 'newest' });

// What the status tells an operator who finds a command interrupted, the next morning.

describe.each(databases.eachSupportedId())('interrupted, on %s', id => {
  const statusOf = async ({ connection }: CatalogDatabase) => {
    const [text, json] = [
      await runInProcess(connection, 'status'),
      await runInProcess(connection, 'status', '--json'),
    ];
    return { text: text.stdout, ...JSON.parse(json.stdout) };
  };

  /** Runs a command that fails where it drops an object, and leaves what it has committed. */
  const interrupt = async (
    { client, connection }: CatalogDatabase,
    dropped: string,
    ...command: string[]
  ) => {
    await client.query(
      `create function public.interrupt() returns event_trigger language plpgsql as $$ begin
         if exists (select from pg_event_trigger_dropped_objects()
                     where object_identity = '${dropped}') then
           raise exception 'interrupted';
         end if;
       end $$;
       create event trigger interrupt on sql_drop execute function public.interrupt()`,
    );
    const { stderr } = await runInProcess(connection, ...command);
    expect(stderr).toContain('interrupted');
    await client.query('drop event trigger interrupt');
    await client.query('drop function public.interrupt()');
  };

  describe('beside a stock catalog', () => {
    const catalog = forEachTest(() => createStockCatalog(databases, id));
    beforeEach(() => catalog.engine.ingest({ ref: 'component:default/a' }));
    const run = (...command: string[]) =>
      runInProcess(catalog.connection, ...command);

    it.each([
      'Phase 1: ',
      'Phase 3: ',
      'Create the table tenant_audit',
      'Phase 5: ',
    ])('adopt, at "%s", names itself', async at => {
      const stop = new Error('stopped');
      const reporter = {
        ...silentReporter,
        info(text: string) {
          if (text.startsWith(at)) {
            throw stop;
          }
        },
      };
      await expect(
        catalog.migrate(migration => adopt(migration), { reporter }),
      ).rejects.toBe(stop);
      await expect(statusOf(catalog)).resolves.toMatchObject({
        next: {
          what: 'Adopt the stock catalog in the schema "public", with 1 entity',
          command: operatorCommand('adopt'),
        },
      });
      const { stdout } = await run('adopt');
      expect(stdout).toContain('is adopted: its 1 entity are');
    });

    it('unadopt names itself, and adopt takes it back', async () => {
      await run('adopt');
      await interrupt(
        catalog,
        'tenancy_adoption on public.refresh_state',
        'unadopt',
      );
      const status = await statusOf(catalog);
      expect(status).toMatchObject({
        next: {
          what: 'End the adoption of the stock catalog in the schema "public", with 1 entity',
          command: operatorCommand('unadopt'),
        },
        adoption: { adopted: false, ending: true },
      });
      expect(status.text).toContain(
        `The end of the adoption of the stock catalog in the schema "public" is not complete (${operatorCommand(
          'unadopt',
        )}).`,
      );
      expect(status.text).not.toContain(`(${operatorCommand('adopt')})`);
      await run('adopt');
      await expect(statusOf(catalog)).resolves.toMatchObject({
        adoption: { adopted: true, ending: false },
      });
    });

    it('unadopt of a tenant is named with the tenant', async () => {
      await run('adopt');
      await createTenant(catalog, ACME, 'acme');
      await (await giveEngine(catalog, ACME)).close();
      await run('adopt', '--tenant', 'acme');
      await interrupt(
        catalog,
        `tenancy_adoption on ${engineSchemaOf(ACME)}.refresh_state`,
        'unadopt',
        '--tenant',
        'acme',
      );
      const { text } = await statusOf(catalog);
      expect(text).toContain(
        `the tenant "acme": no longer adopted, not complete (${operatorCommand(
          'unadopt',
          '--tenant acme',
        )})`,
      );
    });
  });

  describe('on tables of its own', () => {
    const database = forEachTest(() =>
      createCatalogDatabase(databases, id, { phase: 5 }),
    );
    const query = (sql: string) => database.client.query(sql);

    it.each([
      // Before any step is undone, and among the last ones.
      engineSchemaOf(ACME),
      'tenancy.tenants',
    ])('rollback --to 0, at the drop of %s, names the rollback', async at => {
      await query(`create schema ${engineSchemaOf(ACME)}`);
      const back = ['rollback', '--to', '0', '--force', '--yes'];
      await interrupt(database, at, ...back);
      await expect(statusOf(database)).resolves.toMatchObject({
        rollbackBegun: true,
        next: {
          what: 'Bring the way back to its end',
          command: operatorCommand('rollback'),
        },
        text: expect.stringContaining(
          'A rollback was begun and is not complete: run the same command again to end it.\n',
        ),
      });
      const again = ['rollback', '--force', '--yes'];
      await expect(
        runInProcess(database.connection, ...again),
      ).resolves.toMatchObject({ exitCode: EXIT_CODES.done });
      await expect(statusOf(database)).resolves.toMatchObject({
        phase: 0,
        rollbackBegun: false,
        next: { command: operatorCommand('phase1') },
      });
    });

    it('upgrade names itself', async () => {
      await query(
        `delete from tenancy_migrations where name = (
           select max(name) from tenancy_migrations where name ~ '^[0-9]{2}_')`,
      );
      await expect(statusOf(database)).resolves.toMatchObject({
        phase: 5,
        next: { command: operatorCommand('upgrade') },
      });
    });

    it('commands about a tenant are named with it', async () => {
      await query(
        `insert into tenants (tenant_slug, tenant_name, deleted_at, read_only_until)
         values ('acme', 'Acme', now(), null),
                ('globex', 'Globex', null, now() - interval '1 hour'),
                ('initech', 'Initech', null, null);
         insert into retired_slugs (tenant_slug, tenant_digest, tenant_id)
         select tenant_slug, ''::bytea, tenant_id from tenants where tenant_slug = 'acme'
         union all select 'gone', '', null;
         create schema ${engineSchemaOf(ACME)}`,
      );
      const { text, unfinished } = await statusOf(database);
      expect(unfinished).toEqual([
        {
          what: 'The purge of the tenant "acme" is not complete',
          command: operatorCommand('tenant', 'purge acme'),
        },
        {
          what: 'The move of the tenant "globex" is not complete',
          command: operatorCommand('tenant', 'move globex'),
        },
        {
          what: `The schema "${engineSchemaOf(
            ACME,
          )}" belongs to no tenant, as after an import that was stopped`,
          command: operatorCommand('tenant', 'import <file>'),
        },
      ]);
      expect(text).toContain(
        `The purge of the tenant "acme" is not complete (${operatorCommand(
          'tenant',
          'purge acme',
        )}).\n`,
      );
    });
  });
});
