import { spawn } from 'child_process';
import type { ChildProcess } from 'child_process';
import { once } from 'events';
import { existsSync } from 'fs';
import { chmod, chown, mkdtemp, rm, writeFile } from 'fs/promises';
import { tmpdir } from 'os';
import { delimiter, join } from 'path';
import { freePort } from './freePort';
import type { PostgresConnection } from './types';

// Debian has it in a folder that is on the PATH of the superuser only.
const FOLDERS = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin'];
const NOBODY = 65_534;
// It refuses to run as the superuser.
const RUNS_AS_NOBODY = process.getuid?.() === 0;

/**
 * The program of PgBouncer, if it is installed.
 *
 * @public
 */
export function findPgBouncer(): string | undefined {
  return FOLDERS.map(folder => join(folder, 'pgbouncer')).find(existsSync);
}

/**
 * A database, and how to log in there.
 *
 * @public
 */
export type PgBouncerTarget = PostgresConnection & { database: string };

/**
 * Options of {@link PgBouncer.start}.
 *
 * @public
 */
export type PgBouncerOptions = {
  /** How many connections to PostgreSQL it shares out. */
  connections: number;
  /** Settings as in its configuration, on top of this package's own. */
  settings?: Record<string, string>;
};

/**
 * PgBouncer in front of a database, in the mode that pools transactions: each may get
 * another connection than the last.
 *
 * @public
 */
export class PgBouncer {
  /** How to log in at the database by way of it. */
  readonly connection: PgBouncerTarget;

  readonly #executable: string;
  readonly #folder: string;
  #child: ChildProcess | undefined;

  /**
   * Starts it and waits until it accepts connections.
   *
   * @throws Error with what it says, if it does not start
   */
  static async start(
    executable: string,
    target: PgBouncerTarget,
    options: PgBouncerOptions,
  ): Promise<PgBouncer> {
    const folder = await mkdtemp(join(tmpdir(), 'pgbouncer-'));
    const port = await freePort();
    const users = join(folder, 'users');
    const settings = join(folder, 'settings');
    await writeFile(users, `"${target.user}" "${target.password}"\n`);
    await writeFile(
      settings,
      `[databases]
${target.database} = host=${target.host} port=${target.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${users}
pool_mode = transaction
default_pool_size = ${options.connections}
${Object.entries(options.settings ?? {})
  .map(([name, value]) => `${name} = ${value}\n`)
  .join('')}`,
    );
    if (RUNS_AS_NOBODY) {
      await chmod(folder, 0o755);
      await chown(users, NOBODY, NOBODY);
      await chown(settings, NOBODY, NOBODY);
    }
    const connection = { ...target, host: '127.0.0.1', port };
    const bouncer = new PgBouncer(executable, folder, connection);
    await bouncer.restart();
    return bouncer;
  }

  private constructor(
    executable: string,
    folder: string,
    connection: PgBouncerTarget,
  ) {
    this.#executable = executable;
    this.#folder = folder;
    this.connection = connection;
  }

  /** Ends it at once, with all connections. */
  async crash(): Promise<void> {
    const child = this.#child;
    if (child && child.exitCode === null && child.signalCode === null) {
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
    }
  }

  /** Starts it, on the same port as before. */
  async restart(): Promise<void> {
    this.#child = spawn(this.#executable, [join(this.#folder, 'settings')], {
      stdio: ['ignore', 'ignore', 'pipe'],
      ...(RUNS_AS_NOBODY && { uid: NOBODY, gid: NOBODY }),
    });
    await started(this.#child);
  }

  /** Ends it, and removes what belongs to it. */
  async stop(): Promise<void> {
    await this.crash();
    await rm(this.#folder, { recursive: true });
  }
}

/** Waits until it says that it listens. */
async function started(child: ChildProcess): Promise<void> {
  let log = '';
  await new Promise<void>((resolve, reject) => {
    child.stderr!.on('data', chunk => {
      log += chunk;
      if (log.includes('process up')) {
        resolve();
      }
    });
    child.on('error', reject);
    child.on('exit', () =>
      reject(new Error(`pgbouncer did not start: ${log}`)),
    );
  });
}
