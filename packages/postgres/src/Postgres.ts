import { ChildProcess } from 'child_process';
import { once } from 'events';
import { resolve } from 'path';
import { binariesOf } from './binaries';
import { forkSupervisor, reclaim, requestServer } from './supervisorProcess';
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
    const exited = once(supervisor, 'exit');
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
    return new Postgres(supervisor, exited, ready);
  }

  private constructor(
    supervisor: ChildProcess,
    supervisorExited: Promise<unknown>,
    server: Pick<Postgres, 'connection' | 'dataDirectory' | 'pid'>,
  ) {
    this.#supervisor = supervisor;
    this.connection = server.connection;
    this.dataDirectory = server.dataDirectory;
    this.pid = server.pid;
    this.exited = supervisorExited.then(async () => {
      // One that ended in good order has cleaned up.
      if (supervisor.exitCode !== 0) {
        await reclaim(server.dataDirectory);
      }
    });
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
