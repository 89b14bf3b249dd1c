import { createTestDatabases } from '@internal/postgres/testUtils';
import type { Knex } from 'knex';
import type { AddressInfo } from 'node:net';
import { Client } from 'pg';
import { startProxy } from './delayingProxy';

const databases = createTestDatabases({ versions: 'newest' });

function connectionOf(knex: Knex) {
  const { host, port, user, password, database } =
    knex.client.connectionSettings;
  return { host, port: Number(port), user, password, database };
}

describe('startProxy', () => {
  it('passes on everything in its order, and the end', async () => {
    const connection = connectionOf(await databases.init('POSTGRES_18'));
    const proxy = await startProxy({ ...connection, rttMs: 1 });
    const { port } = proxy.address() as AddressInfo;
    const client = new Client({ ...connection, port });
    await client.connect();

    const { rows } = await client.query(
      `select repeat('x', i * 100) as text from generate_series(1, 1000) i`,
    );
    expect(rows.map(({ text }) => text.length)).toEqual(
      Array.from({ length: 1000 }, (_, index) => (index + 1) * 100),
    );

    const lost = new Promise(resolve => client.once('error', resolve));
    await expect(
      client.query('select pg_terminate_backend(pg_backend_pid())'),
    ).rejects.toThrow('terminating connection');
    expect(await lost).toBeInstanceOf(Error);
    proxy.close();
  });
});
