import { spawn } from 'child_process';
import type { ChildProcess } from 'child_process';
import { once } from 'events';
import { existsSync } from 'fs';
import { chmod, chown, mkdtemp, rm, writeFile } from 'fs/promises';
import { createServer } from 'net';
import type { AddressInfo } from 'net';
import { tmpdir } from 'os';
import { delimiter, join } from 'path';
import { Client } from 'pg';
import type { ClientConfig } from 'pg';

// Debian has it in a folder that is on the PATH of the superuser only.
const FOLDERS = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin'];
const NOBODY = 65_534;
// It refuses to run as the superuser.
const RUNS_AS_NOBODY = process.getuid?.() === 0;

/** The program, if it is installed. */
export function findPgBouncer(): string | undefined {
  return FOLDERS.map(folder => join(folder, 'pgbouncer')).find(existsSync);
}

interface PgBouncerOptions {
  /** To PostgreSQL. */
  connections: number;
  /** What else it is told. */
  settings?: Record<string, string>;
}

/** PgBouncer in front of a database, in the mode that pools transactions. */
export class PgBouncer {
  static async start(
    executable: string,
    target: ClientConfig,
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
    const bouncer = new PgBouncer(executable, folder, connection, options);
    await bouncer.restart();
    return bouncer;
  }

  #child: ChildProcess | undefined;

  private constructor(
    private readonly executable: string,
    private readonly folder: string,
    /** The connection to the database by way of it. */
    readonly connection: ClientConfig,
    private readonly options: PgBouncerOptions,
  ) {}

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
    this.#child = spawn(this.executable, [join(this.folder, 'settings')], {
      stdio: ['ignore', 'ignore', 'pipe'],
      ...(RUNS_AS_NOBODY && { uid: NOBODY, gid: NOBODY }),
    });
    await started(this.#child);
  }

  /** Leaves settings behind on every connection to PostgreSQL. */
  async everyConnection(sql: string): Promise<void> {
    const clients = Array.from(
      { length: this.options.connections },
      () => new Client(this.connection),
    );
    await Promise.all(clients.map(client => client.connect()));
    // Each holds one until all have one.
    await Promise.all(clients.map(client => client.query('begin')));
    await Promise.all(clients.map(client => client.query(`${sql}; commit`)));
    await Promise.all(clients.map(client => client.end()));
  }

  async stop(): Promise<void> {
    await this.crash();
    await rm(this.folder, { recursive: true });
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

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
