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

/** The program, if it is installed. */
export function findPgBouncer(): string | undefined {
  return FOLDERS.map(folder => join(folder, 'pgbouncer')).find(existsSync);
}

/** PgBouncer in front of a database, in the mode that pools transactions. */
export class PgBouncer {
  static async start(
    executable: string,
    target: ClientConfig,
    options: { connections: number },
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
`,
    );
    // It refuses to run as the superuser.
    const asRoot = process.getuid?.() === 0;
    if (asRoot) {
      await chmod(folder, 0o755);
      await chown(users, NOBODY, NOBODY);
      await chown(settings, NOBODY, NOBODY);
    }
    const child = spawn(executable, [settings], {
      stdio: ['ignore', 'ignore', 'pipe'],
      ...(asRoot && { uid: NOBODY, gid: NOBODY }),
    });
    const connection = { ...target, host: '127.0.0.1', port };
    const bouncer = new PgBouncer(folder, child, connection, options);
    await bouncer.#started();
    return bouncer;
  }

  private constructor(
    private readonly folder: string,
    private readonly child: ChildProcess,
    /** The connection to the database by way of it. */
    readonly connection: ClientConfig,
    private readonly options: { connections: number },
  ) {}

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
    if (this.child.exitCode === null) {
      const exit = once(this.child, 'exit');
      this.child.kill('SIGQUIT');
      await exit;
    }
    await rm(this.folder, { recursive: true });
  }

  /** Waits until it says that it listens. */
  async #started(): Promise<void> {
    let log = '';
    await new Promise<void>((resolve, reject) => {
      this.child.stderr!.on('data', chunk => {
        log += chunk;
        if (log.includes('process up')) {
          resolve();
        }
      });
      this.child.on('error', reject);
      this.child.on('exit', () =>
        reject(new Error(`pgbouncer did not start: ${log}`)),
      );
    });
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
