import { engineSchemaOf } from 'backstage-catalog-tenancy-migrations';
import { InputError } from '@backstage/errors';
import {
  createTestDatabases,
  withDeadline,
} from '@internal/postgres/testUtils';
import { randomUUID } from 'node:crypto';
import { EngineDatabase, UPSTREAM } from './__testUtils__/EngineDatabase';
import { inventory } from './__testUtils__/inventory';

jest.setTimeout(600_000);

const databases = createTestDatabases({ versions: 'every' });

describe.each(databases.eachSupportedId())('the tables of engines, %p', id => {
  const create = (options?: { hasTemplate?: boolean }) =>
    EngineDatabase.create(databases, id, options);

  it('are those of the template, which upstream would not migrate further', async () => {
    const database = await create({ hasTemplate: true });
    const tables = database.tables();
    const tenantId = randomUUID();
    await expect(tables.provision(tenantId)).resolves.toBe('created');
    const schema = engineSchemaOf(tenantId);
    const before = await inventory(database, schema);
    expect(before).toEqual(await inventory(database, 'tenant_template'));
    await database.asPlugin(schema, async knex => {
      const [, done] = await knex.migrate.latest({ directory: UPSTREAM });
      expect(done).toEqual([]);
    });
    expect(await inventory(database, schema)).toEqual(before);
  });

  it('are made once', async () => {
    const database = await create({ hasTemplate: true });
    const tenantId = randomUUID();
    await database.tables().provision(tenantId.toUpperCase());
    const [before] = await schemas(database);
    await expect(database.tables().provision(tenantId)).resolves.toBe(
      'present',
    );
    expect(await schemas(database)).toEqual([before]);
  });

  it('of twelve processes at once, with no template at first, are all complete', async () => {
    const database = await create();
    const ids = Array.from({ length: 12 }, () => randomUUID());
    const outcomes = await withDeadline(
      'twelve processes',
      Promise.all(
        ids.map(async tenantId => {
          const tables = database.tables();
          await tables.prepareTemplate();
          return tables.provision(tenantId);
        }),
      ),
    );
    expect(outcomes).toEqual(ids.map(() => 'created'));
    const template = await inventory(database, 'tenant_template');
    for (const tenantId of ids) {
      expect(await inventory(database, engineSchemaOf(tenantId))).toEqual(
        template,
      );
    }
    expect(await database.tables().list()).toEqual(
      ids.sort().map(tenantId => ({ tenantId, isCurrent: true })),
    );
  });

  it('of one tenant are made by one of two processes, and found by the other', async () => {
    const database = await create({ hasTemplate: true });
    const tenantId = randomUUID();
    const outcomes = await Promise.all([
      database.tables().provision(tenantId),
      database.tables().provision(tenantId),
    ]);
    expect(outcomes.sort()).toEqual(['created', 'present']);
    expect(await inventory(database, engineSchemaOf(tenantId))).toEqual(
      await inventory(database, 'tenant_template'),
    );
  });

  it('belong to the login, and PUBLIC may do nothing with them', async () => {
    const database = await create({ hasTemplate: true });
    const tenantId = randomUUID();
    await database.tables().provision(tenantId);
    const rights = await database.query(
      `select distinct n.nspowner::regrole::text as schema, c.relowner::regrole::text as table,
              has_schema_privilege('pg_monitor', n.oid, 'usage') as others
         from pg_namespace n join pg_class c on c.relnamespace = n.oid
        where n.nspname = $1`,
      [engineSchemaOf(tenantId)],
    );
    const user = database.login.user;
    expect(rights).toEqual([{ schema: user, table: user, others: false }]);
  });

  it('are dropped while others read them, and may be dropped again', async () => {
    const database = await create({ hasTemplate: true });
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
    expect(await tables.list()).toEqual([{ tenantId: kept, isCurrent: true }]);
    await expect(tables.provision(gone)).resolves.toBe('created');
  });

  it('are not dropped while a transaction holds them for longer than there is patience', async () => {
    const database = await create({ hasTemplate: true });
    const tenantId = randomUUID();
    await database.tables().provision(tenantId);
    await database.use(async client => {
      await client.query('begin');
      await client.query(`select from ${engineSchemaOf(tenantId)}.search`);
      await expect(
        database.tables({ patienceMs: 200 }).drop(tenantId),
      ).rejects.toThrow('Look for long ones in pg_stat_activity');
      await client.query('commit');
    });
    expect(await database.tables().list()).toHaveLength(1);
  });

  it('need the right to create schemas, and say which', async () => {
    const database = await create({ hasTemplate: true });
    const { user, database: name } = database.login;
    await database.query(`revoke create on database "${name}" from ${user}`);
    const grant = `GRANT CREATE ON DATABASE ${name} TO ${user}`;
    await expect(database.tables().provision(randomUUID())).rejects.toThrow(
      expect.objectContaining({
        name: 'EngineTablesError',
        message: expect.stringContaining(grant),
      }),
    );
    await database.query(grant);
    await expect(database.tables().provision(randomUUID())).resolves.toBe(
      'created',
    );
  });

  it('need the right to create temporary tables for the template, and say so', async () => {
    const database = await create();
    const { user, database: name } = database.login;
    await database.query(`revoke temporary on database "${name}" from public`);
    const grant = `GRANT TEMPORARY ON DATABASE ${name} TO ${user}`;
    await expect(database.tables().prepareTemplate()).rejects.toThrow(grant);
    await database.query(grant);
    await database.tables().prepareTemplate();
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
      await expect(refused).rejects.toThrow(InputError);
    }
    expect(await schemas(database)).toEqual(before);
  });
});

async function schemas(database: EngineDatabase): Promise<object[]> {
  return database.query(
    `select oid, nspname from pg_namespace where nspname ~ '^tenant_[0-9a-f]' order by 1`,
  );
}
