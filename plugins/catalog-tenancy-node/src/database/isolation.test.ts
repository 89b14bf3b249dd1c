import type { Knex } from 'knex';
import { createTestDatabases } from '@internal/postgres/testUtils';
import { createTenancyDatabase } from '../__testUtils__/tenancyDatabase';
import type { TenancyDatabase } from '../__testUtils__/tenancyDatabase';
import { entityRow, insertRows } from './__testUtils__/entityRow';
import { WireProxy } from './__testUtils__/WireProxy';
import { PooledTenantDatabase } from './PooledTenantDatabase';

const databases = createTestDatabases({ versions: 'every', citus: true });

describe.each(databases.eachSupportedId())('Tenants on %s', id => {
  // Citus has shards in place of partitions.
  const itOnOneServer = id === 'CITUS' ? it.skip : it;
  let database: TenancyDatabase;
  let proxy: WireProxy;
  let tenants: PooledTenantDatabase;
  beforeAll(async () => {
    database = await createTenancyDatabase(databases, id);
    proxy = await WireProxy.start(database.appConnection);
    const pool = database.createPool({
      connection: proxy.connection,
      limits: { max: 1 },
    });
    tenants = new PooledTenantDatabase(pool);
  });
  afterAll(async () => {
    await database.close();
    await proxy.close();
  });

  let ours: string;
  let theirs: string;
  /** Both tenants have the same entities, whose contents tell whose they are. */
  beforeEach(async () => {
    ours = await database.createTenant();
    theirs = await database.createTenant();
    for (const tenant of [ours, theirs]) {
      await tenants.query(tenant, scope =>
        insertRows(scope, [
          entityRow('one', { tenant }),
          entityRow('two', { tenant }),
        ]),
      );
    }
  });

  /** What there is, by the word of a superuser. */
  async function rowsOf(tenant: string): Promise<object[]> {
    const { rows } = await database.client.query(
      `select entity_name, hash, final_entity->>'tenant' as tenant
         from entities where tenant_id = $1 order by 1`,
      [tenant],
    );
    return rows;
  }

  const untouched = (tenant: string) => [
    { entity_name: 'one', hash: 'hash', tenant },
    { entity_name: 'two', hash: 'hash', tenant },
  ];

  async function roundTripsOf(use: () => Promise<unknown>): Promise<number> {
    const before = proxy.roundTrips;
    await use();
    return proxy.roundTrips - before;
  }

  it('are read and written in one round trip', async () => {
    await expect(
      roundTripsOf(() =>
        tenants.query(ours, scope => scope.table('entities').select()),
      ),
    ).resolves.toBe(1);
    await expect(
      roundTripsOf(() =>
        tenants.query(ours, scope =>
          scope.table('entities').update({ hash: 'new' }),
        ),
      ),
    ).resolves.toBe(1);
  });

  it('read their own rows', async () => {
    const rows = await tenants.query(ours, scope =>
      scope.table('entities', 'e').select('e.tenant_id', 'e.entity_ref'),
    );
    expect(rows).toHaveLength(2);
    expect(rows).toEqual(
      expect.arrayContaining([
        { tenant_id: ours, entity_ref: 'component:default/one' },
        { tenant_id: ours, entity_ref: 'component:default/two' },
      ]),
    );
  });

  it('are kept apart by the policy where a statement has no predicate', async () => {
    await expect(
      tenants.query(ours, ({ knex }) =>
        knex.raw('select distinct tenant_id from entities'),
      ),
    ).resolves.toEqual([{ tenant_id: ours }]);
    await tenants.query(ours, ({ knex }) =>
      knex('entities').update({ hash: 'new' }),
    );
    await tenants.query(ours, ({ knex }) =>
      knex('entities').where('entity_name', 'two').delete(),
    );
    await expect(rowsOf(theirs)).resolves.toEqual(untouched(theirs));
    await expect(rowsOf(ours)).resolves.toEqual([
      { entity_name: 'one', hash: 'new', tenant: ours },
    ]);
  });

  it('are kept apart by the predicate where no policy holds', async () => {
    const { client } = database;
    await client.query('alter table entities disable row level security');
    try {
      const rows = await tenants.query<{ tenant_id: string }>(ours, scope =>
        scope.table('entities').select(),
      );
      expect(rows.map(row => row.tenant_id)).toEqual([ours, ours]);
      await tenants.query(ours, scope =>
        scope.table('entities', 'e').update({ hash: 'new' }),
      );
      await tenants.query(ours, scope => scope.table('entities').delete());
    } finally {
      await client.query('alter table entities enable row level security');
    }
    await expect(rowsOf(theirs)).resolves.toEqual(untouched(theirs));
    await expect(rowsOf(ours)).resolves.toEqual([]);
  });

  it('are kept from the partitions of others while a statement is planned', async () => {
    const plan = await tenants.query(ours, scope =>
      scope.knex.raw('explain (verbose) ?', [
        scope.table('entities').select('entity_ref'),
      ]),
    );
    const partitions = JSON.stringify(plan).match(/ on tenancy\.\w+/g);
    expect(partitions).toHaveLength(1);
  });

  it.each<[string, (tenant: string) => string]>([
    ['an update', () => `update entities set hash = 'x' where tenant_id = ?`],
    ['a delete', () => 'delete from entities where tenant_id = ?'],
    ['a read', () => 'select from entities where tenant_id = ?'],
  ])('find nothing with %s aimed at another', async (_, sql) => {
    await expect(
      tenants.query(ours, ({ knex }) => knex.raw(sql(theirs), [theirs])),
    ).resolves.toEqual([]);
    await expect(rowsOf(theirs)).resolves.toEqual(untouched(theirs));
  });

  it.each<[string, string]>([
    [
      'an insert',
      `insert into entities (tenant_id, entity_ref, entity_kind, entity_name, final_entity, hash)
       values (?, 'component:default/new', 'component', 'new', '{}', 'h')`,
    ],
    [
      'an upsert',
      `insert into entities (tenant_id, entity_ref, entity_kind, entity_name, final_entity, hash)
       values (?, 'component:default/one', 'component', 'one', '{}', 'h')
       on conflict (tenant_id, entity_ref) do update set hash = 'taken'`,
    ],
    [
      'an upsert that does nothing',
      `insert into entities (tenant_id, entity_ref, entity_kind, entity_name, final_entity, hash)
       values (?, 'component:default/one', 'component', 'one', '{}', 'h')
       on conflict do nothing`,
    ],
    ['a move', 'update entities set tenant_id = ?'],
  ])('are refused %s into another', async (_, sql) => {
    await expect(
      tenants.query(ours, ({ knex }) => knex.raw(sql, [theirs])),
    ).rejects.toMatchObject(
      id === 'CITUS' && sql.startsWith('update')
        ? // A row stays in the shard of its tenant: Citus refuses that before the policy does.
          { name: 'DatabaseStatementError', sqlState: '0A000' }
        : {
            name: 'DatabaseStatementError',
            sqlState: '42501',
            message:
              'new row violates row-level security policy for table "entities"',
          },
    );
    await expect(rowsOf(theirs)).resolves.toEqual(untouched(theirs));
    await expect(rowsOf(ours)).resolves.toEqual(untouched(ours));
  });

  it('get no condition with "or" beside the predicate', async () => {
    await expect(
      tenants.query(ours, scope =>
        scope.table('entities').where('hash', 'a').orWhere('hash', 'b'),
      ),
    ).rejects.toThrow('would undo the predicate of the tenant');
    const alternatives: ((builder: Knex.QueryBuilder) => Knex.QueryBuilder)[] =
      [
        builder => builder.or.where('hash', 'b'),
        builder => builder.orWhereIn('hash', ['b']),
        builder => builder.orWhereRaw('true'),
        builder => builder.orWhereJsonSupersetOf('final_entity', {}),
        builder => builder.clone().orWhereNotNull('hash'),
      ];
    for (const alternative of alternatives) {
      await expect(
        tenants.query(ours, scope => alternative(scope.table('entities'))),
      ).rejects.toThrow('would undo the predicate of the tenant');
    }
    await expect(
      tenants.query(ours, scope =>
        scope
          .table('entities')
          .where(group => group.where('hash', 'a').orWhere('hash', 'hash'))
          .select('entity_name'),
      ),
    ).resolves.toHaveLength(2);
  });

  it.each(['entities', 'relations', 'refresh_state'])(
    'are all hidden in %s where none is set',
    async table => {
      await expect(database.pool.query(knex => knex(table))).rejects.toThrow(
        expect.objectContaining({
          message: `permission denied for table ${table}`,
          sqlState: '42501',
        }),
      );
    },
  );

  itOnOneServer('have partitions that nobody reaches directly', async () => {
    const { rows } = await database.client.query<{ name: string }>(
      `select inhrelid::regclass::text as name from pg_inherits
        where inhparent::regclass::text in ('entities', 'relations', 'refresh_state')`,
    );
    expect(rows.length).toBeGreaterThanOrEqual(6);
    for (const { name } of rows) {
      await expect(
        tenants.query(ours, ({ knex }) => knex.raw(`select from ${name}`)),
      ).rejects.toThrow(`permission denied for table ${name}`);
    }
  });

  it.each<[unknown]>([
    [undefined],
    [null],
    [''],
    ['default'],
    ['00000000-0000-0000-0000-00000000000'],
    ['{00000000-0000-0000-0000-000000000001}'],
    ['00000000-0000-0000-0000-000000000001 '],
    [`00000000-0000-0000-0000-000000000001\n`],
    [`'; drop table entities; --`],
    [1],
    [['00000000-0000-0000-0000-000000000001']],
  ])('are not looked for with the id %j', async tenantId => {
    const roundTrips = await roundTripsOf(async () => {
      const build = jest.fn();
      await expect(
        tenants.query(tenantId as string, build),
      ).rejects.toMatchObject({
        name: 'InputError',
        message: expect.stringContaining('is not a UUID such as "00000000-'),
      });
      await expect(
        tenants.transaction(tenantId as string, build),
      ).rejects.toMatchObject({ name: 'InputError' });
      expect(build).not.toHaveBeenCalled();
    });
    expect(roundTrips).toBe(0);
  });
});
