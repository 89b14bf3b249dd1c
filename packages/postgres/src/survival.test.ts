import { ChildProcess, execFileSync, spawn } from 'child_process';
import { once } from 'events';
import { chmodSync, existsSync, statSync, writeFileSync } from 'fs';
import { join } from 'path';
import {
  serverOf,
  startParent,
  supervisorOf,
  untilGone,
} from './__fixtures__/parentProcess';
import { temporaryFolder } from './__fixtures__/temporary';
import { binariesOf } from './binaries';
import { Client } from 'pg';
import { Postgres } from './Postgres';
import { waitUntil, withDeadline } from './testUtils';

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
    await expect(untilGone(server)).resolves.toBeUndefined();
  });

  it.each(['SIGKILL', 'SIGINT'] as const)(
    'when the parent gets a %s',
    async signal => {
      const parent = startParent({ tmpdir: tmpdir() });
      const server = await serverOf(parent);
      parent.kill(signal);
      await expect(untilGone(server)).resolves.toBeUndefined();
    },
  );

  it('when the supervisor is killed', async () => {
    const path = pathWithoutDeathSignal(bin());
    const parent = startParent({ tmpdir: tmpdir(), path });
    const server = await serverOf(parent);
    process.kill(server.supervisorPid, 'SIGKILL');
    await expect(untilGone(server)).resolves.toBeUndefined();
    parent.kill();
  });
});

// Of several that start at once, one finds the lock file empty, or gone when it looks into it.
const IN_USE = /^PostgreSQL did not start in .*lock file "postmaster.pid"/;

describe('a folder that was given', () => {
  const folder = temporaryFolder();

  it('can be used again after the supervisor was killed', async () => {
    const dataDirectory = folder();
    const postgres = await Postgres.start({ dataDirectory });
    process.kill(supervisorOf(postgres.pid), 'SIGKILL');
    await postgres.exited;

    const again = await Postgres.start({ dataDirectory });
    await again.stop();
    expect(existsSync(join(dataDirectory, 'data', 'PG_VERSION'))).toBe(true);
  });

  it('is used by one of several that start at once', async () => {
    const winner = await expectOneToStart(folder());
    await expect(answerOf(winner)).resolves.toBe(1);
    await winner.stop();
  });

  it('is left to a server that was started there by hand', async () => {
    const dataDirectory = folder();
    const { port } = (await startAndStop(dataDirectory)).connection;
    const byHand = startByHand(dataDirectory, port);
    await waitUntil('the server', () =>
      existsSync(join(dataDirectory, 'data', 'postmaster.pid')),
    );
    await expect(Postgres.start({ dataDirectory })).rejects.toThrow(IN_USE);
    expect(byHand.exitCode).toBeNull();
    byHand.kill('SIGINT');
    await withDeadline('the server to exit', once(byHand, 'exit'));
  });
});

/** Starts several at once in a folder, of which all but one are refused. */
async function expectOneToStart(dataDirectory: string): Promise<Postgres> {
  const starts = await Promise.allSettled(
    Array.from({ length: 8 }, () => Postgres.start({ dataDirectory })),
  );
  const refusals = starts.flatMap(start =>
    start.status === 'rejected' ? [start.reason] : [],
  );
  expect(refusals).toHaveLength(7);
  for (const { message } of refusals) {
    expect(message).toMatch(IN_USE);
  }
  const [winner] = starts.flatMap(start =>
    start.status === 'fulfilled' ? [start.value] : [],
  );
  return winner;
}

async function answerOf(postgres: Postgres): Promise<number> {
  const client = new Client(postgres.connection);
  await client.connect();
  const { rows } = await client.query('select 1 as one');
  await client.end();
  return rows[0].one;
}

async function startAndStop(dataDirectory: string): Promise<Postgres> {
  const postgres = await Postgres.start({ dataDirectory });
  await postgres.stop();
  return postgres;
}

/** As somebody would who knows the binaries, and as the owner of the data. */
function startByHand(dataDirectory: string, port: number): ChildProcess {
  const data = join(dataDirectory, 'data');
  const { uid, gid } = statSync(data);
  const args = ['-D', data, '-p', String(port), '-k', ''];
  const postgres = join(binariesOf(18), 'postgres');
  return process.getuid!() === 0 && process.platform === 'linux'
    ? spawn('setpriv', [
        ...[`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups'],
        ...['--inh-caps=-all,+dac_read_search'],
        ...['--ambient-caps=-all,+dac_read_search'],
        ...['--securebits=+no_setuid_fixup', '--', postgres, ...args],
      ])
    : spawn(postgres, args);
}
