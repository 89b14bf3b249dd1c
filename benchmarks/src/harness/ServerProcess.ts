import { type ChildProcess, fork } from 'node:child_process';
import { on, once } from 'node:events';

/**
 * A server in a process of its own. The load comes from this process: in one
 * event loop with the server, each would wait for the other, and the server's
 * share of the work could not be told from that of the load.
 */
export class ServerProcess {
  readonly url: string;
  readonly #child: ChildProcess;

  /**
   * Starts a file that calls `serve`, and waits until it listens.
   *
   * @param settings - Goes to the server as it is, and must be plain JSON.
   */
  static async start(file: string, settings: object): Promise<ServerProcess> {
    // It runs with this process's own flags: the one that makes Node.js read
    // TypeScript, and --cpu-prof when somebody wants to see a profile.
    const child = fork(file, {
      // Logs are written, as in production, but to where that costs least.
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      env: { ...process.env, NODE_ENV: 'production', TZ: 'UTC' },
    });
    child.send(settings);
    return new ServerProcess(child, await urlOf(child));
  }

  private constructor(child: ChildProcess, url: string) {
    this.url = url;
    this.#child = child;
  }

  /** Of the process. */
  get pid(): number {
    return this.#child.pid!;
  }

  async stop(): Promise<void> {
    if (this.#child.connected) {
      const exited = once(this.#child, 'exit');
      this.#child.disconnect();
      await exited;
    }
  }
}

async function urlOf(child: ChildProcess): Promise<string> {
  // Backstage's loader of TypeScript sends messages of its own.
  for await (const [message] of on(child, 'message', { close: ['exit'] })) {
    if (typeof message.url === 'string') {
      return message.url;
    }
  }
  throw new Error(`A server ended with ${child.exitCode} before it was ready`);
}
