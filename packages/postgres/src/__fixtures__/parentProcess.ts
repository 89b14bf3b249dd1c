import { ChildProcess, execFileSync, spawn } from 'child_process';
import { once } from 'events';
import { existsSync, readFileSync } from 'fs';
import { createInterface } from 'readline';
import { waitUntil } from '../testUtils';

/** Runs `startServer.ts` in a process of its own. */
export function startParent(options: {
  tmpdir: string;
  path?: string;
  stay?: boolean;
  /** A throw-away folder by default. */
  dataDirectory?: string;
}): ChildProcess {
  return spawn(
    process.execPath,
    [
      '--require',
      require.resolve('@backstage/cli/config/nodeTransform.cjs'),
      require.resolve('./startServer.ts'),
      options.stay === false ? 'leave' : 'stay',
      ...(options.dataDirectory ? [options.dataDirectory] : []),
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
): Promise<{ dataDirectory: string; pid: number; supervisorPid: number }> {
  const [line] = await once(createInterface(parent.stdout!), 'line');
  const server = JSON.parse(line);
  return { ...server, supervisorPid: supervisorOf(server.pid) };
}

/** The supervisor is the parent of the server. */
export function supervisorOf(pid: number): number {
  if (process.platform === 'linux') {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(/^PPid:\s+(\d+)/m.exec(status)![1]);
  }
  return Number(execFileSync('ps', ['-o', 'ppid=', '-p', String(pid)]));
}

/** Waits until both the server and its folder have disappeared. */
export async function untilGone(server: {
  dataDirectory: string;
  pid: number;
}): Promise<void> {
  const { dataDirectory, pid } = server;
  await waitUntil(
    'the server and its folder to disappear',
    () => !isRunning(pid) && !existsSync(dataDirectory),
  );
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
