// What `npm run smoke:packages` runs: packs the public packages, installs them into a
// stock-like repository in a folder of its own, and takes that through what
// docs/integrators/mounting.md says, on a throw-away PostgreSQL: without tenants, through
// the migration by the package's own commands, through a start that has to fail, with
// and without the lines that end the process then, and with tenants. Its app compiles with the
// line that adds the pages.

import assert from 'assert';
import { randomUUID } from 'crypto';
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'fs/promises';
import { tmpdir } from 'os';
import { join } from 'path';
import { targetPaths } from '@backstage/cli-common';
import { createApplicationUser, databaseEnvironment } from './database';
import {
  callMockups,
  callTenants,
  callWithoutTenants,
  COMPONENT,
  run,
  type RunningBackend,
  until,
  untilReady,
  withBackend,
  withServer,
  yarn,
} from './deployment';

const COMMANDS = 'backstage-catalog-tenancy-migrations';
const PREFLIGHT = ['--backup-completed', '--allow-missing', 'pg_cron'];

/** What `npm run pack` prints. */
interface Snippet {
  dependencies: Record<string, string>;
  appDependencies: Record<string, string>;
  resolutions: Record<string, string>;
}

/** A repository as `create-app` makes it, with the packages as the snippet says. */
async function createPortal(portal: string): Promise<void> {
  const printed = run(targetPaths.rootDir, process.execPath, [
    ...[
      '--require',
      require.resolve('@backstage/cli/config/nodeTransform.cjs'),
    ],
    require.resolve('./pack.ts'),
    join(portal, 'dist-packages'),
  ]);
  const { dependencies, appDependencies, resolutions } = JSON.parse(
    printed,
  ) as Snippet;
  const ourRoot = require(targetPaths.resolveRoot('package.json'));
  const ourApp = require(targetPaths.resolveRoot('packages/app/package.json'));
  const ours = require('../package.json')
    .dependencies as Snippet['dependencies'];
  const stock = Object.entries(ours).filter(
    ([name]) => name === 'pg' || name.startsWith('@backstage/'),
  );
  for (const part of ['app', 'backend']) {
    await mkdir(join(portal, 'packages', part, 'src'), { recursive: true });
  }
  const files: Record<string, object> = {
    'package.json': {
      name: 'root',
      version: '1.0.0',
      private: true,
      workspaces: ['packages/*'],
      packageManager: ourRoot.packageManager,
      resolutions: { ...ourRoot.resolutions, ...resolutions },
    },
    'packages/backend/package.json': {
      name: 'backend',
      version: '0.0.0',
      private: true,
      backstage: { role: 'backend' },
      dependencies: { ...Object.fromEntries(stock), ...dependencies },
    },
    'packages/app/package.json': {
      name: 'app',
      version: '0.0.0',
      private: true,
      backstage: { role: 'frontend' },
      dependencies: {
        '@backstage/frontend-defaults':
          ourApp.dependencies['@backstage/frontend-defaults'],
        react: ourApp.dependencies.react,
        'react-dom': ourApp.dependencies['react-dom'],
        'react-router-dom': ourApp.dependencies['react-router-dom'],
        ...appDependencies,
      },
      devDependencies: {
        '@types/react': ourApp.devDependencies['@types/react'],
      },
    },
    'catalog-info.json': COMPONENT,
  };
  for (const [path, content] of Object.entries(files)) {
    await writeFile(join(portal, path), JSON.stringify(content, null, 2));
  }
  // The versions that are tested, and no registry has to be asked for others.
  for (const file of ['yarn.lock', '.yarnrc.yml', 'backstage.json']) {
    await copyFile(targetPaths.resolveRoot(file), join(portal, file));
  }
  await copyFile(
    join(__dirname, 'stockPortal/app-config.yaml'),
    join(portal, 'app-config.yaml'),
  );
  // On machines of a CI yarn keeps the lock as it is unless it is told otherwise.
  yarn(portal, ['install'], { YARN_ENABLE_IMMUTABLE_INSTALLS: 'false' });
}

/** The line that adds the pages compiles, and what it loads is there. */
async function checkApp(portal: string): Promise<void> {
  const app = join(portal, 'packages/app');
  const documentation = await readDocumentation();
  const source = documentation.match(
    /```tsx?\n(import [^`]*backstage-plugin-tenants'[^`]*)```/,
  )?.[1];
  assert(source, 'mounting.md has no lines for the app');
  await writeFile(join(app, 'src/App.tsx'), source);
  const compilerOptions = {
    jsx: 'react-jsx',
    lib: ['DOM', 'DOM.Iterable', 'ES2022'],
    module: 'ESNext',
    moduleResolution: 'bundler',
    noEmit: true,
    skipLibCheck: true,
    strict: true,
    types: [],
  };
  await writeFile(
    join(app, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, include: ['src'] }),
  );
  run(app, process.execPath, [require.resolve('typescript/lib/tsc.js')]);
  const plugin = join(portal, 'node_modules/backstage-plugin-tenants');
  const { main } = JSON.parse(
    await readFile(join(plugin, 'package.json'), 'utf8'),
  );
  assert.match(
    await readFile(join(plugin, main), 'utf8'),
    /export .* as default/,
  );
}

function readDocumentation(): Promise<string> {
  return readFile(
    targetPaths.resolveRoot('docs/integrators/mounting.md'),
    'utf8',
  );
}

/**
 * The entry of the backend with the lines of docs/integrators/mounting.md that end the
 * process when it can't start.
 */
async function createMendedEntry(
  portal: string,
  stock: string,
): Promise<string> {
  const documentation = await readDocumentation();
  const lines = documentation.match(
    /```ts\n(backend\.start\(\)\.catch[^]*?)```/,
  )?.[1];
  assert(lines, 'mounting.md has no lines for a start that fails');
  const source = await readFile(join(portal, stock), 'utf8');
  const entry = 'packages/backend/src/mended.js';
  await writeFile(
    join(portal, entry),
    source.replace('backend.start();\n', lines),
  );
  return entry;
}

/** What Backstage does by itself: the process goes on without serving. */
async function expectToLiveOn(backend: RunningBackend): Promise<void> {
  const health = `${backend.baseUrl}/.backstage/health/v1`;
  await until('the failed start is logged', async () =>
    backend.log().includes('Unhandled rejection'),
  );
  assert(backend.isRunning(), 'the process has ended');
  assert((await fetch(`${health}/liveness`)).ok);
  assert.strictEqual((await fetch(`${health}/readiness`)).status, 503);
  assert.strictEqual(
    (await fetch(`${backend.baseUrl}/api/catalog/entities`)).status,
    404,
  );
  expectRemedy(backend);
}

async function expectToEnd(backend: RunningBackend): Promise<void> {
  assert.strictEqual(await backend.exited, 1);
  expectRemedy(backend);
}

function expectRemedy(backend: RunningBackend): void {
  const lines = backend
    .log()
    .split('\n')
    .filter(line => line.includes('the backend serves nothing'));
  assert.strictEqual(lines.length, 1, backend.log());
  const { level, message } = JSON.parse(lines[0]);
  assert.strictEqual(level, 'error');
  assert.match(message, /is a superuser.*portal_app.*MULTI_TENANCY_ENABLED/);
  assert.doesNotMatch(message, /\n/);
}

/** What an operator does before the flag is set. */
function migrate(portal: string, env: Record<string, string>): void {
  const command = (...args: string[]) =>
    run(portal, 'npx', [COMMANDS, ...args], env);
  assert.match(
    command('adopt'),
    new RegExp(`Next: npx ${COMMANDS} phase1 with the same options`),
  );
  command('preflight', ...PREFLIGHT);
  command('all', ...PREFLIGHT);
  assert.match(command('verify'), /All that must hold after phase 5 holds/);
  const { phase, next } = JSON.parse(command('status', '--json'));
  assert.deepStrictEqual(
    { phase, next: next.command },
    { phase: 5, next: `npx ${COMMANDS} phase6 --base-url <url>` },
  );
}

async function takeThrough(portal: string): Promise<void> {
  const stock = 'packages/backend/src/index.js';
  await copyFile(join(__dirname, 'stockPortal/index.js'), join(portal, stock));
  const mended = await createMendedEntry(portal, stock);
  const token = randomUUID();
  await withServer(async postgres => {
    const database = databaseEnvironment(postgres);
    const serve = (
      entry: string,
      env: Record<string, string>,
      check: (backend: RunningBackend) => Promise<void>,
    ) =>
      withBackend(
        {
          folder: portal,
          args: [entry, '--config', 'app-config.yaml'],
          env: { ...database, SMOKE_TOKEN: token, ...env },
        },
        check,
      );

    await serve(stock, { MULTI_TENANCY_ENABLED: 'false' }, async backend => {
      await untilReady(backend);
      await callMockups(backend.baseUrl, token);
      await callWithoutTenants(backend.baseUrl, token);
    });
    migrate(portal, { ...database, SMOKE_TOKEN: token });

    const asSuperuser = {
      MULTI_TENANCY_ENABLED: 'true',
      TENANCY_POSTGRES_USER: database.POSTGRES_USER,
      TENANCY_POSTGRES_PASSWORD: database.POSTGRES_PASSWORD,
    };
    await serve(stock, asSuperuser, expectToLiveOn);
    await serve(mended, asSuperuser, expectToEnd);

    const asApplication = {
      MULTI_TENANCY_ENABLED: 'true',
      ...(await createApplicationUser(postgres)),
    };
    await serve(mended, asApplication, async backend => {
      await untilReady(backend);
      await callMockups(backend.baseUrl, token);
      await callTenants(backend.baseUrl, token);
    });
  });
}

async function packTest(): Promise<void> {
  const portal = await mkdtemp(join(tmpdir(), 'other-repository-'));
  try {
    await createPortal(portal);
    await checkApp(portal);
    await takeThrough(portal);
  } finally {
    await rm(portal, { recursive: true, force: true });
  }
}

packTest().then(
  () =>
    process.stdout.write(
      'The packages install, migrate and serve in another repository.\n',
    ),
  error => {
    process.stderr.write(`${error.stack}\n`);
    process.exitCode = 1;
  },
);
