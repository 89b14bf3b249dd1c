import { ChildProcess, spawn } from 'child_process';
import { once } from 'events';
import { existsSync, readFileSync } from 'fs';
import { join } from 'path';
import { createInterface } from 'readline';
import { isRunning } from '../../guard/processes.cjs';

const PATIENCE_MS = 120_000;

/**
 * Polls, since nothing tells when a process that is not ours disappears.
 * @returns whether it came true in time
 */
export async function eventually(isTrue: () => boolean): Promise<boolean> {
  const deadline = Date.now() + PATIENCE_MS;
  while (!isTrue()) {
    if (Date.now() > deadline) {
      return false;
    }
    await new Promise(done => {
      setTimeout(done, 20);
    });
  }
  return true;
}

/** Runs `startServer.ts` in a process of its own. */
export function startParent(options: {
  tmpdir: string;
  path?: string;
  stay?: boolean;
}): ChildProcess {
  return spawn(
    process.execPath,
    [
      '--require',
      require.resolve('@backstage/cli/config/nodeTransform.cjs'),
      require.resolve('./startServer.ts'),
      options.stay === false ? 'leave' : 'stay',
    ],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: {
        ...process.env,
        TMPDIR: options.tmpdir,
        PATH: options.path ?? process.env.PATH,
      },
    },
  );
}

/** The server that a process started by `startParent` speaks of. */
export async function serverOf(
  parent: ChildProcess,
): Promise<{ dataDirectory: string; pid: number; guardPid: number }> {
  const [line] = await once(createInterface(parent.stdout!), 'line');
  const server = JSON.parse(line);
  return { ...server, guardPid: guardPidIn(server.dataDirectory) };
}

export function guardPidIn(dataDirectory: string): number {
  const claim = readFileSync(join(dataDirectory, 'guard.json'), 'utf8');
  return JSON.parse(claim).pid;
}

/** Whether both the server and its folder disappear. */
export async function isGone(server: {
  dataDirectory: string;
  pid: number;
}): Promise<boolean> {
  const { dataDirectory, pid } = server;
  return await eventually(
    () => !isRunning(pid, dataDirectory) && !existsSync(dataDirectory),
  );
}
