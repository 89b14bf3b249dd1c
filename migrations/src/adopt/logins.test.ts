import { changeRole, createTestDatabases } from '@internal/postgres/testUtils';
import { asLogin, connectionOf } from '../__testUtils__/roles';
import {
  runInProcess,
  runWithoutDatabase,
  urlOf,
} from '../cli/__testUtils__/runCli';
import { RefusedError } from '../errors';
import { migrateTo } from '../migrateTo';
import { DEFAULT_TENANT_ID } from '../schema/tables';
import { column, differences, faultsOf, refsOf } from './__testUtils__/inspect';
import { createStockCatalog, engineOf } from './__testUtils__/stockCatalog';
import type {
  EngineConnection,
  StockCatalog,
} from './__testUtils__/stockCatalog';
import { adopt } from './library';
import { unadopt } from './unadopt';

const databases = createTestDatabases();

const ENGINE_LOGIN = 'catalog_engine';
const OTHER_LOGIN = 'catalog_stranger';

describe.each(databases.eachSupportedId())(
  'an engine with a login of its own on %s',
  id => {
    let catalog: StockCatalog;
    let engine: EngineConnection;
    beforeEach(async () => {
      catalog = await createStockCatalog(databases, id);
      await changeRole(catalog.client, `create role ${ENGINE_LOGIN} login`);
      await catalog.client.query(`
        do $$ declare t text; begin
          for t in select tablename from pg_tables where schemaname = 'public' loop
            execute format('alter table public.%I owner to ${ENGINE_LOGIN}', t);
          end loop;
        end $$;
        revoke all on schema public from public;
        grant usage on schema public to ${ENGINE_LOGIN};
      `);
      engine = engineOf(await connectionOf(catalog, ENGINE_LOGIN), 'public');
    });
    afterEach(async () => {
      await engine.knex.destroy();
      await catalog.close();
    });

    async function write(name: string): Promise<void> {
      const { engine: writer } = engine;
      const entity = {
        ref: `component:default/${name}`,
        relations: [['ownedBy', 'group:default/g']] as [string, string][],
      };
      const entityId = await writer.ingest(entity);
      await writer.ingest({
        ref: `component:default/gone`,
        relations: entity.relations,
      });
      await writer.process(entityId, { ...entity, locationKey: 'url:x' });
      await writer.remove('component:default/gone');
      expect(await faultsOf(catalog)).toEqual([]);
      expect(await differences(catalog)).toEqual([]);
    }

    it('needs no right to our tables', async () => {
      const rights = `select grantee || ' ' || privilege_type || ' ' || table_name
        from information_schema.table_privileges
       where table_schema = 'public' and grantee = 'portal_admin'
       union all
      select attrelid::regclass || attacl::text from pg_attribute
       where attacl is not null and attrelid in (
         select oid from pg_class where relnamespace = 'public'::regnamespace)`;
      await adopt({ connection: catalog.connection });
      await write('adopted');
      expect((await column(catalog, rights)).length).toBeGreaterThan(0);
      await catalog.migrate(({ context }) => unadopt(context));
      expect(await column(catalog, rights)).toEqual([]);
    });

    it('can call none of what writes to our tables', async () => {
      await adopt({ connection: catalog.connection });
      await catalog.client.query(
        `grant usage on schema tenancy to ${ENGINE_LOGIN}`,
      );
      const callable = await column<string>(
        catalog,
        `select proname::text from pg_proc
          where proname like 'adoption%' and has_function_privilege('${ENGINE_LOGIN}', oid, 'execute')`,
      );
      expect(callable).toEqual([]);
      await asLogin(catalog, ENGINE_LOGIN, async client => {
        await expect(
          client.query(
            `select adoption_drop_entity('${DEFAULT_TENANT_ID}', 'public', 'x')`,
          ),
        ).rejects.toThrow('permission denied for function');
      });
    });

    it('shows and lends nothing to whom default privileges would', async () => {
      await catalog.client.query(`
        create schema tenancy;
        alter default privileges in schema tenancy grant all on tables to ${ENGINE_LOGIN};
        alter default privileges in schema tenancy grant all on functions to ${ENGINE_LOGIN}`);
      await adopt({ connection: catalog.connection });
      expect(
        await column(
          catalog,
          `select proname::text from pg_proc
            where proname ~ '^(adoption|entity_terms)_'
              and has_function_privilege('${ENGINE_LOGIN}', oid, 'execute')
            union all
           select relname::text from pg_class
            where relname ~ '^adoption_' and relkind = 'r'
              and has_table_privilege('${ENGINE_LOGIN}', oid, 'select')`,
        ),
      ).toEqual([]);
    });

    it('puts nothing of its own in the place of what the triggers call', async () => {
      await adopt({ connection: catalog.connection });
      await engine.knex.transaction(async tx => {
        await tx.raw(`set local search_path = pg_temp, public`);
        await tx.raw('create temporary table entities (entity_id uuid)');
        await tx('public.refresh_state').insert({
          entity_id: '11111111-1111-4111-8111-111111111111',
          entity_ref: 'component:default/a',
          unprocessed_entity: '{}',
          errors: '',
          next_update_at: tx.fn.now(),
          last_discovery_at: tx.fn.now(),
        });
        await tx('public.final_entities').insert({
          entity_id: '11111111-1111-4111-8111-111111111111',
          entity_ref: 'component:default/a',
          final_entity: '{}',
          hash: '',
        });
      });
      expect(await refsOf(catalog)).toEqual(['component:default/a']);
    });

    it('may adopt its own catalog into tables that a superuser has created', async () => {
      const { client, connection } = catalog;
      await engine.engine.ingest({ ref: 'component:default/first' });
      await migrateTo(5, { connection, createTables: true });
      await changeRole(client, `grant portal_admin to ${ENGINE_LOGIN}`);
      await client.query('grant usage on schema public to portal_admin');
      const login = await connectionOf(catalog, ENGINE_LOGIN);
      const dryRun = async (command: string) =>
        expect(
          runInProcess(login, command, '--dry-run'),
        ).resolves.toMatchObject({ exitCode: 0 });
      await dryRun('adopt');
      expect(await refsOf(catalog)).toEqual([]);
      await adopt({ connection: login });
      await dryRun('unadopt');
      await write('adopted');
      expect(await refsOf(catalog)).toHaveLength(2);
    });

    it('is told what a superuser has to run before anything is created', async () => {
      const { client, connection } = catalog;
      await client.query(
        `grant create on database "${connection.database}" to ${ENGINE_LOGIN}`,
      );
      await expect(
        adopt({ connection: await connectionOf(catalog, ENGINE_LOGIN) }),
      ).rejects.toThrow(/Let a superuser run this/);
      expect(
        await column(
          catalog,
          `select nspname from pg_namespace where nspname = 'tenancy'`,
        ),
      ).toEqual([]);
    });

    it('removes no entity of the default tenant unless told to, whoever may read which table', async () => {
      const { client, connection } = catalog;
      await engine.engine.ingest({ ref: 'component:default/engine' });
      await migrateTo(5, { connection, createTables: true, force: true });
      await client.query(
        `insert into entities (tenant_id, entity_ref, entity_kind, entity_name, final_entity, hash)
         values ('00000000-0000-0000-0000-000000000001', 'component:default/own', 'component', 'own', '{}', '')`,
      );
      await changeRole(client, `grant portal_admin to ${ENGINE_LOGIN}`);
      const login = await connectionOf(catalog, ENGINE_LOGIN);
      await expect(adopt({ connection: login })).rejects.toThrow(
        'These would be removed: entities: 1 entity of the default tenant',
      );
      expect(await refsOf(catalog)).toEqual(['component:default/own']);
      const refusal: Error = await adopt({
        connection: login,
        force: true,
      }).catch(error => error);
      expect(refusal.message).toMatch(
        /portal_admin has to read the tables .*\ngrant usage on schema public to portal_admin;/s,
      );
      for (const statement of refusal.message.match(/^grant .*;$/gm) ?? []) {
        await client.query(statement);
      }
      expect(await adopt({ connection: login, force: true })).toMatchObject({
        adopted: true,
        faults: 0,
      });
      expect(await refsOf(catalog)).toEqual(['component:default/engine']);
    });

    it('is adopted by a member of the owner that does not inherit, once told how, or acting as the owner', async () => {
      const { client, connection } = catalog;
      const member = `catalog_member_${process.pid}`;
      await changeRole(client, `create role ${member} login noinherit`);
      await changeRole(client, `grant ${ENGINE_LOGIN} to ${member}`);
      await migrateTo(5, { connection, createTables: true });
      await changeRole(
        client,
        `grant portal_admin to ${member}, ${ENGINE_LOGIN}`,
      );
      await client.query('grant usage on schema public to portal_admin');
      const login = await connectionOf(catalog, member);
      const refusal: Error = await adopt({ connection: login }).catch(e => e);
      expect(refusal.message).toMatch(
        /lacks the rights of .*, which owns the table/,
      );

      const acting = { ...login, options: `-c role=${ENGINE_LOGIN}` };
      await expect(adopt({ connection: acting })).resolves.toMatchObject({
        adopted: true,
      });
      await catalog.migrate(({ context }) => unadopt(context));

      for (const statement of refusal.message.match(/^ {4}\w.*(?=;$)/gm) ??
        []) {
        await changeRole(client, statement);
      }
      await expect(adopt({ connection: login })).resolves.toMatchObject({
        adopted: true,
      });
      await catalog.migrate(({ context }) => unadopt(context));
      await client.query(`drop owned by ${member}`);
      await changeRole(client, `drop role ${member}`);
    });

    it('is adopted by a login whose sessions act as the owner, once a superuser has run what it is told, and goes back', async () => {
      const { client, connection } = catalog;
      const member = `catalog_acting_${process.pid}`;
      await changeRole(client, `create role ${member} login noinherit`);
      await changeRole(client, `grant ${ENGINE_LOGIN} to ${member}`);
      await client.query(
        `grant create on database "${connection.database}" to ${ENGINE_LOGIN}`,
      );
      const acting = {
        ...(await connectionOf(catalog, member)),
        options: `-c role=${ENGINE_LOGIN}`,
      };
      const refusals: string[] = [];
      for (;;) {
        const failed: Error | undefined = await adopt({
          connection: acting,
        }).then(
          () => undefined,
          error => error,
        );
        if (!failed) {
          break;
        }
        expect(failed).toBeInstanceOf(RefusedError);
        expect(refusals).not.toContain(failed.message);
        refusals.push(failed.message);
        for (const statement of failed.message.match(
          /^(?:grant|create role) .*;$/gm,
        ) ?? []) {
          await changeRole(client, statement);
        }
      }
      expect(refusals.length).toBeGreaterThan(0);
      await write('adopted');
      const url = `${urlOf(acting)}?options=${encodeURIComponent(
        acting.options,
      )}`;
      expect(
        await runWithoutDatabase('rollback', ...['--to', '0'], '--url', url),
      ).toMatchObject({ exitCode: 0 });
      await client.query(`drop owned by ${member}`);
      await changeRole(client, `drop role ${member}`);
    });

    it('is not adopted by a login that owns nothing of it, which is told so before anything is done', async () => {
      const { client, connection } = catalog;
      await changeRole(client, `create role ${OTHER_LOGIN} login`);
      await client.query(
        `grant create on database "${connection.database}" to ${OTHER_LOGIN}`,
      );
      await expect(
        adopt({ connection: await connectionOf(catalog, OTHER_LOGIN) }),
      ).rejects.toThrow(
        new RegExp(
          `lacks the rights of ${ENGINE_LOGIN}, which owns the table public.final_entities.*\\n` +
            `    grant ${ENGINE_LOGIN} to ${OTHER_LOGIN}`,
        ),
      );
      expect(
        await column(
          catalog,
          `select nspname from pg_namespace where nspname = 'tenancy'`,
        ),
      ).toEqual([]);
    });
  },
);
