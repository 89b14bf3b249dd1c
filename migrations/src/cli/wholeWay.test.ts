import { createTestDatabases } from '@internal/postgres/testUtils';
import { createCatalogDatabase } from '../__testUtils__/catalogDatabase';
import { EXIT_CODES } from '../errors';
import { runCli, urlEnvironment } from './__testUtils__/runCli';

const databases = createTestDatabases({ versions: 'every' });

it.each(databases.eachSupportedId())(
  'the commands take a fresh database on %s to the end, back and forth',
  async id => {
    const database = await createCatalogDatabase(databases, id, {
      seed: false,
    });
    const env = urlEnvironment(database.connection);
    const run = async (...args: string[]) => {
      const { exitCode, stdout, stderr } = await runCli([...args, '--json'], {
        env,
      });
      if (exitCode === EXIT_CODES.unexpected) {
        throw new Error(stderr);
      }
      return { exitCode, stderr, ...JSON.parse(stdout) };
    };
    const all = ['all'];

    await expect(
      run(...all, '--tenant-name', 'Our company'),
    ).resolves.toMatchObject({ exitCode: 0, phase: 5 });
    await expect(run(...all)).resolves.toMatchObject({ phase: 5, done: [] });

    const verified = await run('verify');
    expect(verified).toMatchObject({ exitCode: 0, phase: 5 });
    expect(verified.checks.length).toBeGreaterThan(0);

    await expect(run('cleanup')).resolves.toMatchObject({
      exitCode: 0,
      dropped: false,
    });
    await expect(run('rollback')).resolves.toMatchObject({
      exitCode: EXIT_CODES.refused,
      stderr: expect.stringContaining('--to 0'),
    });
    await expect(run('phase6')).resolves.toMatchObject({
      exitCode: EXIT_CODES.refused,
      stderr: expect.stringContaining('--base-url'),
    });
    await expect(run('rollback', '--to', '0')).resolves.toMatchObject({
      exitCode: 0,
      phase: 0,
    });
    await expect(run(...all)).resolves.toMatchObject({ exitCode: 0, phase: 5 });
    await database.close();
  },
);
