import { createTestDatabases } from '@internal/postgres/testUtils';
import {
  fail,
  insert,
  SingleConnection,
} from './__testUtils__/SingleConnection';
import type { TenantTransaction } from './TenantDatabase';

const databases = createTestDatabases();

describe.each(databases.eachSupportedId())('A transaction on %s', id => {
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
    await expect(connection.names()).resolves.toEqual([]);
    await expect(connection.doubts()).resolves.toEqual([]);
    expect(connection.watch.closed).toBe(0);
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
    await expect(connection.names()).resolves.toEqual([]);
    await expect(connection.doubts()).resolves.toEqual([]);
  });

  it('waits for statements that its work has not waited for', async () => {
    await tenants.transaction(tenant, async transaction => {
      insert(transaction, 'a');
      insert(transaction, 'b');
    });
    await expect(connection.names()).resolves.toEqual(['a', 'b']);
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
    await expect(connection.names()).resolves.toEqual(['a', 'b']);
    await expect(connection.doubts()).resolves.toEqual([]);
  });

  it('keeps its connection when one of many side by side fails', async () => {
    await expect(
      tenants.transaction(tenant, async transaction => {
        await insert(transaction, 'a');
        const { knex } = transaction;
        await Promise.all([
          ...Array.from({ length: 20 }, () =>
            transaction.query(knex.raw('select 1')),
          ),
          fail(transaction),
        ]);
      }),
    ).rejects.toMatchObject({ sqlState: '22012' });
    await expect(connection.names()).resolves.toEqual([]);
    await expect(connection.doubts()).resolves.toEqual([]);
    expect(connection.watch.closed).toBe(0);
  });

  it('takes no statement once it is over', async () => {
    let kept: TenantTransaction | undefined;
    await tenants.transaction(tenant, async transaction => {
      kept = transaction;
      await insert(transaction, 'a');
    });
    const other = await connection.database.createTenant();
    // On the same connection, the only one.
    await tenants.transaction(other, async transaction => {
      await insert(transaction, 'theirs');
      await expect(
        kept!.query(kept!.knex.raw('select * from entities')),
      ).rejects.toThrow('The transaction is over: a statement came too late');
    });
    await expect(connection.doubts()).resolves.toEqual([]);
  });

  it('fails where a constraint that is checked at its end does not hold', async () => {
    await connection.database.client.query(`
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
    await expect(connection.names()).resolves.toEqual([]);
    const { rows } = await connection.database.client.query(
      'select from later',
    );
    expect(rows).toEqual([]);
    await expect(connection.doubts()).resolves.toEqual([]);
    expect(connection.watch.closed).toBe(0);
  });
});
