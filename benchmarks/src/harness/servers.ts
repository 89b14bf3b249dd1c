import { type ChildProcess, fork } from 'node:child_process';
import { on, once } from 'node:events';

/** Where the servers of a benchmark listen. */
export const HOST = '127.0.0.1';

/**
 * A server in a process of its own. In one event loop with the load, the two would wait for
 * each other.
 */
export class ServerProcess {
  readonly url: string;
  readonly #child: ChildProcess;

  /**
   * Starts a file that calls `serve`, and waits until it listens.
   *
   * @param settings - plain JSON
   */
  static async start(file: string, settings: object): Promise<ServerProcess> {
    // It inherits this process's flags: the one for TypeScript, and --cpu-prof if given.
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

  async stop(): Promise<void> {
    if (this.#child.connected) {
      const exited = once(this.#child, 'exit');
      this.#child.disconnect();
      await exited;
    }
  }
}

/** The URL that a server sends once it listens. */
async function urlOf(child: ChildProcess): Promise<string> {
  // Backstage's loader of TypeScript sends messages of its own.
  for await (const [message] of on(child, 'message', { close: ['exit'] })) {
    if (message?.url !== undefined) {
      return message.url;
    }
  }
  throw new Error(`A server ended with ${child.exitCode} before it listened`);
}

/**
 * Starts servers one after the other, because each creates Backstage's own tables where its
 * database has none, and stops all if one does not start.
 */
export async function startInTurn<T extends { stop(): Promise<void> }>(
  starts: (() => Promise<T>)[],
): Promise<T[]> {
  const servers: T[] = [];
  try {
    for (const start of starts) {
      servers.push(await start());
    }
    return servers;
  } catch (error) {
    await Promise.all(servers.map(server => server.stop()));
    throw error;
  }
}

/**
 * What a file that `ServerProcess` starts calls.
 *
 * @param start - gets the settings, and returns the URL at which it listens
 */
export function serve<TSettings>(
  start: (settings: TSettings) => Promise<string>,
): void {
  // The channel closes when the parent ends, however that happens.
  process.once('disconnect', () => process.exit());
  process.once('message', (settings: TSettings) => {
    start(settings).then(
      url => process.send?.({ url }),
      error => {
        process.stderr.write(`${error.stack}\n`);
        process.exit(1);
      },
    );
  });
}
