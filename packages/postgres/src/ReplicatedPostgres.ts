import { execFileSync } from 'child_process';
import { chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'fs';
import { tmpdir } from 'os';
import { join } from 'path';
import { Postgres } from './Postgres';
import type { PostgresConnection, PostgresVersion } from './types';

/**
 * A PostgreSQL server, and a replica of it by streaming replication.
 *
 * Both begin empty, without protection against power failures.
 *
 * @public
 */
export class ReplicatedPostgres {
  readonly #version: PostgresVersion;
  readonly #folder: string;
  #primary: Postgres;
  #replica: Postgres;

  /**
   * Starts both.
   *
   * @throws {@link PostgresStartError}
   */
  static async start(version: PostgresVersion): Promise<ReplicatedPostgres> {
    const folder = mkdtempSync(join(tmpdir(), 'postgres-replicated-'));
    // The user that runs PostgreSQL must be able to reach its data.
    execFileSync('chmod', ['755', folder]);
    const dataDirectory = join(folder, 'primary');
    const first = await start({ version, dataDirectory });
    const { port } = first.connection;
    // There is no `pg_basebackup` among the binaries. A server that rests can be copied.
    await first.stop();
    const copy = join(folder, 'replica');
    execFileSync('cp', ['-a', dataDirectory, copy]);
    follow(copy, first.connection);
    const [primary, replica] = await Promise.all([
      start({ version, dataDirectory, port }),
      start({ version, dataDirectory: copy }),
    ]);
    return new ReplicatedPostgres({ version, folder, primary, replica });
  }

  private constructor(options: {
    version: PostgresVersion;
    folder: string;
    primary: Postgres;
    replica: Postgres;
  }) {
    this.#version = options.version;
    this.#folder = options.folder;
    this.#primary = options.primary;
    this.#replica = options.replica;
  }

  /** How to log in at the primary as the superuser. */
  get primary(): PostgresConnection {
    return this.#primary.connection;
  }

  /** How to log in at the replica as the superuser. */
  get replica(): PostgresConnection {
    return this.#replica.connection;
  }

  /** Stops the replica, whose data stays. */
  async stopReplica(): Promise<void> {
    await this.#replica.stop();
  }

  /** Starts it again, on the same port. */
  async startReplica(): Promise<void> {
    const { port } = this.#replica.connection;
    const dataDirectory = join(this.#folder, 'replica');
    this.#replica = await start({
      version: this.#version,
      dataDirectory,
      port,
    });
  }

  /** Stops both, and removes what is left of them. */
  async stop(): Promise<void> {
    await this.#replica.stop();
    await this.#primary.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

function start(options: {
  version: PostgresVersion;
  dataDirectory: string;
  port?: number;
}): Promise<Postgres> {
  return Postgres.start({
    ...options,
    settings: { fsync: 'off', full_page_writes: 'off' },
  });
}

/** Makes of the copy of a server one that replays what that writes. */
function follow(folder: string, primary: PostgresConnection): void {
  const data = join(folder, 'data');
  const { host, port, user, password } = primary;
  const files = {
    'standby.signal': '',
    'postgresql.auto.conf': `primary_conninfo = 'host=${host} port=${port} user=${user} password=${password}'\n`,
  };
  const { uid, gid } = statSync(data);
  for (const [file, content] of Object.entries(files)) {
    writeFileSync(join(data, file), content, { mode: 0o600 });
    chownSync(join(data, file), uid, gid);
  }
}
