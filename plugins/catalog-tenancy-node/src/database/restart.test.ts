import { mkdtemp, rm } from 'fs/promises';
import { tmpdir } from 'os';
import { join } from 'path';
import { Postgres } from '@internal/postgres';
import { mockLogger } from '../__testUtils__/serviceMocks';
import { DatabaseUnavailableError } from '../pool/errors';
import { TenancyPool } from '../pool/TenancyPool';

it('A pool heals after a restart of the server', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tenancy-restart-'));
  const dataDirectory = join(folder, 'server');
  let server = await Postgres.start({ dataDirectory });
  const { connection } = server;
  const pool = TenancyPool.create({
    connection: { ...connection, database: 'postgres' },
    schema: 'public',
    pool: { max: 3, idleTimeoutMs: 60_000, connectionTimeoutMs: 10_000 },
    logger: mockLogger(),
  });
  const ask = () => pool.query(knex => knex.raw('select 1 as one'));
  try {
    await Promise.all([ask(), ask(), ask()]);
    const sleeping = pool.query(knex => knex.raw('select pg_sleep(60)'));
    await Promise.all([
      expect(sleeping).rejects.toBeInstanceOf(DatabaseUnavailableError),
      server.stop(),
    ]);
    await expect(ask()).rejects.toBeInstanceOf(DatabaseUnavailableError);
    server = await Postgres.start({ dataDirectory, port: connection.port });
    await expect(Promise.all([ask(), ask(), ask()])).resolves.toEqual([
      [{ one: 1 }],
      [{ one: 1 }],
      [{ one: 1 }],
    ]);
  } finally {
    await pool.close();
    await server.stop();
    await rm(folder, { recursive: true });
  }
});
