import { type ChildProcess, spawn, spawnSync } from 'child_process';
import { existsSync } from 'fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'fs/promises';
import { once } from 'events';
import http from 'http';
import https from 'https';
import { tmpdir } from 'os';
import { delimiter, join } from 'path';
import { text } from 'stream/consumers';
import { targetPaths } from '@backstage/cli-common';
import { freePort } from '@internal/postgres';
import { waitUntil } from '@internal/postgres/testUtils';

// Debian has it in a folder that is on the PATH of the superuser only.
const FOLDERS = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin'];

/** The nginx of this machine. */
export function findNginx(): string | undefined {
  return FOLDERS.map(folder => join(folder, 'nginx')).find(existsSync);
}

/** An answer that came by way of nginx. */
export interface ProxiedAnswer {
  status: number;
  headers: http.IncomingHttpHeaders;
  text: string;
}

/** A real nginx with deploy/nginx.conf, on free ports, and with a certificate of its own. */
export class Nginx {
  readonly #ports: { http: number; https: number };
  readonly #folder: string;
  readonly #child: ChildProcess;

  /** @throws Error if it does not start, with what it says */
  static async start(
    executable: string,
    options: { domain: string; backendPort: number },
  ): Promise<Nginx> {
    const folder = await mkdtemp(join(tmpdir(), 'nginx-'));
    const ports = { http: await freePort(), https: await freePort() };
    await makeCertificate(join(folder, 'tls'), options.domain);
    const template = await readFile(
      targetPaths.resolveRoot('deploy/nginx.conf'),
      'utf8',
    );
    await writeFile(
      join(folder, 'portal.conf'),
      template
        .replaceAll('${TENANCY_BASE_DOMAIN}', options.domain)
        .replaceAll('/etc/nginx/tls', join(folder, 'tls'))
        .replaceAll('listen 8080', `listen 127.0.0.1:${ports.http}`)
        .replaceAll('listen 8443', `listen 127.0.0.1:${ports.https}`)
        .replaceAll('backend:7007', `localhost:${options.backendPort}`),
    );
    await writeFile(
      join(folder, 'nginx.conf'),
      `daemon off;
       pid ${folder}/pid;
       error_log stderr;
       events {}
       http {
         access_log off;
         client_body_temp_path ${folder}/bodies;
         proxy_temp_path ${folder}/proxied;
         include ${folder}/portal.conf;
       }`,
    );
    const child = spawn(
      executable,
      ['-e', 'stderr', '-c', join(folder, 'nginx.conf')],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    );
    const nginx = new Nginx(ports, folder, child);
    await nginx.#untilItListens();
    return nginx;
  }

  private constructor(
    ports: { http: number; https: number },
    folder: string,
    child: ChildProcess,
  ) {
    this.#ports = ports;
    this.#folder = folder;
    this.#child = child;
  }

  /** Sends a request to a host of the portal, over TLS. */
  async get(
    host: string,
    path: string,
    headers: Record<string, string> = {},
  ): Promise<ProxiedAnswer> {
    return answerTo(
      https.get({
        ...requestTo(host, path, headers),
        port: this.#ports.https,
        servername: host,
        rejectUnauthorized: false,
      }),
    );
  }

  /** Sends a request without TLS, and follows no redirect. */
  async getPlain(host: string, path: string): Promise<ProxiedAnswer> {
    return answerTo(
      http.get({ ...requestTo(host, path), port: this.#ports.http }),
    );
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode === null) {
      const exit = once(this.#child, 'exit');
      this.#child.kill('SIGQUIT');
      await exit;
    }
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #untilItListens(): Promise<void> {
    let log = '';
    this.#child.stderr!.on('data', chunk => {
      log += chunk;
    });
    await waitUntil('nginx to listen', async () => {
      if (this.#child.exitCode !== null) {
        throw new Error(`nginx did not start: ${log}`);
      }
      return existsSync(join(this.#folder, 'pid'));
    });
  }
}

function requestTo(
  host: string,
  path: string,
  headers: Record<string, string> = {},
) {
  return {
    host: '127.0.0.1',
    path,
    headers: { host, ...headers },
    agent: false,
  };
}

/** Of an upgrade too, whose connection it closes. */
async function answerTo(request: http.ClientRequest): Promise<ProxiedAnswer> {
  request.once('upgrade', answer => request.emit('response', answer));
  const [response] = (await once(request, 'response')) as [
    http.IncomingMessage,
  ];
  const { headers, statusCode = 0 } = response;
  const body = statusCode === 101 ? '' : await text(response);
  request.destroy();
  return { status: statusCode, headers, text: body };
}

async function makeCertificate(folder: string, domain: string): Promise<void> {
  await mkdir(folder);
  const { status, stderr } = spawnSync(
    'openssl',
    [
      ...['req', '-x509', '-newkey', 'ec', '-nodes', '-days', '2'],
      ...['-pkeyopt', 'ec_paramgen_curve:prime256v1'],
      ...['-subj', `/CN=${domain}`],
      ...['-addext', `subjectAltName=DNS:${domain},DNS:*.${domain}`],
      ...['-keyout', join(folder, 'tls.key'), '-out', join(folder, 'tls.crt')],
    ],
    { encoding: 'utf8' },
  );
  if (status !== 0) {
    throw new Error(`openssl made no certificate: ${stderr}`);
  }
}
