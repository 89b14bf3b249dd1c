import { rmSync } from 'fs';
import { join } from 'path';
import { temporaryFolder } from './__fixtures__/temporary';
import { Postgres } from './Postgres';
import { PostgresOptions } from './types';

async function failureOf(options: PostgresOptions): Promise<Error> {
  return await Postgres.start(options).then(
    async postgres => {
      await postgres.stop();
      throw new Error('It started');
    },
    error => error,
  );
}

describe('Postgres.start', () => {
  const folder = temporaryFolder();

  it('names the port that is taken', async () => {
    const other = await Postgres.start();
    const { port } = other.connection;
    expect(await failureOf({ port })).toMatchObject({
      name: 'PostgresStartError',
      code: 'PORT_TAKEN',
      message: `Port ${port} on 127.0.0.1 is taken`,
    });
    await other.stop();
  });

  it('names the server that uses the data folder already', async () => {
    const dataDirectory = folder();
    const other = await Postgres.start({ dataDirectory });
    expect(await failureOf({ dataDirectory })).toMatchObject({
      code: 'DIRECTORY_IN_USE',
      message: `${dataDirectory} is in use by another running server (pid ${other.pid})`,
    });
    await other.stop();
  });

  it('says that the password of kept data is missing', async () => {
    const dataDirectory = folder();
    await (await Postgres.start({ dataDirectory })).stop();
    rmSync(join(dataDirectory, 'password'));
    expect(await failureOf({ dataDirectory })).toMatchObject({
      code: 'DIRECTORY_UNUSABLE',
      message: expect.stringMatching(/password is missing/),
    });
  });
});
