import { ChildProcess } from 'child_process';
import { once } from 'events';
import { rm } from 'fs/promises';
import { resolve } from 'path';
import { setTimeout as delay } from 'timers/promises';
import { binariesOf } from './binaries';
import { forkSupervisor, requestServer } from './supervisorProcess';
import { PostgresConnection, PostgresOptions } from './types';

/**
 * A PostgreSQL server of our own, for development, tests and benchmarks.
 *
 * It listens on 127.0.0.1 only, and never outlives this process, not even when
 * that is killed.
 *
 * @public
 */
export class Postgres {
  /** How to log in as the superuser. */
  readonly connection: PostgresConnection;
  /** The folder with all that belongs to this server, its log included. */
  readonly dataDirectory: string;
  /** The process id of the server. */
  readonly pid: number;
  /** Resolves once the server is gone, for whatever reason. */
  readonly exited: Promise<void>;

  readonly #supervisor: ChildProcess;

  /**
   * Starts a server and waits until it accepts connections.
   *
   * @throws {@link PostgresStartError}
   */
  static async start(options: PostgresOptions = {}): Promise<Postgres> {
    const { version = 18, port, dataDirectory, settings = {} } = options;
    const binaries = binariesOf(version);
    const supervisor = forkSupervisor(options.temporaryFolder);
    const exited = once(supervisor, 'exit').then(() => supervisor.exitCode);
    const ready = await requestServer(supervisor, {
      version,
      binaries,
      port,
      dataDirectory: dataDirectory && resolve(dataDirectory),
      settings,
    });
    // From now on the server alone is no reason for this process to stay.
    supervisor.unref();
    supervisor.channel?.unref();
    const cleaned = exited.then(async code => {
      // A supervisor that ended in good order has cleaned up.
      if (code !== 0) {
        await stop(ready.pid);
        if (!dataDirectory) {
          await rm(ready.dataDirectory, { recursive: true, force: true });
        }
      }
    });
    return new Postgres(supervisor, cleaned, ready);
  }

  private constructor(
    supervisor: ChildProcess,
    exited: Promise<void>,
    server: Pick<Postgres, 'connection' | 'dataDirectory' | 'pid'>,
  ) {
    this.#supervisor = supervisor;
    this.exited = exited;
    this.connection = server.connection;
    this.dataDirectory = server.dataDirectory;
    this.pid = server.pid;
  }

  /** A `postgresql://` URL with the password. */
  connectionString(database = 'postgres'): string {
    const { host, port, user, password } = this.connection;
    return `postgresql://${user}:${password}@${host}:${port}/${database}`;
  }

  /** Stops the server, and removes its folder unless one was given. */
  async stop(): Promise<void> {
    this.#supervisor.ref();
    if (this.#supervisor.connected) {
      this.#supervisor.disconnect();
    }
    await this.exited;
  }
}

// A container without an init process keeps the number of a process that has ended.
const PATIENCE_MS = 5_000;

/** Stops a server whose supervisor was killed, where the kernel did not. */
async function stop(pid: number): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  try {
    while (Date.now() < deadline) {
      process.kill(pid, 'SIGINT');
      await delay(20);
    }
  } catch {
    // There is no such process any more.
  }
}
