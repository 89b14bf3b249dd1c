import { execFileSync } from 'child_process';
import { once } from 'events';
import { chmodSync, existsSync, readdirSync, writeFileSync } from 'fs';
import { join } from 'path';
import {
  eventually,
  guardPidIn,
  serverOf,
  startParent,
  isGone,
} from './__fixtures__/processes';
import { temporaryFolder } from './__fixtures__/temporary';
import { Client } from 'pg';
import { Postgres } from './Postgres';
import { withDeadline } from './testUtils';

/** A PATH on which `setpriv` can't make the kernel end the server. */
function pathWithoutDeathSignal(folder: string): string {
  let setpriv: string;
  try {
    setpriv = execFileSync('which', ['setpriv'], { encoding: 'utf8' }).trim();
  } catch {
    return process.env.PATH!;
  }
  const script = join(folder, 'setpriv');
  // The first two arguments are `--pdeathsig INT`.
  writeFileSync(script, `#!/bin/sh\nshift 2\nexec ${setpriv} "$@"\n`);
  chmodSync(script, 0o755);
  return `${folder}:${process.env.PATH}`;
}

describe('nothing is left', () => {
  const tmpdir = temporaryFolder();
  const bin = temporaryFolder();

  it('when the parent ends without a stop', async () => {
    const parent = startParent({ tmpdir: tmpdir(), stay: false });
    const server = await serverOf(parent);
    await withDeadline('the parent to exit', once(parent, 'exit'));
    expect(parent.exitCode).toBe(0);
    expect(await isGone(server)).toBe(true);
  });

  it.each(['SIGKILL', 'SIGINT'] as const)(
    'when the parent gets a %s',
    async signal => {
      const parent = startParent({ tmpdir: tmpdir() });
      const server = await serverOf(parent);
      parent.kill(signal);
      expect(await isGone(server)).toBe(true);
    },
  );

  it('when the parent is killed before the server is ready', async () => {
    const parent = startParent({ tmpdir: tmpdir() });
    const homes = () => readdirSync(tmpdir()).length;
    expect(await eventually(() => homes() > 0)).toBe(true);
    parent.kill('SIGKILL');
    expect(await eventually(() => homes() === 0)).toBe(true);
  });

  it('when the guard is killed', async () => {
    const path = pathWithoutDeathSignal(bin());
    const parent = startParent({ tmpdir: tmpdir(), path });
    const server = await serverOf(parent);
    process.kill(server.guardPid, 'SIGKILL');
    expect(await isGone(server)).toBe(true);
    parent.kill();
  });

  it('once another server was started, when parent and guard are killed', async () => {
    const path = pathWithoutDeathSignal(bin());
    const parent = startParent({ tmpdir: tmpdir(), path });
    const server = await serverOf(parent);
    // Nor can the parent do anything about the guard's end.
    parent.kill('SIGKILL');
    process.kill(server.guardPid, 'SIGKILL');

    const next = startParent({ tmpdir: tmpdir(), stay: false });
    expect(await isGone(server)).toBe(true);
    expect(await isGone(await serverOf(next))).toBe(true);
  });
});

describe('a folder that was given', () => {
  const folder = temporaryFolder();

  it('can be used again after the guard was killed', async () => {
    const dataDirectory = folder();
    const postgres = await Postgres.start({ dataDirectory });
    process.kill(guardPidIn(dataDirectory), 'SIGKILL');
    await postgres.exited;
    expect(existsSync(join(dataDirectory, 'guard.json'))).toBe(false);

    const again = await Postgres.start({ dataDirectory });
    await again.stop();
    expect(existsSync(join(dataDirectory, 'data', 'PG_VERSION'))).toBe(true);
  });

  it('is taken over by one of several that start at once, orphaned server and all', async () => {
    const dataDirectory = folder();
    const orphan = await Postgres.start({ dataDirectory });
    const gone = { pid: 1, mark: 'guard-that-is-gone', throwAway: false };
    writeFileSync(join(dataDirectory, 'guard.json'), JSON.stringify(gone));

    const starts = await Promise.allSettled(
      Array.from({ length: 4 }, () => Postgres.start({ dataDirectory })),
    );
    const [winner, ...others] = starts.flatMap(start =>
      start.status === 'fulfilled' ? [start.value] : [],
    );
    expect(others).toEqual([]);
    expect(
      starts.flatMap(start =>
        start.status === 'rejected' ? [start.reason.code] : [],
      ),
    ).toEqual(Array(3).fill('DIRECTORY_IN_USE'));

    const client = new Client(winner.connection);
    await client.connect();
    await client.query('select 1');
    await client.end();
    await winner.stop();
    await orphan.exited;
  });
});
