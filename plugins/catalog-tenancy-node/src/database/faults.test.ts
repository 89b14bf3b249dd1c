import { createTestDatabases } from '@internal/postgres/testUtils';
import type { Knex } from 'knex';
import { createTenancyDatabase } from '../__testUtils__/tenancyDatabase';
import type { TenancyDatabase } from '../__testUtils__/tenancyDatabase';
import { entityRow, insertRows } from './__testUtils__/entityRow';
import type { Cut } from './__testUtils__/Link';
import { PoolWatch } from './__testUtils__/PoolWatch';
import { WireProxy } from './__testUtils__/WireProxy';
import { DatabaseUnavailableError } from '../pool/errors';
import { PooledTenantDatabase } from './PooledTenantDatabase';

const databases = createTestDatabases({ versions: 'newest', citus: true });

/** What may be stored after an operation that stores `a` and `b`. */
function possibleAfter(outcome: PromiseSettledResult<unknown>): string[][] {
  if (outcome.status === 'fulfilled') {
    return [['a', 'b']];
  }
  if (!(outcome.reason instanceof DatabaseUnavailableError)) {
    throw outcome.reason;
  }
  return outcome.reason.outcomeUnknown ? [[], ['a', 'b']] : [[]];
}

describe.each(databases.eachSupportedId())('A connection to %s', id => {
  let database: TenancyDatabase;
  let proxy: WireProxy;
  let tenants: PooledTenantDatabase;
  let watch: PoolWatch;
  let ours: string;
  let theirs: string;
  beforeAll(async () => {
    database = await createTenancyDatabase(databases, id);
    proxy = await WireProxy.start(database.appConnection);
    tenants = new PooledTenantDatabase(
      database.createPool({
        connection: proxy.connection,
        limits: { max: 1 },
      }),
    );
    ours = await database.createTenant();
    theirs = await database.createTenant();
    await tenants.query(theirs, scope =>
      insertRows(scope, [entityRow('theirs')]),
    );
    watch = PoolWatch.start();
  });
  afterAll(async () => {
    watch.stop();
    await database.close();
    await proxy.close();
  });

  const names = async (): Promise<string[]> => {
    const { rows } = await database.client.query(
      'select entity_name from entities where tenant_id = $1 order by 1',
      [ours],
    );
    return rows.map(row => row.entity_name);
  };

  const operations: Record<string, () => Promise<unknown>> = {
    'a single statement': () =>
      tenants.query(ours, scope =>
        insertRows(scope, [entityRow('a'), entityRow('b')]),
      ),
    'a transaction': () =>
      tenants.transaction(ours, async transaction => {
        for (const name of ['a', 'b']) {
          await transaction.query(insertRows(transaction, [entityRow(name)]));
        }
      }),
    'a transaction that is rolled back': () =>
      tenants.transaction(ours, async transaction => {
        await transaction.query(insertRows(transaction, [entityRow('a')]));
        throw new Error('changed my mind');
      }),
    'a read': () =>
      tenants.query(ours, ({ knex }) => knex('entities').select('entity_ref')),
    'a failing statement': () =>
      tenants.transaction(ours, async transaction => {
        await transaction.query(transaction.knex.raw('select 1 / 0'));
      }),
  };

  /** Cuts at each message in turn, until an operation ends before it. */
  async function cutEverywhere(
    operation: () => Promise<unknown>,
    at: Omit<Cut, 'message'>,
    check: (outcome: PromiseSettledResult<unknown>) => Promise<void>,
  ): Promise<number> {
    for (let message = 1; ; message += 1) {
      await database.client.query('delete from entities where tenant_id = $1', [
        ours,
      ]);
      // A connection that is there, of which no messages are left to come.
      await tenants.query(theirs, ({ knex }) => knex('entities'));
      await watch.answered();
      proxy.cutAt({ ...at, message });
      const [outcome] = await Promise.allSettled([operation()]);
      const cut = !proxy.armed;
      proxy.cutAt(undefined);
      await watch.answered();
      await proxy.settled();
      if (!cut) {
        return message - 1;
      }
      await check(outcome);
      await expect(
        tenants.query(theirs, ({ knex }) =>
          knex('entities').select('tenant_id'),
        ),
      ).resolves.toEqual([{ tenant_id: theirs }]);
    }
  }

  const cuts = (['frontend', 'backend'] as const).flatMap(side =>
    (['before', 'within'] as const).map(when => ({ side, when })),
  );

  describe.each(cuts)('cut $when any message of the $side', at => {
    it.each(['a single statement', 'a transaction'])(
      'leaves all or nothing of %s, and no doubt that is not told',
      async name => {
        const seen = await cutEverywhere(operations[name], at, async outcome =>
          expect(possibleAfter(outcome)).toContainEqual(await names()),
        );
        expect(seen).toBeGreaterThan(5);
      },
    );

    it('says of a read nothing about a change', async () => {
      await cutEverywhere(operations['a read'], at, async outcome =>
        expect(outcome).toMatchObject({
          reason: {
            name: 'ServiceUnavailableError',
            message: 'The connection to the database was lost',
          },
        }),
      );
    });

    it.each(['a transaction that is rolled back', 'a failing statement'])(
      'leaves nothing of %s',
      async name => {
        const seen = await cutEverywhere(
          operations[name],
          at,
          async ({ status }) => {
            expect(status).toBe('rejected');
            await expect(names()).resolves.toEqual([]);
          },
        );
        expect(seen).toBeGreaterThan(5);
      },
    );
  });

  it('is never given back with a tenant, or within a transaction', async () => {
    await watch.answered();
    expect(watch.givenBack.length).toBeGreaterThan(100);
    expect(
      watch.givenBack.filter(
        ({ status, tenant, role }) =>
          status !== 'I' || tenant !== '' || role !== 'none',
      ),
    ).toEqual([]);
  });

  it('that can not be logged in with is none', async () => {
    for (const side of ['frontend', 'backend'] as const) {
      // The first three messages of either are about who it is.
      for (let message = 1; message <= 3; message += 1) {
        const pool = database.createPool({ connection: proxy.connection });
        await watch.answered();
        proxy.cutAt({ side, message, when: 'before' });
        await expect(pool.query(knex => knex('tenants'))).rejects.toMatchObject(
          {
            name: 'ServiceUnavailableError',
            outcomeUnknown: false,
          },
        );
        await expect(
          pool.query(knex => knex('tenants')),
        ).resolves.toBeDefined();
      }
    }
  });

  it.each(['begin', 'set_config', 'insert', 'commit'])(
    'on which the message with "%s" fails runs nothing behind it',
    async word => {
      for (const name of ['a single statement', 'a transaction']) {
        await database.client.query(
          'delete from entities where tenant_id = $1',
          [ours],
        );
        await tenants.query(theirs, ({ knex }) => knex('entities'));
        await watch.answered();
        proxy.spoil(word);
        const [outcome] = await Promise.allSettled([operations[name]()]);
        const spoiled = !proxy.spoiling;
        proxy.spoil(undefined);
        expect(outcome.status).toBe(spoiled ? 'rejected' : 'fulfilled');
        await expect(names()).resolves.toEqual(spoiled ? [] : ['a', 'b']);
        await expect(
          tenants.query(theirs, ({ knex }) =>
            knex('entities').select('tenant_id'),
          ),
        ).resolves.toEqual([{ tenant_id: theirs }]);
      }
    },
  );

  it('that could not begin a transaction runs no statement of it outside', async () => {
    // Without row-level security, which would refuse it anyway.
    await database.client.query(`
      create table unguarded (id int);
      grant select, insert on unguarded to portal_app`);
    const insert = (knex: Knex, value: number) =>
      knex.raw('insert into tenancy.unguarded values (?)', [value]);
    const attempts: (() => Promise<unknown>)[] = [
      () => tenants.query(ours, ({ knex }) => insert(knex, 0)),
      () =>
        tenants.transaction(ours, async ({ query, knex }) => {
          await Promise.all([1, 2, 3].map(value => query(insert(knex, value))));
        }),
    ];
    for (const attempt of attempts) {
      await watch.answered();
      proxy.spoil('begin');
      // The session ends with it: what PostgreSQL said may be lost with the connection.
      await expect(attempt()).rejects.toThrow(
        /SQLSTATE 42601|The connection to the database was lost/,
      );
      expect(proxy.spoiling).toBe(false);
    }
    const { rows } = await database.client.query('select * from unguarded');
    expect(rows).toEqual([]);
  });
});
