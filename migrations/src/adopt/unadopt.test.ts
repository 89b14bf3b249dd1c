import { changeRole, createTestDatabases } from '@internal/postgres/testUtils';
import { Client } from 'pg';
import { AFTER_PG_UPGRADE } from '../__testUtils__/afterPgUpgrade';
import { forEachTest } from '../__testUtils__/forEachTest';
import type { PhaseNumber } from '../engine/Step';
import { connectionOf } from '../__testUtils__/roles';
import { EXIT_CODES } from '../errors';
import { beginCreation } from '../phases/create';
import { PRODUCT_MIGRATIONS } from '../productTables/migrations';
import { silentReporter } from '../Reporter';
import { rollback } from '../rollback/rollback';
import { readStatus } from '../status/readStatus';
import { column } from './__testUtils__/inspect';
import {
  createStockCatalog,
  STOCK_MIGRATIONS,
} from './__testUtils__/stockCatalog';
import { ACME, createTenant, giveEngine } from './__testUtils__/tenantEngine';
import { engineSchemaOf } from './engine';
import { adopt, readAdoption } from './library';
import { unadopt } from './unadopt';

const databases = createTestDatabases();

// Everything that somebody has put into the database, with who may do what with it.
const OBJECTS = `
  select 'relation ' || c.oid::regclass || ' ' || pg_get_userbyid(relowner) || ' ' ||
         coalesce(relacl, acldefault(case relkind when 'S' then 's' else 'r' end::"char", relowner))::text
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
   where nspname !~ '^pg_' and nspname <> 'information_schema'
   union all
  select 'column ' || attrelid::regclass || '.' || attname || ' ' || coalesce(attacl::text, '')
    from pg_attribute a join pg_class c on c.oid = a.attrelid
    join pg_namespace n on n.oid = c.relnamespace
   where nspname !~ '^pg_' and nspname <> 'information_schema' and attnum > 0
   union all
  select 'trigger ' || pg_get_triggerdef(oid) from pg_trigger where not tgisinternal
   union all
  select 'function ' || p.oid::regprocedure from pg_proc p join pg_namespace n on n.oid = p.pronamespace
   where nspname !~ '^pg_' and nspname <> 'information_schema'
     and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
   union all
  select 'schema ' || nspname || ' ' || coalesce(nspacl, acldefault('n', nspowner))::text
    from pg_namespace where nspname !~ '^pg_(temp|toast)'
   union all
  select 'extension ' || extname from pg_extension
   order by 1`;

describe.each(databases.eachSupportedId())('the way back on %s', id => {
  const catalog = forEachTest(() => createStockCatalog(databases, id));
  beforeEach(async () => {
    await catalog.engine.ingest({
      ref: 'component:default/a',
      relations: [['ownedBy', 'group:default/g']],
    });
  });

  const objects = () => column<string>(catalog, OBJECTS);
  const refs = () => column(catalog, 'select entity_ref from tenancy.entities');
  const end = () => catalog.migrate(({ context }) => unadopt(context));
  const goBack = (to: 0 | 4 | undefined, force = false) =>
    catalog.migrate(migration => rollback(migration, to), {
      settings: { force },
    });

  it('leaves nothing in the database', async () => {
    const before = await objects();
    await adopt({ connection: catalog.connection });
    await catalog.engine.ingest({ ref: 'no ref' });
    await goBack(0);
    expect(await objects()).toEqual(before);
    await goBack(0);
    await catalog.engine.ingest({ ref: 'component:default/b' });
    await catalog.knex.migrate.latest({ directory: STOCK_MIGRATIONS });
    expect(
      await readAdoption({ connection: catalog.connection }),
    ).toMatchObject({ begun: false, engineEntities: 3 });
    // And there again.
    expect(await adopt({ connection: catalog.connection })).toMatchObject({
      adopted: true,
    });
  });

  it('leaves nothing of tenants either, once it may, and names what is in other databases', async () => {
    const { client, connection } = catalog;
    const before = await objects();
    await adopt({ connection });
    await createTenant(catalog, ACME, 'acme');
    const acme = await giveEngine(catalog, ACME);
    await acme.engine.ingest({ ref: 'component:default/of-acme' });
    await acme.close();
    // More ids than a regular expression takes.
    await client.query(
      `insert into tenancy.tenants (tenant_slug, tenant_name) select 't-' || i, '' from generate_series(1, 5000) i`,
    );
    const other = `${connection.database}_plugin`;
    await client.query(`create database "${other}"`);
    const plugin = new Client({ ...connection, database: other });
    await plugin.connect();
    const schemas = async () =>
      (
        await plugin.query(
          `select nspname::text from pg_namespace where nspname ~ '^tenant' order by 1`,
        )
      ).rows;
    try {
      await plugin.query(
        `create schema ${engineSchemaOf(ACME)}_search; create schema tenants;`,
      );
      const refusal: Error = await goBack(0).then(
        () => new Error('was not refused'),
        error => error,
      );
      expect(refusal.message).toMatch(
        /^These would be lost:\n- entities: 1 row of 1 other tenant \(acme 1\)\n[^]*- tenants: 5,001 other tenants \(acme, /,
      );
      expect(refusal.message).toContain(
        `- engines and plugins of tenants: 1 schema (${engineSchemaOf(ACME)})`,
      );
      expect(await refs()).toHaveLength(2);
      const warnings: string[] = [];
      await catalog.migrate(migration => rollback(migration, 0), {
        settings: { force: true },
        reporter: { ...silentReporter, warn: text => warnings.push(text) },
      });
      expect(await objects()).toEqual(before);
      const [warning] = warnings.filter(text => text.includes(`"${other}"`));
      for (const statement of warning.match(/drop schema .*;/g) ?? []) {
        await plugin.query(statement);
      }
      expect(await schemas()).toEqual([{ nspname: 'tenants' }]);
    } finally {
      await plugin.end();
      await client.query(`drop database "${other}"`);
    }
  });

  it('deletes no entities that only the default tenant has, unless told to', async () => {
    const { connection } = catalog;
    const before = await objects();
    await adopt({ connection });
    await end();
    await catalog.client.query(
      `insert into tenancy.entities (tenant_id, entity_ref, entity_kind, entity_name, final_entity, hash)
       values ('00000000-0000-0000-0000-000000000001', 'component:default/a', 'component', 'a', '{}', '')`,
    );
    await expect(goBack(0)).rejects.toThrow(
      'entities: 1 row of the default tenant, which no adopted catalog has',
    );
    expect(await refs()).toEqual(['component:default/a']);
    await goBack(0, true);
    expect(await objects()).toEqual(before);
  });

  it('leaves nothing on tables of a catalog that has changed since', async () => {
    const { client, connection } = catalog;
    const others = async () =>
      (await objects()).filter(each => !/references.*[ .]/.test(each));
    const before = await others();
    await adopt({ connection });
    await client.query(
      'alter table public.refresh_state_references drop column id',
    );
    await goBack(0);
    expect(await others()).toEqual(before);
    // PostgreSQL 14 keeps the privileges of a column that is gone.
    const there = (await objects()).filter(each => !/pg\.dropped/.test(each));
    expect(there.join()).not.toMatch(/tenancy|portal_admin/);
  });

  it('leaves a schema and privileges that were there', async () => {
    const { client, connection } = catalog;
    // The roles are there from then on.
    await adopt({ connection });
    await goBack(0);
    await client.query(
      `create schema tenancy;
       grant usage on schema tenancy to portal_app;
       grant usage on schema public to portal_admin;
       grant select on public.final_entities to portal_admin`,
    );
    const before = await objects();
    await adopt({ connection });
    await goBack(0);
    expect(await objects()).toEqual(before);
  });

  it('takes back what it granted on a schema whose tables are gone', async () => {
    const { client, connection } = catalog;
    const rights = async () =>
      (await objects()).filter(each => each.startsWith('schema public '));
    await client.query('revoke usage on schema public from public');
    const before = await rights();
    await adopt({ connection });
    expect(await rights()).not.toEqual(before);
    await client.query(
      'drop table public.refresh_state, public.final_entities, public.relations, public.refresh_state_references cascade',
    );
    await end();
    expect(await rights()).toEqual(before);
  });

  it.each([
    ['create table tenancy.notes (note text)', 'notes'],
    [
      'create table tenancy.entities_old as select * from tenancy.entities',
      'entities_old',
    ],
    [
      `create function tenancy.mine() returns int language sql as 'select 1'`,
      'mine',
    ],
    [`create type tenancy.mine as enum ('mine')`, 'mine'],
    [
      `drop table tenancy.tenant_usage_people;
       create table tenancy.tenant_usage_people (note text)`,
      'The migration did not create the relation tenant_usage_people',
    ],
    ['create view public.mine as select * from tenancy.entities', 'mine'],
    [
      'create table public.mine (id uuid references tenancy.tenants on delete cascade)',
      'mine',
    ],
  ])('is refused, before anything is undone, by %s', async (sql, name) => {
    const { client, connection } = catalog;
    await adopt({ connection });
    await client.query(sql);
    const before = await objects();
    await expect(goBack(0)).rejects.toThrow(name);
    expect(await objects()).toEqual(before);
  });

  it.each([undefined, 4 as const])(
    'leads to no tables of before, which there are none of: --to %s',
    async to => {
      await adopt({ connection: catalog.connection });
      await expect(goBack(to)).rejects.toThrow('rollback --to 0');
      await expect(refs()).resolves.toEqual(['component:default/a']);
    },
  );

  /** Creates the tables, until a phase has made so many transactions. */
  async function stopCreation(phase: number, transactions: number) {
    const stopping = catalog.migrate(async migration => {
      await beginCreation(migration);
      for (const number of [1, 2, 3, 4, 5] as const) {
        if (number < phase) {
          await migration.runPhase(number);
        }
      }
      const { executor } = migration.context;
      const transaction = executor.transaction.bind(executor);
      let left = transactions;
      executor.transaction = async (...args) => {
        left -= 1;
        if (left < 0) {
          throw new Error('stopped');
        }
        return transaction(...args);
      };
      await migration.runPhase(phase as PhaseNumber);
    });
    await expect(stopping).rejects.toThrow('stopped');
  }

  it('keeps what was made under a name of ours after a creation was stopped', async () => {
    await stopCreation(3, 0);
    await catalog.client.query(
      'create table tenancy.tenant_members (note text)',
    );
    const before = await objects();
    await expect(goBack(0)).rejects.toThrow(
      'The migration did not create the relation tenant_members',
    );
    expect(await objects()).toEqual(before);
    await catalog.client.query('drop table tenancy.tenant_members');
    await goBack(0);
  });

  it('is refused, before anything is undone, to a login that may not drop what is there', async () => {
    const { client } = catalog;
    await adopt({ connection: catalog.connection });
    const login = `tenancy_undoing_${process.pid}`;
    await changeRole(client, `create role ${login} login noinherit`);
    await changeRole(client, `grant portal_admin to ${login}`);
    const connection = await connectionOf(catalog, login);
    const before = await objects();
    await expect(
      catalog.migrate(migration => rollback(migration, 0), { connection }),
    ).rejects.toMatchObject({
      exitCode: EXIT_CODES.refused,
      message: expect.stringMatching(
        /the rights of portal_admin, which owns the table/,
      ),
    });
    expect(await objects()).toEqual(before);
    await goBack(0);
    await changeRole(client, `drop role ${login}`);
  });

  it('leaves nothing after pg_upgrade either', async () => {
    const before = await objects();
    await adopt({ connection: catalog.connection });
    await catalog.client.query(AFTER_PG_UPGRADE);
    await goBack(0);
    expect(await objects()).toEqual(before);
  });

  it('is refused, before anything is undone, by a view of the tables of an engine', async () => {
    const { client, connection } = catalog;
    await adopt({ connection });
    await createTenant(catalog, ACME, 'acme');
    const acme = await giveEngine(catalog, ACME);
    await acme.close();
    await client.query(
      `create view public.mine as select * from ${acme.schema}.final_entities`,
    );
    const before = await objects();
    await expect(goBack(0, true)).rejects.toThrow(
      /view public\.mine\..*drop view public\.mine;/s,
    );
    expect(await objects()).toEqual(before);
    await client.query('drop view public.mine');
    await goBack(0, true);
  });

  it('names who holds a table of an engine, for which it waits', async () => {
    const { client, connection } = catalog;
    await adopt({ connection });
    await createTenant(catalog, ACME, 'acme');
    const acme = await giveEngine(catalog, ACME);
    await acme.close();
    await client.query(`begin; select from ${acme.schema}.search`);
    const waits: string[] = [];
    await catalog.migrate(migration => rollback(migration, 0), {
      settings: { force: true },
      reporter: {
        ...silentReporter,
        waiting(what, _attempts, holders) {
          waits.push(`${what}: ${holders}`);
          client.query('commit').catch(() => undefined);
        },
      },
    });
    expect(waits[0]).toMatch(
      /^Drop the schema "tenant_[0-9a-f]+": process \d+ \(/,
    );
  });

  it('keeps the engines of the tenants of another registry in the database', async () => {
    const { client, connection } = catalog;
    await client.query('create schema other_portal');
    await adopt({ connection, schema: 'other_portal' });
    await client.query(
      `insert into other_portal.tenants (tenant_id, tenant_slug, tenant_name)
       values ('${ACME}', 'acme', 'ACME');
       create schema ${engineSchemaOf(ACME)};
       create table public.tenants (tenant_id int, tenant_slug text)`,
    );
    await catalog.migrate(({ context }) => unadopt(context), {
      settings: { schema: 'other_portal' },
    });
    const before = await objects();
    await adopt({ connection });
    await goBack(0);
    expect(await objects()).toEqual(before);
  });

  it.each([
    [1, 0],
    [3, 0],
    [5, 2],
    // Behind the tables.
    [5, PRODUCT_MIGRATIONS.length + 1],
  ] as const)(
    'goes from a creation that was stopped in phase %s, after %s transactions',
    async (phase, transactions) => {
      const before = await objects();
      await stopCreation(phase, transactions);
      await goBack(0);
      expect(await objects()).toEqual(before);
    },
  );

  it('goes on without a question wherever it was stopped', async () => {
    const { connection } = catalog;
    const before = await objects();
    const goBackUntil = (moment: number) =>
      catalog.migrate(async migration => {
        let left = moment;
        const stopAt = <T extends unknown[]>(
          run: (...args: T) => Promise<void>,
        ) => {
          return async (...args: T) => {
            left -= 1;
            if (left < 0) {
              throw new Error('stopped');
            }
            await run(...args);
          };
        };
        const { executor } = migration.context;
        executor.transaction = stopAt(executor.transaction.bind(executor));
        executor.execute = stopAt(executor.execute.bind(executor));
        await rollback(migration, 0);
      });
    let moments = 0;
    for (let stopped = true; stopped; moments += 1) {
      await adopt({ connection });
      stopped = await goBackUntil(moments).then(
        () => false,
        error => /^stopped$/.test(error.message) || Promise.reject(error),
      );
      await goBack(0);
      expect(await objects()).toEqual(before);
    }
    expect(moments).toBeGreaterThan(10);
  });

  it('is ended before anything goes forward', async () => {
    const { connection } = catalog;
    await adopt({ connection });
    const dropping = catalog.migrate(async migration => {
      migration.context.executor.transaction = async () => {
        throw new Error('stopped');
      };
      await rollback(migration, 0);
    });
    await expect(dropping).rejects.toThrow('stopped');
    await expect(adopt({ connection })).rejects.toThrow('rollback --to 0');
    await expect(
      catalog.migrate(migration => migration.runPhase(5)),
    ).rejects.toThrow('rollback --to 0');
    await expect(catalog.migrate(readStatus)).resolves.toMatchObject({
      rollbackBegun: true,
      next: { command: expect.stringContaining('rollback --to 0') },
    });
  });

  it('ends the adoption alone where it is told to', async () => {
    const { connection, engine } = catalog;
    await adopt({ connection });
    expect(await end()).toBe(true);
    expect(await end()).toBe(false);
    await engine.ingest({ ref: 'component:default/b' });
    expect(await refs()).toEqual([]);
    expect(
      await column(
        catalog,
        `select tgname from pg_trigger t join pg_class c on c.oid = t.tgrelid
          where tgname ~ '^tenancy' and relnamespace = 'public'::regnamespace`,
      ),
    ).toEqual([]);
    // And goes on from there when it is adopted again.
    await adopt({ connection });
    expect(await refs()).toHaveLength(2);
  });
});
