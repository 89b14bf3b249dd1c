import { createTestDatabases } from '@internal/postgres/testUtils';
import { createTenancyDatabase } from '../__testUtils__/tenancyDatabase';
import type { TenancyDatabase } from '../__testUtils__/tenancyDatabase';
import { entityRow } from './__testUtils__/entityRow';
import { PoolWatch } from './__testUtils__/PoolWatch';
import { PooledTenantDatabase } from './PooledTenantDatabase';
import type { TenantTransaction } from './TenantDatabase';

const databases = createTestDatabases();

describe.each(databases.eachSupportedId())('A transaction on %s', id => {
  let database: TenancyDatabase;
  let tenants: PooledTenantDatabase;
  let watch: PoolWatch;
  beforeAll(async () => {
    database = await createTenancyDatabase(databases, id);
    tenants = new PooledTenantDatabase(
      database.createPool({ limits: { max: 1 } }),
    );
    watch = PoolWatch.start();
  });
  afterAll(async () => {
    watch.stop();
    await database.close();
  });

  let tenant: string;
  beforeEach(async () => {
    tenant = await database.createTenant();
    await watch.answered();
    watch.givenBack.length = 0;
    watch.closed = 0;
  });

  const insert = (
    transaction: TenantTransaction,
    name: string,
  ): Promise<object[]> =>
    transaction.query(transaction.insertInto('entities', [entityRow(name)]));

  const fail = (transaction: TenantTransaction): Promise<object[]> =>
    transaction.query(transaction.knex.raw('select 1 / 0'));

  const names = async (): Promise<string[]> => {
    const { rows } = await database.client.query(
      'select entity_name from entities where tenant_id = $1 order by 1',
      [tenant],
    );
    return rows.map(row => row.entity_name);
  };

  /** The connection is there for the next one, and is nobody's. */
  const expectClean = async () => {
    await expect(
      tenants.query(tenant, scope =>
        scope.knex.raw(`select current_setting('app.tenant_id') as tenant`),
      ),
    ).resolves.toEqual([{ tenant }]);
    await watch.answered();
    for (const givenBack of watch.givenBack) {
      expect(givenBack).toEqual({ status: 'I', tenant: '', role: 'none' });
    }
    expect(watch.givenBack.length).toBeGreaterThan(0);
  };

  it('commits what its statements have done, and returns what it is given', async () => {
    await expect(
      tenants.transaction(tenant, async transaction => {
        await insert(transaction, 'a');
        await insert(transaction, 'b');
        const rows = await transaction.query<{ entity_name: string }>(
          transaction.table('entities').select('entity_name'),
        );
        return rows.length;
      }),
    ).resolves.toBe(2);
    await expect(names()).resolves.toEqual(['a', 'b']);
    await expectClean();
  });

  it('takes back everything when its work rejects', async () => {
    await expect(
      tenants.transaction(tenant, async transaction => {
        await insert(transaction, 'a');
        throw new Error('changed my mind');
      }),
    ).rejects.toThrow('changed my mind');
    await expect(names()).resolves.toEqual([]);
    await expectClean();
    expect(watch.closed).toBe(0);
  });

  it('takes back everything when a statement fails', async () => {
    await expect(
      tenants.transaction(tenant, async transaction => {
        await insert(transaction, 'a');
        await insert(transaction, 'a');
      }),
    ).rejects.toMatchObject({
      name: 'DatabaseStatementError',
      sqlState: '23505',
      constraint: expect.any(String),
    });
    await expect(names()).resolves.toEqual([]);
    await expectClean();
    expect(watch.closed).toBe(0);
  });

  it('is not reported as committed when its work has swallowed a failure', async () => {
    await expect(
      tenants.transaction(tenant, async transaction => {
        await insert(transaction, 'a');
        await fail(transaction).catch(() => undefined);
        return 'done';
      }),
    ).rejects.toMatchObject({ sqlState: '22012' });
    await expect(
      tenants.transaction(tenant, async transaction => {
        await fail(transaction).catch(() => undefined);
        await insert(transaction, 'a').catch(() => undefined);
        return 'done';
      }),
    ).rejects.toMatchObject({ sqlState: '22012' });
    await expect(names()).resolves.toEqual([]);
    await expectClean();
  });

  it('waits for statements that its work has not waited for', async () => {
    await tenants.transaction(tenant, async transaction => {
      insert(transaction, 'a');
      insert(transaction, 'b');
    });
    await expect(names()).resolves.toEqual(['a', 'b']);
    await expect(
      tenants.transaction(tenant, async transaction => {
        insert(transaction, 'c');
        fail(transaction);
      }),
    ).rejects.toMatchObject({ sqlState: '22012' });
    await expect(
      tenants.transaction(tenant, async transaction => {
        insert(transaction, 'c');
        throw new Error('changed my mind');
      }),
    ).rejects.toThrow('changed my mind');
    await expect(names()).resolves.toEqual(['a', 'b']);
    await expectClean();
  });

  it('may run statements side by side', async () => {
    await tenants.transaction(tenant, async transaction => {
      await Promise.all(['a', 'b', 'c'].map(name => insert(transaction, name)));
    });
    await expect(names()).resolves.toEqual(['a', 'b', 'c']);
    await expect(
      tenants.transaction(tenant, async transaction => {
        await Promise.all([
          insert(transaction, 'd'),
          fail(transaction),
          insert(transaction, 'e'),
        ]);
      }),
    ).rejects.toMatchObject({ sqlState: '22012' });
    await expect(names()).resolves.toEqual(['a', 'b', 'c']);
    await expectClean();
  });

  it('takes no statement once it is over', async () => {
    let kept: TenantTransaction | undefined;
    await tenants.transaction(tenant, async transaction => {
      kept = transaction;
      await insert(transaction, 'a');
    });
    const other = await database.createTenant();
    // On the same connection, the only one.
    await tenants.transaction(other, async transaction => {
      await insert(transaction, 'theirs');
      await expect(
        kept!.query(kept!.knex.raw('select * from entities')),
      ).rejects.toThrow('The transaction is over: a statement came too late');
    });
    await expectClean();
  });

  it('fails where a constraint that is checked at its end does not hold', async () => {
    await database.client.query(`
      create table if not exists later (id int primary key deferrable initially deferred);
      grant select, insert on later to portal_app`);
    const twice = `insert into later values (1), (1)`;
    await expect(
      tenants.query(tenant, ({ knex }) => knex.raw(twice)),
    ).rejects.toMatchObject({ sqlState: '23505' });
    await expect(
      tenants.transaction(tenant, async transaction => {
        await insert(transaction, 'a');
        await transaction.query(transaction.knex.raw(twice));
      }),
    ).rejects.toMatchObject({ sqlState: '23505' });
    await expect(names()).resolves.toEqual([]);
    const { rows } = await database.client.query('select from later');
    expect(rows).toEqual([]);
    await expectClean();
    expect(watch.closed).toBe(0);
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
  ])('refuses the statement %j', async sql => {
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
    await expect(names()).resolves.toEqual([]);
    await expectClean();
  });

  it('takes one statement at a time', async () => {
    const two = 'select 1; commit';
    await expect(
      tenants.query(tenant, ({ knex }) => knex.raw(two)),
    ).rejects.toMatchObject({ sqlState: '42601' });
    await expect(
      tenants.transaction(tenant, transaction =>
        transaction.query(transaction.knex.raw(two)),
      ),
    ).rejects.toMatchObject({ sqlState: '42601' });
    await expectClean();
  });

  it.each<[string, string]>([
    ['the tenant', `set_config('app.tenant_id', ?, false)`],
    ['the tenant, for itself', `set_config('app.tenant_id', ?, true)`],
    ['the tenant to none', `set_config('app.tenant_id', left(?, 0), false)`],
    ['the role', `set_config('role', 'portal_admin', false), length(?)`],
    ['the role, for itself', `set_config('role', 'portal_admin', true), ?`],
  ])('fails that changes %s', async (_, change) => {
    const other = await database.createTenant();
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
    await expect(names()).resolves.toEqual([]);
    expect(watch.closed).toBeGreaterThanOrEqual(2);
    await expectClean();
  });

  it.each(['leftover', 'entities'])(
    'leaves no temporary table %s to the next tenant',
    async name => {
      const sql = `select * into temporary ${name} from entities`;
      await tenants.query(tenant, scope =>
        scope.insertInto('entities', [entityRow('a')]),
      );
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
      await expectClean();
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
    await expectClean();
    expect(watch.closed).toBe(0);
  });

  it('is not affected by what its connection was left with', async () => {
    const pool = database.createPool({ limits: { max: 1 } });
    const other = await database.createTenant();
    // Somebody else's, as behind a connection pooler that many use.
    const settings = await database.client.query<{ name: string }>(
      `select current_database() as name`,
    );
    const inDatabase = `alter role portal_app in database "${settings.rows[0].name}"`;
    await database.client.query(`${inDatabase} set role = portal_admin`);
    await database.client.query(
      `${inDatabase} set search_path = pg_temp, public`,
    );
    await database.client.query(`${inDatabase} set app.tenant_id = '${other}'`);
    try {
      await tenants.query(other, scope =>
        scope.insertInto('entities', [entityRow('theirs')]),
      );
      await expect(pool.query(knex => knex('entities'))).rejects.toThrow(
        'permission denied for table entities',
      );
      await expect(
        pool.query(knex => knex('entities'), { tenantId: tenant }),
      ).resolves.toEqual([]);
    } finally {
      await database.client.query(`${inDatabase} reset all`);
    }
  });

  it('does not send what can not be sent', async () => {
    const message = `A value of a statement can't be sent to the database`;
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
    ).rejects.toThrow('has 70001 values, where at most 65535 can be sent');
    await expect(
      tenants.query(tenant, ({ knex }) => knex.raw(`select 'a\0b'`)),
    ).rejects.toThrow('A statement may have no NUL character');
    await expect(
      tenants.query(tenant, scope =>
        scope.table('entities').where('hash', undefined as never),
      ),
    ).rejects.toThrow(
      `A statement can't be built: one of its values is undefined`,
    );
    await expect(names()).resolves.toEqual([]);
    await expectClean();
  });
});
