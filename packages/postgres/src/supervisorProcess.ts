import { ChildProcess, fork } from 'child_process';
import { once } from 'events';
import { PostgresStartError } from './errors';
import { PostgresConnection, PostgresVersion } from './types';

const SUPERVISOR = require.resolve('../supervisor/supervisor.cjs');

/** What the supervisor is asked to start; see `supervisor/supervisor.cjs`. */
export type StartRequest = {
  version: PostgresVersion;
  /** The folder that holds `initdb` and `postgres`. */
  binaries: string;
  port?: number;
  dataDirectory?: string;
  settings: Record<string, string>;
};

/** The one message of a supervisor to its parent. */
export type SupervisorReply =
  | {
      type: 'ready';
      connection: PostgresConnection;
      pid: number;
      dataDirectory: string;
    }
  | { type: 'failed'; message: string };

/** Forks a supervisor, in a session of its own so that Ctrl-C does not reach it. */
export function forkSupervisor(temporaryFolder?: string): ChildProcess {
  return fork(SUPERVISOR, {
    detached: true,
    cwd: '/',
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    // The parent's debugger, loaders and so on are not for the supervisor.
    execArgv: [],
    env: {
      ...process.env,
      NODE_OPTIONS: '',
      ...(temporaryFolder && { TMPDIR: temporaryFolder }),
    },
  });
}

/** Asks the supervisor for a server, and waits until it is there or has failed. */
export async function requestServer(
  supervisor: ChildProcess,
  request: StartRequest,
): Promise<Extract<SupervisorReply, { type: 'ready' }>> {
  // Its reply may arrive after its exit, and has been read once the channel is closed.
  const ended = [once(supervisor, 'exit'), once(supervisor, 'disconnect')];
  const died = Promise.all(ended).then(([[code, signal]]): SupervisorReply => {
    const message = `The process that runs PostgreSQL ended with ${
      signal ?? code
    }`;
    return { type: 'failed', message };
  });
  const replied = once(supervisor, 'message').then(
    ([message]) => message as SupervisorReply,
  );
  supervisor.send(request);
  const reply = await Promise.race([replied, died]);
  if (reply.type === 'failed') {
    throw new PostgresStartError(reply.message);
  }
  return reply;
}
