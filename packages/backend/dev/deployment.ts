// A backend outside of this repository: what installs it, starts it and calls it, for
// the checks of what is built here (smokeTest.ts) and packed here (packTest.ts).

import assert from 'assert';
import { execFile, spawn, spawnSync } from 'child_process';
import { once } from 'events';
import { setTimeout as delay } from 'timers/promises';
import { promisify } from 'util';
import { targetPaths } from '@backstage/cli-common';
import { freePort, Postgres } from '@internal/postgres';
import { answersOk } from './backend';

// For a machine that is busy with something else.
export const STARTUP_PATIENCE_MS = 300_000;
const STOP_PATIENCE_MS = 60_000;
const POLL_MS = 250;

/** Runs a command to its end, and returns what it has written to standard output. */
export function run(
  cwd: string,
  command: string,
  args: string[],
  env: Record<string, string> = {},
): string {
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd,
    encoding: 'utf8',
    env: { ...process.env, ...env },
  });
  assert.strictEqual(
    status,
    0,
    `${command} ${args.join(' ')} failed:\n${stdout}${stderr}`,
  );
  return stdout;
}

/** The same beside what follows; rejects with what it has written where it fails. */
export async function runBeside(
  cwd: string,
  command: string,
  args: string[],
): Promise<void> {
  await promisify(execFile)(command, args, {
    cwd,
    maxBuffer: 64 * 1024 * 1024,
  }).catch(error => {
    throw new Error(`${error.message}\n${error.stdout}${error.stderr}`);
  });
}

/** The yarn of this repository, as `npx` is asked for it. */
export function yarnPackage(): string {
  const { packageManager } = require(targetPaths.resolveRoot(
    'package.json',
  )) as { packageManager: string };
  return packageManager.replace('yarn@', '@yarnpkg/cli-dist@');
}

/** Runs the yarn of this repository, which need not be installed. */
export function yarn(
  cwd: string,
  args: string[],
  env?: Record<string, string>,
): string {
  return run(cwd, 'npx', ['--yes', yarnPackage(), ...args], env);
}

/** A backend that was started. */
export interface RunningBackend {
  /** Where this machine reaches it. */
  baseUrl: string;
  /** Resolves with the exit code once it has ended. */
  exited: Promise<number | null>;
  isRunning(): boolean;
  /** All that it has logged so far. */
  log(): string;
  stop(): Promise<void>;
}

/** What to start, as in production. */
export interface Deployment {
  folder: string;
  args: string[];
  /** On top of this process's own environment, and of what production gets here. */
  env: Record<string, string>;
  port?: number;
}

/**
 * Starts a backend.
 *
 * @param onOutput - gets what it logs
 */
export async function startBackend(
  deployment: Deployment,
  onOutput: (chunk: Buffer) => void = () => {},
): Promise<RunningBackend> {
  const port = deployment.port ?? (await freePort('localhost'));
  const baseUrl = `http://localhost:${port}`;
  const child = spawn(process.execPath, deployment.args, {
    cwd: deployment.folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      NODE_ENV: 'production',
      APP_BASE_URL: baseUrl,
      BACKEND_BASE_URL: baseUrl,
      APP_CONFIG_backend_listen: JSON.stringify(`localhost:${port}`),
      ...deployment.env,
    },
  });
  let log = '';
  const keep = (chunk: Buffer) => {
    log += chunk;
    onOutput(chunk);
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  const exited = once(child, 'exit').then(([code]) => code as number | null);
  return {
    baseUrl,
    exited,
    isRunning: () => child.exitCode === null && child.signalCode === null,
    log: () => log,
    async stop() {
      child.kill('SIGTERM');
      const overdue = setTimeout(() => child.kill('SIGKILL'), STOP_PATIENCE_MS);
      await exited;
      clearTimeout(overdue);
    },
  };
}

/** Starts a backend, hands it to a check, and stops it again. */
export async function withBackend<T>(
  deployment: Deployment,
  check: (backend: RunningBackend) => Promise<T>,
): Promise<T> {
  const backend = await startBackend(deployment, chunk =>
    process.stderr.write(chunk),
  );
  try {
    return await check(backend);
  } finally {
    await backend.stop();
  }
}

/** Waits until the backend serves. */
export async function untilReady(backend: RunningBackend): Promise<void> {
  await until('the backend is ready', async () => {
    assert(backend.isRunning(), 'the backend ended by itself');
    return answersOk(`${backend.baseUrl}/.backstage/health/v1/readiness`);
  });
}

/** Waits until something holds, but no longer than a backend may take to start. */
export async function until(
  what: string,
  holds: () => Promise<boolean>,
): Promise<void> {
  const deadline = Date.now() + STARTUP_PATIENCE_MS;
  while (!(await holds())) {
    assert(Date.now() < deadline, `it took too long until ${what}`);
    await delay(POLL_MS);
  }
}

/** Starts a PostgreSQL server to throw away, for as long as it is used. */
export async function withServer(
  use: (postgres: Postgres) => Promise<void>,
): Promise<void> {
  const postgres = await Postgres.start();
  try {
    await use(postgres);
  } finally {
    await postgres.stop();
  }
}

/** The first page of the portal, and one of its scripts. */
export async function callPages(baseUrl: string): Promise<void> {
  const page = await fetch(`${baseUrl}/`);
  assert.strictEqual(page.status, 200);
  assert.match(page.headers.get('content-type') ?? '', /^text\/html/);
  const html = await page.text();
  assert(html.includes('<div id="root">'), html);
  // The configuration of the backend, of which pages see what is not secret.
  assert(html.includes(JSON.stringify(baseUrl)), html);
  assert(!html.includes('password'), html);

  const source = html.match(/<script[^>]* src="([^"]+)"/)?.[1];
  assert(source, `no script in ${html}`);
  const script = await fetch(new URL(source, baseUrl));
  assert.strictEqual(script.status, 200);
  assert.match(script.headers.get('content-type') ?? '', /javascript/);
  assert((await script.text()).length > 0);
}

export async function callMockups(
  baseUrl: string,
  token: string,
): Promise<void> {
  const url = `${baseUrl}/api/mockup/mockups`;
  const headers = { Authorization: `Bearer ${token}` };

  const withoutToken = await fetch(url);
  assert.strictEqual(withoutToken.status, 401);

  const list = await fetch(url, { headers });
  assert.strictEqual(list.status, 200);
  assert.deepStrictEqual(await list.json(), []);

  const document = await fetch(`${baseUrl}/api/mockup/openapi.json`, {
    headers,
  });
  assert.strictEqual((await document.json()).openapi, '3.1.0');
}

async function getEntities(
  baseUrl: string,
  token: string,
  tenantSlug?: string,
): Promise<{ status: number; body: unknown }> {
  const response = await fetch(`${baseUrl}/api/catalog/entities`, {
    headers: {
      Authorization: `Bearer ${token}`,
      ...(tenantSlug ? { 'X-Tenant-Slug': tenantSlug } : {}),
    },
  });
  return { status: response.status, body: await response.json() };
}

/** What the engine of the catalog ingests, from a file. */
export const COMPONENT = {
  apiVersion: 'backstage.io/v1alpha1',
  kind: 'Component',
  metadata: { name: 'smoke' },
  spec: { type: 'service', lifecycle: 'production', owner: 'nobody' },
};

/** Waits until the catalog has what the engine has ingested, and nothing else. */
export async function untilIngested(
  baseUrl: string,
  token: string,
  tenantSlug?: string,
  name: string = COMPONENT.metadata.name,
): Promise<void> {
  await until(
    'the catalog has what the engine ingests, and nothing else',
    async () => {
      const { status, body } = await getEntities(baseUrl, token, tenantSlug);
      assert([200, 503].includes(status), `status ${status}`);
      const names = status === 200 ? namesIn(body) : [];
      // Of the file, there is a Location as well, which may come after what it names.
      return names.includes(name) && names.length === 2;
    },
  );
}

/** Of all but the members of a tenant, which its engine brings by itself. */
function namesIn(entities: unknown): string[] {
  return (entities as Array<{ kind: string; metadata: { name: string } }>)
    .filter(({ kind }) => kind !== 'User')
    .map(({ metadata }) => metadata.name);
}

/** Without the flag, no header makes a difference. */
export async function callWithoutTenants(
  baseUrl: string,
  token: string,
): Promise<void> {
  await untilIngested(baseUrl, token);
  await untilIngested(baseUrl, token, 'none');
}

/** The smoke tests of the migration's phase 6. */
export async function callTenants(
  baseUrl: string,
  token: string,
): Promise<void> {
  const entities = (slug: string) => getEntities(baseUrl, token, slug);
  await untilIngested(baseUrl, token);
  await untilIngested(baseUrl, token, 'default');
  const invalid = { status: 403, body: { error: 'Invalid tenant' } };
  assert.deepStrictEqual(await entities('acme'), invalid);

  const create = (headers: Record<string, string>) =>
    fetch(`${baseUrl}/api/tenants`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify({ tenant_slug: 'acme', tenant_name: 'Acme' }),
    });
  assert.strictEqual((await create({})).status, 401);
  const created = await create({ Authorization: `Bearer ${token}` });
  assert.strictEqual(created.status, 201);
  assert.strictEqual((await created.json()).tenant_slug, 'acme');

  assert.deepStrictEqual(await entities('acme'), { status: 200, body: [] });
}
