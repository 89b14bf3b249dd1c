import { createTestDatabases } from '@internal/postgres/testUtils';
import { entityRow, insertRows } from './__testUtils__/entityRow';
import { insert, SingleConnection } from './__testUtils__/SingleConnection';

const databases = createTestDatabases();

describe.each(databases.eachSupportedId())('A statement on %s', id => {
  let connection: SingleConnection;
  beforeAll(async () => {
    connection = await SingleConnection.create(databases, id);
  });
  afterAll(() => connection.close());

  let tenant: string;
  let tenants: SingleConnection['tenants'];
  beforeEach(async () => {
    await connection.reset();
    ({ tenant, tenants } = connection);
  });

  it.each([
    'commit',
    'rollback',
    'begin',
    'savepoint a',
    `set app.tenant_id = '00000000-0000-0000-0000-000000000001'`,
    'set local role portal_admin',
    'reset all',
    'discard all',
    'prepare a as select 1',
    'create table a ()',
    'truncate entities',
    'copy entities to stdout',
    'listen a',
    `do $$ begin perform set_config('app.tenant_id', '', false); end $$`,
    '/* select */ commit',
    '-- select\n(( reset all',
    '',
    ';',
  ])('may not be %j', async sql => {
    const refusal = 'A statement may not begin with';
    await expect(
      tenants.query(tenant, ({ knex }) => knex.raw(sql)),
    ).rejects.toThrow(refusal);
    await expect(
      tenants.transaction(tenant, async transaction => {
        await insert(transaction, 'a');
        await transaction
          .query(transaction.knex.raw(sql))
          .catch(() => undefined);
      }),
    ).rejects.toThrow(refusal);
    await expect(connection.names()).resolves.toEqual([]);
    await expect(connection.doubts()).resolves.toEqual([]);
  });

  it('is a single one', async () => {
    const two = 'select 1; commit';
    await expect(
      tenants.query(tenant, ({ knex }) => knex.raw(two)),
    ).rejects.toMatchObject({ sqlState: '42601' });
    await expect(
      tenants.transaction(tenant, transaction =>
        transaction.query(transaction.knex.raw(two)),
      ),
    ).rejects.toMatchObject({ sqlState: '42601' });
    await expect(connection.doubts()).resolves.toEqual([]);
  });

  it.each<[string, string]>([
    ['the tenant', `set_config('app.tenant_id', ?, false)`],
    ['the tenant, for itself', `set_config('app.tenant_id', ?, true)`],
    ['the tenant to none', `set_config('app.tenant_id', left(?, 0), false)`],
    ['the role', `set_config('role', 'portal_admin', false), length(?)`],
    ['the role, for itself', `set_config('role', 'portal_admin', true), ?`],
  ])('fails if it changes %s', async (_, change) => {
    const other = await connection.database.createTenant();
    const message = 'has changed the tenant or the role';
    const write = `with changed as materialized (select ${change})
      insert into entities (tenant_id, entity_ref, entity_kind, entity_name, final_entity, hash)
      select '${tenant}', 'component:default/a', 'component', 'a', '{}', 'h' from changed`;
    await expect(
      tenants.query(tenant, ({ knex }) =>
        knex.raw(`select ${change}`, [other]),
      ),
    ).rejects.toThrow(message);
    await expect(
      tenants.transaction(tenant, async transaction => {
        await insert(transaction, 'a');
        await transaction.query(
          transaction.knex.raw(`select ${change}`, [other]),
        );
      }),
    ).rejects.toThrow(message);
    // Whatever it has written is gone.
    await expect(
      tenants.query(tenant, ({ knex }) => knex.raw(write, [other])),
    ).rejects.toThrow();
    await expect(connection.names()).resolves.toEqual([]);
    expect(connection.watch.closed).toBeGreaterThanOrEqual(2);
    await expect(connection.doubts()).resolves.toEqual([]);
  });

  it.each(['leftover', 'entities'])(
    'leaves no temporary table %s to the next tenant',
    async name => {
      const sql = `select * into temporary ${name} from entities`;
      await tenants.query(tenant, scope => insertRows(scope, [entityRow('a')]));
      await expect(
        tenants.query(tenant, ({ knex }) => knex.raw(sql)),
      ).rejects.toThrow('has made a temporary table');
      await expect(
        tenants.transaction(tenant, async ({ query, knex }) => {
          await query(knex.raw(sql));
          // It does not stand in front of the other either.
          await query(knex('entities').delete());
          return await query(knex('entities'));
        }),
      ).rejects.toThrow('has made a temporary table');
      await expect(connection.doubts()).resolves.toEqual([]);
    },
  );

  it('leaves nothing behind of a setting for the session', async () => {
    // To what it is anyway: nobody could notice, but it would stay.
    await tenants.query(tenant, ({ knex }) =>
      knex.raw(`select set_config('app.tenant_id', ?, false)`, [tenant]),
    );
    await tenants.transaction(tenant, transaction =>
      transaction.query(
        transaction.knex.raw(`select set_config('app.tenant_id', ?, false)`, [
          tenant,
        ]),
      ),
    );
    await expect(connection.doubts()).resolves.toEqual([]);
    expect(connection.watch.closed).toBe(0);
  });

  it('is not affected by what its connection was left with', async () => {
    const pool = connection.database.createPool({ limits: { max: 1 } });
    const other = await connection.database.createTenant();
    // Somebody else's, as behind a connection pooler that many use.
    const settings = await connection.database.client.query<{ name: string }>(
      `select current_database() as name`,
    );
    const inDatabase = `alter role portal_app in database "${settings.rows[0].name}"`;
    await connection.database.client.query(
      `${inDatabase} set role = portal_admin`,
    );
    await connection.database.client.query(
      `${inDatabase} set search_path = pg_temp, public`,
    );
    await connection.database.client.query(
      `${inDatabase} set app.tenant_id = '${other}'`,
    );
    try {
      await tenants.query(other, scope =>
        insertRows(scope, [entityRow('theirs')]),
      );
      await expect(pool.query(knex => knex('entities'))).rejects.toThrow(
        'permission denied for table entities',
      );
      await expect(
        pool.query(knex => knex('entities'), { tenantId: tenant }),
      ).resolves.toEqual([]);
    } finally {
      await connection.database.client.query(`${inDatabase} reset all`);
    }
  });

  it('is not sent if it can not be', async () => {
    const message = `Cannot send a statement to the database: see the log of the backend`;
    const bad = {
      toPostgres: () => {
        throw new Error('no');
      },
    };
    await expect(
      tenants.query(tenant, ({ knex }) => knex.raw('select ?, ?', [1, bad])),
    ).rejects.toThrow(message);
    await expect(
      tenants.transaction(tenant, async transaction => {
        await insert(transaction, 'b');
        await transaction.query(transaction.knex.raw('select ?', [bad]));
      }),
    ).rejects.toThrow(message);
    await expect(
      tenants.query(tenant, scope =>
        scope.table('entities').whereIn('hash', Array(70_000).fill('x')),
      ),
    ).rejects.toThrow('has 70001 values. Expected at most 65535');
    await expect(
      tenants.query(tenant, ({ knex }) => knex.raw(`select 'a\0b'`)),
    ).rejects.toThrow('A statement may have no NUL character');
    await expect(
      tenants.query(tenant, scope =>
        scope.table('entities').where('hash', undefined as never),
      ),
    ).rejects.toThrow(
      `Cannot build a statement: one of its values is undefined`,
    );
    await expect(connection.names()).resolves.toEqual([]);
    await expect(connection.doubts()).resolves.toEqual([]);
  });
});
