// What `npm run smoke` runs: unpacks the built backend as a deployment does, into
// a folder of its own, starts it with the production configuration on a
// throw-away PostgreSQL, and calls its plugins: without tenants; with them, once the
// catalog is adopted as an operator does it; and with them on an empty server.

import assert from 'assert';
import { spawn, spawnSync } from 'child_process';
import { randomUUID } from 'crypto';
import { once } from 'events';
import { copyFile, mkdtemp, rm, writeFile } from 'fs/promises';
import { tmpdir } from 'os';
import { join } from 'path';
import { setTimeout as delay } from 'timers/promises';
import { targetPaths } from '@backstage/cli-common';
import { Postgres } from '@internal/postgres';
import { adopt, migrateTo } from 'backstage-catalog-tenancy-migrations';
import { createApplicationUser, databaseEnvironment } from './database';
import { freePort } from './port';
import { answersOk } from './health';

const STARTUP_PATIENCE_MS = 60_000;
const STOP_PATIENCE_MS = 15_000;
const POLL_MS = 250;

const FILES_BESIDE_THE_BUNDLE = [
  '.yarnrc.yml',
  'app-config.production.yaml',
  'backstage.json',
  'package.json',
  'yarn.lock',
];

async function unpack(folder: string): Promise<void> {
  for (const file of FILES_BESIDE_THE_BUNDLE) {
    await copyFile(targetPaths.resolveRoot(file), join(folder, file));
  }
  const dist = targetPaths.resolveRoot('packages/backend/dist');
  run(folder, 'tar', ['xzf', join(dist, 'skeleton.tar.gz')]);
  const { packageManager } = require(targetPaths.resolveRoot(
    'package.json',
  )) as { packageManager: string };
  const yarn = packageManager.replace('yarn@', '@yarnpkg/cli-dist@');
  run(folder, 'npx', [
    '--yes',
    yarn,
    ...['workspaces', 'focus', '--all', '--production'],
  ]);
  run(folder, 'tar', ['xzf', join(dist, 'bundle.tar.gz')]);
}

function run(cwd: string, command: string, args: string[]): void {
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd,
    encoding: 'utf8',
  });
  assert.strictEqual(
    status,
    0,
    `${command} ${args.join(' ')} failed:\n${stdout}${stderr}`,
  );
}

/** Starts the backend, hands its address to a check, and stops it again. */
async function withBackend(
  folder: string,
  env: Record<string, string>,
  check: (baseUrl: string) => Promise<void>,
): Promise<void> {
  const port = await freePort();
  const baseUrl = `http://localhost:${port}`;
  const backend = spawn(
    process.execPath,
    ['packages/backend', '--config', 'app-config.production.yaml'],
    {
      cwd: folder,
      stdio: ['ignore', 'inherit', 'inherit'],
      env: {
        ...process.env,
        ...env,
        NODE_ENV: 'production',
        APP_BASE_URL: baseUrl,
        BACKEND_BASE_URL: baseUrl,
        APP_CONFIG_backend_listen: JSON.stringify(`localhost:${port}`),
      },
    },
  );
  const exited = once(backend, 'exit');
  const isRunning = () =>
    backend.exitCode === null && backend.signalCode === null;
  try {
    await untilReady(isRunning, `${baseUrl}/.backstage/health/v1/readiness`);
    await check(baseUrl);
  } finally {
    backend.kill('SIGTERM');
    const overdue = setTimeout(() => backend.kill('SIGKILL'), STOP_PATIENCE_MS);
    await exited;
    clearTimeout(overdue);
  }
}

async function untilReady(isRunning: () => boolean, url: string) {
  const deadline = Date.now() + STARTUP_PATIENCE_MS;
  while (!(await answersOk(url))) {
    assert(isRunning(), 'the backend ended by itself');
    assert(Date.now() < deadline, 'the backend is not ready in time');
    await delay(POLL_MS);
  }
}

async function callMockups(baseUrl: string, token: string): Promise<void> {
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

/** What the engine of the catalog ingests. */
const COMPONENT = {
  apiVersion: 'backstage.io/v1alpha1',
  kind: 'Component',
  metadata: { name: 'smoke' },
  spec: { type: 'service', lifecycle: 'production', owner: 'nobody' },
};

/** Waits until the catalog has what the engine has ingested, and nothing else. */
async function untilIngested(
  baseUrl: string,
  token: string,
  tenantSlug?: string,
): Promise<void> {
  const deadline = Date.now() + STARTUP_PATIENCE_MS;
  for (;;) {
    const { status, body } = await getEntities(baseUrl, token, tenantSlug);
    assert([200, 503].includes(status), `status ${status}`);
    const names = status === 200 ? namesIn(body) : [];
    if (names.includes('smoke')) {
      // Of the file, there is a Location as well.
      assert.strictEqual(names.length, 2);
      return;
    }
    assert(Date.now() < deadline, 'nothing is ingested in time');
    await delay(POLL_MS);
  }
}

function namesIn(entities: unknown): string[] {
  return (entities as Array<{ metadata: { name: string } }>).map(
    ({ metadata }) => metadata.name,
  );
}

/** Without the flag, no header makes a difference. */
async function callWithoutTenants(baseUrl: string, token: string) {
  await untilIngested(baseUrl, token);
  await untilIngested(baseUrl, token, 'none');
}

/** The smoke tests of the migration's phase 6. */
async function callTenants(baseUrl: string, token: string): Promise<void> {
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

/** What the commands of an operator do, while the backend does not run. */
async function adoptCatalog(postgres: Postgres): Promise<void> {
  const connection = {
    ...postgres.connection,
    database: 'backstage_plugin_catalog',
  };
  await adopt({ connection });
  await migrateTo(5, { connection });
}

async function smokeTest(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'built-backend-'));
  const token = randomUUID();
  const file = join(folder, 'catalog-info.json');
  try {
    await unpack(folder);
    await writeFile(file, JSON.stringify(COMPONENT));
    const serve = async (
      postgres: Postgres,
      flag: boolean,
      check: (baseUrl: string) => Promise<void>,
    ) =>
      withBackend(
        folder,
        {
          ...databaseEnvironment(postgres),
          ...(await createApplicationUser(postgres)),
          // The throw-away server speaks no TLS.
          APP_CONFIG_backend_database_connection_ssl: 'false',
          APP_CONFIG_backend_auth_externalAccess: JSON.stringify([
            { type: 'static', options: { token, subject: 'smoke-test' } },
          ]),
          APP_CONFIG_catalog_locations: JSON.stringify([
            { type: 'file', target: file },
          ]),
          TENANCY_ADMIN: 'smoke-test',
          MULTI_TENANCY_ENABLED: String(flag),
        },
        check,
      );
    await withServer(async postgres => {
      await serve(postgres, false, async baseUrl => {
        await callMockups(baseUrl, token);
        await callWithoutTenants(baseUrl, token);
      });
      await adoptCatalog(postgres);
      await serve(postgres, true, baseUrl => callTenants(baseUrl, token));
    });
    await withServer(postgres =>
      serve(postgres, true, baseUrl => callTenants(baseUrl, token)),
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function withServer(
  use: (postgres: Postgres) => Promise<void>,
): Promise<void> {
  const postgres = await Postgres.start();
  try {
    await use(postgres);
  } finally {
    await postgres.stop();
  }
}

smokeTest().then(
  () =>
    process.stdout.write(
      'The built backend serves mockups and the catalogs of tenants.\n',
    ),
  error => {
    process.stderr.write(`${error.stack}\n`);
    process.exitCode = 1;
  },
);
