import { Client } from 'pg';
import { existsSync } from 'fs';
import { Postgres } from './Postgres';

jest.setTimeout(60_000);

describe.each([14, 18] as const)('PostgreSQL %s', version => {
  it('starts', async () => {
    const postgres = await Postgres.start({ version });
    const client = new Client(postgres.connectionString());
    await client.connect();
    const { rows } = await client.query('select version()');
    expect(rows[0].version).toContain(`PostgreSQL ${version}.`);
    await client.end();
    await postgres.stop();
    expect(existsSync(postgres.dataDirectory)).toBe(false);
  });
});
