import { engineSchemaOf } from 'backstage-catalog-tenancy-migrations';
import {
  createTestDatabases,
  withDeadline,
} from '@internal/postgres/testUtils';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { EngineDatabase, UPSTREAM } from './__testUtils__/EngineDatabase';
import {
  inventory,
  sizes,
  upstreamInventory,
  withoutIds,
} from './__testUtils__/inventory';
import { migrationsFolder } from './__testUtils__/migrationsFolder';
import { describeFailure } from '../engine/failures';
import { TablesSession } from './TablesSession';

jest.setTimeout(600_000);

const databases = createTestDatabases({ versions: 'every' });

describe.each(databases.eachSupportedId())('the tables of engines, %p', id => {
  const create = () => EngineDatabase.create(databases, id);

  let upstream: Record<string, unknown[]>;
  beforeAll(async () => {
    upstream = await upstreamInventory(databases, id);
  });

  const inventoryOf = async (database: EngineDatabase, tenantId: string) =>
    withoutIds(await inventory(database, engineSchemaOf(tenantId)));

  it('are what upstream makes in a database of its own, which upstream would not migrate further', async () => {
    const database = await create();
    const tables = database.tables();
    const tenantId = randomUUID();
    await expect(tables.provision(tenantId)).resolves.toBe('created');
    for (const what of ['columns', 'indexes', 'constraints', 'statistics']) {
      expect(upstream[what]).not.toEqual([]);
    }
    expect(sizes(upstream)['rows of knex_migrations_lock']).toBe(1);
    await database.asPlugin(engineSchemaOf(tenantId), async knex => {
      const [, done] = await knex.migrate.latest({ directory: UPSTREAM });
      expect(done).toEqual([]);
    });
    expect(await inventoryOf(database, tenantId)).toEqual(upstream);
  });

  it('have whatever a future release makes, each its own', async () => {
    const database = await create();
    const tables = database.tables({
      migrationsDirectory: migrationsFolder({
        further: {
          '20990101000000_objects.js': {
            up: `
              await knex.raw("create type severity as enum ('low', 'high'); create domain level as int check (value > 0)");
              await knex.raw('alter table search add column severity severity');
              await knex.raw('create table counts (kind text primary key, n level default 1)');
              await knex.raw('create table history (at int) partition by range (at); create table history_1 partition of history default');
              await knex.raw('create materialized view kinds as select kind from counts');
              await knex.raw('create rule kept as on delete to counts do instead nothing');
              await knex.raw(\`create function count_one() returns trigger language plpgsql
                set search_path from current as $$ begin
                  insert into history values (1); return null;
                end $$\`);
              await knex.raw(\`create constraint trigger counted after insert on counts
                deferrable initially deferred for each row execute function count_one()\`);
              await knex('counts').insert({ kind: 'a' });`,
          },
          // Not possible while the trigger of the row before is pending.
          '20990102000000_later.js': {
            up: `await knex.raw('alter table counts add column later int')`,
          },
          '20990103000000_index.js': {
            up: `await knex.raw('create index concurrently by_level on counts (n)')`,
            isWhole: false,
          },
        },
      }),
    });
    const [first, second] = [randomUUID(), randomUUID()];
    await tables.provision(first);
    await tables.provision(second);
    await database.query(`drop schema ${engineSchemaOf(first)} cascade`);
    const schema = engineSchemaOf(second);
    await database.query(`insert into ${schema}.counts (kind) values ('b')`);
    expect(
      await database.query(
        `select kind, n, (select count(*)::int from ${schema}.history) as counted from ${schema}.counts order by 1`,
      ),
    ).toEqual([
      { kind: 'a', n: 1, counted: 2 },
      { kind: 'b', n: 1, counted: 2 },
    ]);
  });

  it('are waited for no longer than the one who waits, whose reason is told', async () => {
    const database = await create();
    const options = { scope: 'session' as const, patienceMs: 600_000 };
    const stopping = new AbortController();
    const { signal } = stopping;
    await TablesSession.use(database.login, async holder => {
      await holder.lock('a schema', options);
      await TablesSession.use(database.login, async waiter => {
        const waits = waiter.lock('a schema', { ...options, signal });
        stopping.abort('restart');
        await expect(waits).rejects.toBe('restart');
      });
    });
  });

  it('do not wait for a server that does not answer, once who waits has gone', async () => {
    const database = await create();
    const sockets: Socket[] = [];
    const server = createServer(socket => sockets.push(socket));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const stopping = new AbortController();
    const provision = database
      .tables({ connection: { host: '127.0.0.1', port } })
      .provision(randomUUID(), { signal: stopping.signal });
    try {
      await once(server, 'connection');
      stopping.abort('stop');
      await expect(withDeadline('the end', provision)).rejects.toBe('stop');
    } finally {
      sockets.forEach(socket => socket.destroy());
      server.close();
    }
  });

  it('give nobody rights, whatever the default privileges say', async () => {
    const database = await create();
    await database.use(
      client =>
        client.query(
          `alter default privileges grant select on tables to public, portal_app;
           alter default privileges grant usage on sequences to public, portal_app;
           alter default privileges grant usage on schemas to public, portal_app`,
        ),
      database.login,
    );
    const tenantId = randomUUID();
    await database.tables().provision(tenantId);
    const rights = await database.query(
      `select a.grantee::regrole::text from pg_class c, aclexplode(c.relacl) a
        where c.relnamespace = $1::regnamespace and a.grantee <> c.relowner
          and a.grantee <> 'portal_admin'::regrole
       union all
       select a.grantee::regrole::text from pg_namespace n, aclexplode(n.nspacl) a
        where n.oid = $1::regnamespace and a.grantee <> n.nspowner
          and a.grantee <> 'portal_admin'::regrole`,
      [engineSchemaOf(tenantId)],
    );
    expect(rights).toEqual([]);
  });

  it('of one tenant are made by one of two processes, and found by the other', async () => {
    const database = await create();
    const tenantId = randomUUID();
    const outcomes = await Promise.all([
      database.tables().provision(tenantId),
      database.tables().provision(tenantId),
    ]);
    expect(outcomes.sort()).toEqual(['created', 'current']);
    expect(await inventoryOf(database, tenantId)).toEqual(upstream);
  });

  it('are watched by the adoption from their first row on', async () => {
    const database = await create();
    const tenantId = await database.newTenant();
    await database.tables().provision(tenantId);
    await database.ingest(tenantId);
    expect(await entitiesOf(database, tenantId)).toEqual([
      'component:default/e',
    ]);
    await expect(database.tables().provision(tenantId)).resolves.toBe(
      'current',
    );
  });

  it('are made anew where they were dropped, and the tenant keeps its entities until the engine has them', async () => {
    const database = await create();
    const tables = database.tables();
    const [lost, kept] = [
      await database.newTenant(),
      await database.newTenant(),
    ];
    for (const tenantId of [lost, kept]) {
      await tables.provision(tenantId);
      await database.ingest(tenantId);
    }
    await database.query(`drop schema ${engineSchemaOf(lost)} cascade`);
    expect(await entitiesOf(database, lost)).toHaveLength(1);
    await expect(tables.provision(lost)).resolves.toBe('created');
    expect(await inventoryOf(database, lost)).toEqual(upstream);
    const before = await entitiesOf(database, lost);
    expect(before).toHaveLength(1);
    expect(await entitiesOf(database, kept)).toHaveLength(1);
    await database.ingest(lost);
    expect(await entitiesOf(database, lost)).toHaveLength(1);
  });

  it('are dropped while others read them, and may be dropped again', async () => {
    const database = await create();
    const tables = database.tables();
    const [gone, kept] = [randomUUID(), randomUUID()];
    await tables.provision(gone);
    await tables.provision(kept);
    await database.use(async client => {
      await client.query('begin');
      await client.query(`select from ${engineSchemaOf(gone)}.search`);
      const dropping = tables.drop(gone);
      // It asks for its locks, and gives up again.
      await client.query('select pg_sleep(0.3)');
      await client.query(`select from ${engineSchemaOf(gone)}.search`);
      await client.query('commit');
      await withDeadline('the removal', dropping);
    });
    await tables.drop(gone);
    expect(await tables.list()).toEqual([{ tenantId: kept }]);
    await expect(tables.provision(gone)).resolves.toBe('created');
  });

  it('stay where the check of a removal fails, as for a tenant that is restored', async () => {
    const tables = (await create()).tables();
    const tenantId = randomUUID();
    await tables.provision(tenantId);
    const restored = async () => {
      throw new Error('It is restored');
    };
    await expect(tables.drop(tenantId, restored)).rejects.toThrow(
      'It is restored',
    );
    expect(await tables.list()).toEqual([{ tenantId }]);
    await expect(tables.provision(tenantId)).resolves.toBe('current');
  });

  it('are not waited for where others have locked them for longer than there is patience', async () => {
    const database = await create();
    const tenantId = randomUUID();
    await database.tables().provision(tenantId);
    await database.use(async client => {
      await client.query(
        `begin; lock table ${engineSchemaOf(tenantId)}.knex_migrations`,
      );
      await expect(
        withDeadline(
          'the refusal',
          database.tables().provision(tenantId, { patienceMs: 200 }),
        ),
      ).rejects.toThrow('Look for long ones in pg_stat_activity');
    });
  });

  it('need rights of the login, and say which', async () => {
    const database = await create();
    const user = `alone_${randomUUID().replaceAll('-', '')}`;
    const { database: name } = database.login;
    await database.query(
      `create role ${user} login password 'only-for-tests'; revoke temporary on database "${name}" from public`,
    );
    const tables = database.tables({ connection: { ...database.login, user } });
    for (const [reason, grant] of [
      [
        `permission denied for database ${name}`,
        `create on database "${name}"`,
      ],
      [
        'permission denied to create temporary',
        `temporary on database "${name}"`,
      ],
      ['permission denied', 'portal_admin'],
    ]) {
      const failure = await tables
        .provision(randomUUID())
        .catch(error => error);
      expect(describeFailure(failure)).toContain(reason);
      await database.query(`grant ${grant} to ${user}`);
    }
    await expect(tables.provision(randomUUID())).resolves.toBe('created');
    await database.query(`drop owned by ${user} cascade; drop role ${user}`);
  });

  it.each([
    '',
    'acme',
    'template',
    `00000000-0000-0000-0000-00000000000'; drop schema tenancy; --`,
    `x"; drop schema public cascade; --`,
    '00000000-0000-0000-0000-000000000001\n',
  ])('of the tenant %j are refused', async hostile => {
    const database = await create();
    const before = await schemas(database);
    const tables = database.tables();
    for (const refused of [
      tables.provision(hostile),
      tables.upgrade(hostile),
      tables.drop(hostile),
    ]) {
      await expect(refused).rejects.toThrow('is not a UUID');
    }
    expect(await schemas(database)).toEqual(before);
  });
});

async function entitiesOf(
  database: EngineDatabase,
  tenantId: string,
): Promise<string[]> {
  const rows = await database.query<{ ref: string }>(
    `select entity_ref as ref from tenancy.entities
      where tenant_id = $1 and deleted_at is null`,
    [tenantId],
  );
  return rows.map(({ ref }) => ref);
}

async function schemas(database: EngineDatabase): Promise<object[]> {
  return database.query(
    `select oid, nspname from pg_namespace where nspname ~ '^tenant_[0-9a-f]' order by 1`,
  );
}
