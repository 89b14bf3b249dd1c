import { existsSync, statSync } from 'fs';
import { join } from 'path';
import { Client } from 'pg';
import { temporaryFolder } from './__fixtures__/temporary';
import { availableVersions } from './binaries';
import { Postgres } from './Postgres';
import { withClient } from './withClient';

async function query(postgres: Postgres, sql: string): Promise<unknown[]> {
  return withClient(postgres.connectionString(), async client => {
    const { rows } = await client.query({ text: sql, rowMode: 'array' });
    return rows.flat();
  });
}

describe.each(availableVersions())('a throw-away PostgreSQL %s', version => {
  let postgres: Postgres;

  beforeAll(async () => {
    postgres = await Postgres.start({ version });
  });

  afterAll(() => postgres.stop());

  it('sorts by code point and knows letters beyond ASCII', async () => {
    const sorted = `select x from unnest(array['b', 'ä', 'a', 'B']) x order by x`;
    expect(await query(postgres, sorted)).toEqual(['B', 'a', 'b', 'ä']);
    expect(await query(postgres, `select 'Ä' ilike 'ä'`)).toEqual([true]);
  });

  it('refuses a wrong password', async () => {
    const client = new Client({ ...postgres.connection, password: 'wrong' });
    await expect(client.connect()).rejects.toThrow(
      'password authentication failed',
    );
  });

  it('listens on the loopback interface only', async () => {
    const sql = `select current_setting('listen_addresses'), current_setting('unix_socket_directories')`;
    expect(await query(postgres, sql)).toEqual(['127.0.0.1', '']);
  });
});

describe('Postgres', () => {
  const folder = temporaryFolder();

  it('keeps data and password in a folder that was given', async () => {
    const dataDirectory = join(folder(), 'not', 'there', 'yet');

    const first = await Postgres.start({ dataDirectory });
    await query(first, 'create table kept as select 42 as answer');
    await first.stop();

    const second = await Postgres.start({ dataDirectory });
    expect(await query(second, 'select answer from kept')).toEqual([42]);
    expect(second.connection.password).toBe(first.connection.password);
    await second.stop();
  });

  it('protects kept data against power failures, and its password', async () => {
    const postgres = await Postgres.start({ dataDirectory: folder() });
    expect(await query(postgres, 'show fsync')).toEqual(['on']);
    const { mode } = statSync(join(folder(), 'data', 'password'));
    expect((mode % 0o1000).toString(8)).toBe('600');
    await postgres.stop();
  });

  it('says when the server ends', async () => {
    const postgres = await Postgres.start();
    process.kill(postgres.pid, 'SIGQUIT');
    await postgres.exited;
    expect(existsSync(postgres.dataDirectory)).toBe(false);
  });
});
