import { once } from 'events';
import { cpSync, readFileSync, statSync } from 'fs';
import { dirname, join } from 'path';
import { temporaryFolder } from './__fixtures__/temporary';
import { availableVersions, binariesOf } from './binaries';
import { forkSupervisor, requestServer } from './supervisorProcess';
import { Client } from 'pg';
import { Postgres } from './Postgres';
import { withDeadline } from './testUtils';

const isRootOnLinux = process.getuid!() === 0 && process.platform === 'linux';

(isRootOnLinux ? describe : describe.skip)('started by root', () => {
  const folder = temporaryFolder();

  function userOf(pid: number): number {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(/^Uid:\s+(\d+)/m.exec(status)![1]);
  }

  it.each(availableVersions())(
    'version %s runs from, and in, a folder that is open to root only',
    async version => {
      expect((statSync(folder()).mode % 0o1000).toString(8)).toBe('700');
      const native = join(folder(), 'native');
      cpSync(dirname(binariesOf(version)), native, { recursive: true });
      const supervisor = forkSupervisor();
      const { pid } = await requestServer(supervisor, {
        version,
        binaries: join(native, 'bin'),
        dataDirectory: join(folder(), 'kept'),
        settings: {},
      });
      expect(userOf(pid)).not.toBe(0);
      supervisor.disconnect();
      await withDeadline('the supervisor to exit', once(supervisor, 'exit'));
    },
  );

  it.each(availableVersions())(
    'version %s lets no superuser of the database write to files of root',
    async version => {
      const postgres = await Postgres.start({ version });
      const client = new Client(postgres.connection);
      await client.connect();
      const file = join(folder(), 'written');
      await expect(
        client.query(`copy (select 1) to '${file}'`),
      ).rejects.toThrow('Permission denied');
      await client.end();
      await postgres.stop();
    },
  );
});
