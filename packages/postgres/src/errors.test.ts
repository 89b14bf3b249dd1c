import { mkdirSync, rmSync, writeFileSync } from 'fs';
import { userInfo } from 'os';
import { join } from 'path';
import { temporaryFolder } from './__fixtures__/temporary';
import { availableVersions } from './binaries';
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

  it('names the data folder that it may not write to, and the user', async () => {
    // Root may write everywhere but to the kernel's own file systems.
    const isRoot = userInfo().uid === 0;
    const dataDirectory = isRoot ? '/sys' : join(folder(), 'closed');
    if (!isRoot) {
      mkdirSync(dataDirectory, { mode: 0o500 });
    }
    const failure = await failureOf({ dataDirectory });
    expect(failure).toMatchObject({ code: 'DIRECTORY_UNUSABLE' });
    expect(failure.message).toContain(
      `${dataDirectory} can't be written to by the user ${userInfo().username}`,
    );
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

  it('names both versions when the data was made by another one', async () => {
    const dataDirectory = folder();
    const found = availableVersions()[0];
    await (await Postgres.start({ version: found, dataDirectory })).stop();
    const wanted = found === 14 ? 18 : 14;
    // Where only one version is installed, pretend that the data is the other's.
    const version = availableVersions().includes(wanted) ? wanted : found;
    const made = version === found ? wanted : found;
    writeFileSync(join(dataDirectory, 'data', 'PG_VERSION'), `${made}\n`);

    expect(await failureOf({ version, dataDirectory })).toMatchObject({
      code: 'OTHER_MAJOR_VERSION',
      message:
        `${dataDirectory} holds data of PostgreSQL ${made}, but version ${version} was to be started: ` +
        `start version ${made}, or remove the folder to begin with an empty database`,
    });
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
