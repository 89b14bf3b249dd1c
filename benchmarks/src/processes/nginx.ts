import { freePort } from '@internal/postgres';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { HOST } from '../harness/servers';

// Debian has it in a folder that is on the PATH of the superuser only.
const FOLDERS = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin'];

const START_LIMIT_MS = 10_000;
const POLL_MS = 20;

/** The nginx of this machine. */
export function findNginx(): string | undefined {
  return FOLDERS.map(folder => join(folder, 'nginx')).find(existsSync);
}

/** nginx, which sends requests to each of some servers in turn. */
export class Nginx {
  /** @param servers - the URLs of servers */
  static async start(executable: string, servers: string[]): Promise<Nginx> {
    const folder = await mkdtemp(join(tmpdir(), 'benchmark-nginx-'));
    const port = await freePort(HOST);
    const file = join(folder, 'nginx.conf');
    await writeFile(file, configOf(folder, port, servers));
    const child = spawn(executable, ['-e', 'stderr', '-c', file], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const nginx = new Nginx(`http://${HOST}:${port}`, child, folder);
    await nginx.#untilItListens(port);
    return nginx;
  }

  private constructor(
    readonly url: string,
    private readonly child: ChildProcess,
    private readonly folder: string,
  ) {}

  async stop(): Promise<void> {
    if (this.child.exitCode === null) {
      const exited = once(this.child, 'exit');
      this.child.kill('SIGQUIT');
      await exited;
    }
    await rm(this.folder, { recursive: true, force: true });
  }

  async #untilItListens(port: number): Promise<void> {
    const end = performance.now() + START_LIMIT_MS;
    while (!(await listens(port))) {
      if (this.child.exitCode !== null || performance.now() > end) {
        await this.stop();
        throw new Error('nginx did not start');
      }
      await delay(POLL_MS);
    }
  }
}

async function listens(port: number): Promise<boolean> {
  const socket = createConnection({ port, host: HOST });
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

function configOf(folder: string, port: number, servers: string[]): string {
  const upstream = servers.map(url => `server ${new URL(url).host};`);
  return `daemon off;
    pid ${folder}/pid;
    worker_processes 1;
    events {}
    http {
      access_log off;
      client_body_temp_path ${folder}/bodies;
      proxy_temp_path ${folder}/proxied;
      upstream backend { ${upstream.join(' ')} keepalive 64; }
      server {
        listen ${HOST}:${port};
        keepalive_requests 1000000;
        location / {
          proxy_pass http://backend;
          proxy_http_version 1.1;
          proxy_set_header Connection "";
        }
      }
    }`;
}
