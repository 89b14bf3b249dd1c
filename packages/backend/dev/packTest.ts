// What `npm run smoke:packages` runs: packs the public packages, installs them into a portal that
// `create-app` has just made, without our lock file and age gate, and takes that through
// docs/integrators/mounting.md, on a throw-away PostgreSQL: without tenants, through
// the migration by the package's own commands, through a start that has to fail, with
// the lines that end the process then, and with tenants: up to the first entity of
// a tenant, every page that the stock sidebar leads its member to, and every tab of the entity, with
// the plugins of the portal closed to the tenant, and with an instance of each for it. It prints
// which versions were taken.

import assert from 'assert';
import { randomUUID } from 'crypto';
import { copyFile, cp, mkdtemp, readFile, rm, writeFile } from 'fs/promises';
import { tmpdir } from 'os';
import { join } from 'path';
import { targetPaths } from '@backstage/cli-common';
import { Chromium } from '../e2e-tests/harness/Chromium';
import { findChromium } from '../e2e-tests/harness/findChromium';
import { SourceServer } from '../e2e-tests/harness/SourceServer';
import { walk } from '../e2e-tests/harness/walk';
import { createApplicationUser, databaseEnvironment } from './database';
import { publishDocument } from './sampleContents';
import {
  callMockups,
  callTenants,
  callWithoutTenants,
  COMPONENT,
  run,
  runBeside,
  type RunningBackend,
  STARTUP_PATIENCE_MS,
  until,
  untilIngested,
  untilReady,
  withBackend,
  withServer,
  yarn,
  yarnPackage,
} from './deployment';
import {
  assertSingle,
  type Installed,
  readInstalled,
  versionsOf,
} from './installed';

const BACKEND = 'packages/backend/src/index.ts';
const COMMANDS = 'backstage-catalog-tenancy-cli';
const PREFLIGHT = ['--backup-completed'];

/** Those of `create-app`, and what this check needs on top of them. */
const CONFIG = [
  'app-config.yaml',
  'app-config.production.yaml',
  'app-config.smoke.yaml',
].flatMap(file => ['--config', file]);

const TENANT_COMPONENT = 'smoke-of-acme';
const PAGE_OF_COMPONENT = `/catalog/default/component/${TENANT_COMPONENT}`;

/** Pages of plugins that know no tenants. */
const PAGES_OF_INSTANCES = [
  '/create',
  '/docs',
  '/notifications',
  `${PAGE_OF_COMPONENT}/docs`,
  `${PAGE_OF_COMPONENT}/kubernetes`,
];

/** What `npm run pack` prints. */
interface Snippet {
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
  peerDependencies: Record<string, string>;
  appDependencies: Record<string, string>;
  appPeerDependencies: Record<string, string>;
  resolutions: Record<string, string>;
}

/** Beside the peers of our packages, what works only if all that use it have the same. */
const SINGLE = [
  '@backstage/backend-app-api',
  '@backstage/core-compat-api',
  '@backstage/frontend-app-api',
  '@backstage/frontend-defaults',
  '@backstage/plugin-app',
  '@backstage/plugin-auth-node',
  '@backstage/plugin-permission-node',
  '@backstage/plugin-search-backend-node',
];

/** A portal as `create-app` makes it, with the packages as the snippet says. */
async function createPortal(folder: string): Promise<string> {
  run(
    folder,
    'npx',
    [
      ...['--yes', '--package', yarnPackage()],
      ...['--package', '@backstage/create-app@latest'],
      ...['--', 'backstage-create-app', '--skip-install'],
    ],
    { BACKSTAGE_APP_NAME: 'portal' },
  );
  const portal = join(folder, 'portal');
  const snippet = await packInto(join(portal, 'dist-packages'));
  await editManifest(portal, 'package.json', manifest => {
    Object.assign(manifest.resolutions!, snippet.resolutions);
  });
  await editManifest(portal, 'packages/backend/package.json', manifest => {
    manifest.dependencies = {
      ...snippet.peerDependencies,
      ...manifest.dependencies,
      ...snippet.dependencies,
    };
    Object.assign(manifest.devDependencies!, snippet.devDependencies);
  });
  await editManifest(portal, 'packages/app/package.json', manifest => {
    manifest.dependencies = {
      ...snippet.appPeerDependencies,
      ...manifest.dependencies,
      ...snippet.appDependencies,
    };
  });
  yarn(portal, ['install'], {
    // On machines of a CI yarn keeps the lock as it is unless it is told otherwise.
    YARN_ENABLE_IMMUTABLE_INSTALLS: 'false',
    YARN_NPM_MINIMAL_AGE_GATE: '0',
    // Of a package that is in the cache, links to its files instead of copies of them.
    YARN_NM_MODE: 'hardlinks-global',
    // SQLite would be compiled, which nothing here uses.
    YARN_ENABLE_SCRIPTS: 'false',
  });
  checkVersions(await readInstalled(portal), [
    ...Object.keys(snippet.peerDependencies),
    ...Object.keys(snippet.appPeerDependencies),
    ...Object.keys(snippet.resolutions),
    ...SINGLE,
  ]);
  return portal;
}

/** Packs the packages, unless an argument names the folder with what `npm run pack` made and printed. */
async function packInto(folder: string): Promise<Snippet> {
  const [packed] = process.argv.slice(2);
  if (packed) {
    await cp(packed, folder, { recursive: true });
    return JSON.parse(await readFile(join(packed, 'snippet.json'), 'utf8'));
  }
  return JSON.parse(
    run(targetPaths.rootDir, process.execPath, [
      ...[
        '--require',
        require.resolve('@backstage/cli/config/nodeTransform.cjs'),
      ],
      require.resolve('./pack.ts'),
      folder,
    ]),
  );
}

interface Manifest {
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  resolutions?: Record<string, string>;
}

/**
 * Edits a `package.json`, which gets the newest versions of Backstage besides: `create-app` may be
 * that of an earlier release.
 */
async function editManifest(
  portal: string,
  path: string,
  edit: (manifest: Manifest) => void,
): Promise<void> {
  const file = join(portal, path);
  const manifest: Manifest = JSON.parse(await readFile(file, 'utf8'));
  edit(manifest);
  for (const section of [manifest.dependencies, manifest.devDependencies]) {
    for (const name of Object.keys(section ?? {})) {
      if (name.startsWith('@backstage/')) {
        section![name] = 'latest';
      }
    }
  }
  await writeFile(file, JSON.stringify(manifest, null, 2));
}

function checkVersions(installed: Installed, single: string[]): void {
  const taken = [...installed.keys()]
    .filter(name => /^@backstage\/|^(knex|pg)$/.test(name))
    .sort()
    .map(name => `${name} ${versionsOf(installed, name)}`);
  process.stdout.write(`Versions that were taken: ${taken.join(', ')}\n`);
  assertSingle(installed, single);
}

function readDocumentation(): Promise<string> {
  return readFile(
    targetPaths.resolveRoot('docs/integrators/mounting.md'),
    'utf8',
  );
}

/** The code of the documentation that a pattern captures. */
function documentedLines(documentation: string, pattern: RegExp): string {
  const lines = documentation.match(pattern)?.[1];
  assert(lines, `mounting.md has no ${pattern}`);
  return lines;
}

/** Adds what the documentation says to the backend and to the app. */
async function addLines(portal: string): Promise<void> {
  const documentation = await readDocumentation();
  const edit = async (file: string, find: string, replace: string) => {
    const path = join(portal, file);
    const source = await readFile(path, 'utf8');
    assert(source.includes(find), `${file} has no ${find}`);
    await writeFile(
      path,
      source.replace(find, () => replace),
    );
  };
  await edit(
    BACKEND,
    "backend.add(import('@backstage/plugin-catalog-backend'));\n",
    `${documentedLines(
      documentation,
      /```ts\n(backend\.add\(import\([^`]*)```/,
    )}backend.add(import('backstage-plugin-mockup-backend'));
backend.add(tenantEngines());
`,
  );
  await edit(
    BACKEND,
    "import { createBackend } from '@backstage/backend-defaults';\n",
    `import { createBackend } from '@backstage/backend-defaults';
import { tenantEngines } from 'backstage-plugin-catalog-backend-module-tenant-engines';
`,
  );
  const app = 'packages/app/src/App.tsx';
  const line = documentedLines(
    documentation,
    /```tsx\n[^`]*(import tenants from [^\n]*\n)/,
  );
  await edit(app, 'import ', `${line}import `);
  await edit(app, 'features: [', 'features: [tenants, ');
}

/** Its types are right, and the bundler finds all that it loads. */
async function buildApp(portal: string): Promise<void> {
  const bin = (name: string) => join(portal, 'node_modules/.bin', name);
  await runBeside(portal, bin('tsc'), []);
  await runBeside(join(portal, 'packages/app'), bin('backstage-cli'), [
    ...['package', 'build'],
  ]);
}

/**
 * The entry of the backend with the lines of docs/integrators/mounting.md that end the
 * process when it can't start.
 */
async function createMendedEntry(portal: string): Promise<string> {
  const lines = documentedLines(
    await readDocumentation(),
    /```ts\n(backend\.start\(\)\.catch[^]*?)```/,
  );
  const source = await readFile(join(portal, BACKEND), 'utf8');
  const entry = 'packages/backend/src/mended.ts';
  await writeFile(
    join(portal, entry),
    source.replace('backend.start();\n', () => lines),
  );
  return entry;
}

/** The same, which gives each tenant an instance of all plugins of a stock portal that can be one. */
async function createEntryWithInstances(portal: string): Promise<string> {
  const source = await readFile(join(portal, BACKEND), 'utf8');
  const entry = 'packages/backend/src/withInstances.ts';
  await writeFile(
    join(portal, entry),
    source.replace(
      'tenantEngines()',
      () => "tenantEngines({ onePerTenant: 'default' })",
    ),
  );
  return entry;
}

async function expectToEnd(backend: RunningBackend): Promise<void> {
  assert.strictEqual(await backend.exited, 1);
  const lines = backend
    .log()
    .split('\n')
    .filter(line => line.includes('Multi-tenancy failed to start'));
  assert.strictEqual(lines.length, 1, backend.log());
  const { level, message } = JSON.parse(lines[0]);
  assert.strictEqual(level, 'error');
  assert.match(message, /is a superuser.*portal_app.*MULTI_TENANCY_ENABLED/);
  assert.doesNotMatch(message, /\n/);
}

/** What an operator does before the flag is set. */
function migrate(portal: string, env: Record<string, string>): void {
  const command = (...args: string[]) =>
    run(portal, 'npx', [COMMANDS, ...args, ...CONFIG], env);
  command('preflight', ...PREFLIGHT);
  assert.match(
    command('adopt'),
    /Next: Phase 6: set MULTI_TENANCY_ENABLED=true/,
  );
  assert.match(command('verify'), /All that must hold after phase 5 holds/);
  const { phase, next } = JSON.parse(command('status', '--json'));
  assert.deepStrictEqual(
    { phase, next: next.command },
    { phase: 5, next: `npx ${COMMANDS} phase6 --base-url <url>` },
  );
}

async function takeThrough(portal: string): Promise<void> {
  const mended = await createMendedEntry(portal);
  const withInstances = await createEntryWithInstances(portal);
  const appIsBuilt = buildApp(portal);
  // It is waited for below.
  appIsBuilt.catch(() => {});
  const token = randomUUID();
  const documents = join(portal, 'documents');
  const sources = await new SourceServer().listen();
  try {
    await withServer(async postgres => {
      const database = databaseEnvironment(postgres);
      const always = {
        ...database,
        SMOKE_TOKEN: token,
        SMOKE_SOURCES: sources.host,
        SMOKE_DOCUMENTS: documents,
      };
      const serve = (
        entry: string,
        env: Record<string, string>,
        check: (backend: RunningBackend) => Promise<void>,
      ) =>
        withBackend(
          {
            folder: portal,
            args: [
              ...['--require', '@backstage/cli/config/nodeTransform.cjs'],
              ...[entry, ...CONFIG],
            ],
            env: { ...always, ...env },
          },
          check,
        );

      await serve(
        BACKEND,
        { MULTI_TENANCY_ENABLED: 'false' },
        async backend => {
          await untilReady(backend);
          await callMockups(backend.baseUrl, token);
          await callWithoutTenants(backend.baseUrl, token);
        },
      );
      migrate(portal, always);

      const asSuperuser = {
        MULTI_TENANCY_ENABLED: 'true',
        TENANCY_POSTGRES_USER: database.POSTGRES_USER,
        TENANCY_POSTGRES_PASSWORD: database.POSTGRES_PASSWORD,
      };
      await serve(mended, asSuperuser, expectToEnd);

      // The backend finds what it serves to browsers when it starts.
      await appIsBuilt;
      const asApplication = {
        MULTI_TENANCY_ENABLED: 'true',
        ...(await createApplicationUser(postgres)),
      };
      await serve(mended, asApplication, async backend => {
        await untilReady(backend);
        await callMockups(backend.baseUrl, token);
        await callTenants(backend.baseUrl, token);
        await addEntity(backend.baseUrl, token, sources, documents);
        await expectPages(backend.baseUrl, { none: PAGES_OF_INSTANCES });
      });
      await serve(withInstances, asApplication, async backend => {
        await untilReady(backend);
        await expectPages(backend.baseUrl, { all: PAGES_OF_INSTANCES });
      });
    });
  } finally {
    // It writes into the folder that is removed next.
    await Promise.allSettled([appIsBuilt]);
    await sources.stop();
  }
}

/** The first entity of the tenant that `callTenants` has made, its document, and a member. */
async function addEntity(
  baseUrl: string,
  token: string,
  sources: SourceServer,
  documents: string,
): Promise<void> {
  const call = (method: string, path: string, body?: object) =>
    fetch(`${baseUrl}/api/${path}`, {
      method,
      headers: {
        Authorization: `Bearer ${token}`,
        'Content-Type': 'application/json',
        'X-Tenant-Slug': 'acme',
      },
      body: JSON.stringify(body),
    });
  const { tenant_id: tenantId } = await (
    await call('GET', 'tenants/acme')
  ).json();
  await publishDocument(
    documents,
    { tenantId },
    { component: TENANT_COMPONENT, title: 'Smoke', text: 'To be read.' },
  );
  const added = await call(
    'PUT',
    `tenants/acme/members/${encodeURIComponent('user:development/guest')}`,
    { role: 'member' },
  );
  assert(added.ok, `members: ${added.status} ${await added.text()}`);
  const target = sources.serveComponent('/acme.json', TENANT_COMPONENT, {
    // Its page has tabs of these plugins.
    'backstage.io/kubernetes-id': TENANT_COMPONENT,
    'backstage.io/techdocs-ref': 'dir:.',
  });
  await until('the engine of the tenant takes a location', async () => {
    const { status } = await call('POST', 'catalog/locations', {
      type: 'url',
      target,
    });
    // It may be starting.
    assert([201, 503].includes(status), `locations: ${status}`);
    return status === 201;
  });
  await untilIngested(baseUrl, token, 'acme', TENANT_COMPONENT);
}

/** Where a member of the tenant gets to, without an error, and where they must or must not. */
async function expectPages(
  baseUrl: string,
  expected: { all?: string[]; none?: string[] },
): Promise<void> {
  if (!findChromium()) {
    process.stderr.write(
      'The pages are left out: there is no Chromium in the path, and CHROMIUM names none.\n',
    );
    return;
  }
  const visited = new Set(await walkThroughTenant(baseUrl));
  const { all = [], none = [] } = expected;
  assert.deepStrictEqual(
    {
      missing: all.filter(path => !visited.has(path)),
      dead: none.filter(path => visited.has(path)),
    },
    { missing: [], dead: [] },
  );
}

/** A guest signs in, opens the tenant, sees its entity, and goes wherever the stock portal leads. */
async function walkThroughTenant(baseUrl: string): Promise<string[]> {
  const chromium = await Chromium.start({ url: () => baseUrl });
  try {
    const visitor = await chromium.visit({});
    const { page } = visitor;
    page.setDefaultTimeout(STARTUP_PATIENCE_MS);
    // Such as the jokes of the stock home page: this machine need not reach them.
    await page.route(
      ({ origin }) => origin !== baseUrl,
      route => route.fulfill({ json: [{}] }),
    );
    await page.goto('/');
    await page.getByRole('button', { name: 'Enter' }).click();
    await visitor.switchTo('Acme');
    await visitor.tenantName.waitFor();
    await page.getByRole('link', { name: TENANT_COMPONENT }).waitFor();
    await visitor.untilQuiet();
    const { visited, problems } = await walk(visitor, PAGE_OF_COMPONENT);
    process.stdout.write(`Pages of the tenant: ${visited.join(', ')}\n`);
    assert.deepStrictEqual(problems, []);
    return visited;
  } finally {
    await chromium.stop();
  }
}

async function packTest(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'other-repository-'));
  try {
    const portal = await createPortal(folder);
    await addLines(portal);
    await writeFile(
      join(portal, 'catalog-info.json'),
      JSON.stringify(COMPONENT),
    );
    await copyFile(
      join(__dirname, 'stockPortal/app-config.smoke.yaml'),
      join(portal, 'app-config.smoke.yaml'),
    );
    await takeThrough(portal);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

packTest().then(
  () =>
    process.stdout.write(
      'The packages install, migrate and serve in a new portal.\n',
    ),
  error => {
    process.stderr.write(`${error.stack}\n`);
    process.exitCode = 1;
  },
);
