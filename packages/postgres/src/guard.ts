import { ChildProcess, fork, spawn } from 'child_process';
import { randomBytes } from 'crypto';
import { once } from 'events';
import { PostgresStartError } from './errors';
import { GuardReply, StartRequest } from './protocol';

/** Forks a guard, in a session of its own so that Ctrl-C does not reach it. */
export function forkGuard(): ChildProcess {
  return fork(require.resolve('../guard/guard.cjs'), [newMark()], {
    detached: true,
    cwd: '/',
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    // The parent's debugger, loaders and so on are not for the guard.
    execArgv: [],
    env: { ...process.env, NODE_OPTIONS: '' },
  });
}

/** Tells a process from every other by its command line. */
function newMark(): string {
  return `guard-${randomBytes(8).toString('hex')}`;
}

/** Asks the guard for a server, and waits until it is there or has failed. */
export async function askGuard(
  guard: ChildProcess,
  request: StartRequest,
): Promise<Extract<GuardReply, { type: 'ready' }>> {
  const died = once(guard, 'exit').then(([code, signal]): GuardReply => {
    const message = `The process that runs PostgreSQL ended with ${
      signal ?? code
    }`;
    return { type: 'failed', code: 'FAILED', message };
  });
  const replied = once(guard, 'message').then(
    ([message]) => message as GuardReply,
  );
  guard.send(request);
  const reply = await Promise.race([replied, died]);
  if (reply.type === 'failed') {
    throw new PostgresStartError(reply.code, reply.message);
  }
  return reply;
}

/** Does what a guard that was killed can't do any more. */
export async function reclaim(dataDirectory: string): Promise<void> {
  const script = require.resolve('../guard/reclaim.cjs');
  const child = spawn(process.execPath, [script, dataDirectory, newMark()], {
    // It finishes its work even when this process ends now.
    detached: true,
    stdio: 'ignore',
  });
  await once(child, 'exit');
}
