// What `npm run smoke` runs: unpacks the built backend as a deployment does, into
// a folder of its own, starts it with the production configuration on a
// throw-away PostgreSQL, and calls its pages and plugins: without tenants; with them, once the
// catalog is adopted as an operator does it; and with them on an empty server.

import { randomUUID } from 'crypto';
import { copyFile, mkdtemp, rm, writeFile } from 'fs/promises';
import { tmpdir } from 'os';
import { join } from 'path';
import { targetPaths } from '@backstage/cli-common';
import { Postgres } from '@internal/postgres';
import { adopt, migrateTo } from 'backstage-catalog-tenancy-migrations';
import { createApplicationUser, databaseEnvironment } from './database';
import {
  callMockups,
  callPages,
  callTenants,
  callWithoutTenants,
  COMPONENT,
  run,
  untilReady,
  withBackend,
  withServer,
  yarn,
} from './deployment';

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
  yarn(folder, ['workspaces', 'focus', '--all', '--production']);
  run(folder, 'tar', ['xzf', join(dist, 'bundle.tar.gz')]);
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
        {
          folder,
          args: ['packages/backend', '--config', 'app-config.production.yaml'],
          env: {
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
        },
        async backend => {
          await untilReady(backend);
          await check(backend.baseUrl);
        },
      );
    await withServer(async postgres => {
      await serve(postgres, false, async baseUrl => {
        await callPages(baseUrl);
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

smokeTest().then(
  () =>
    process.stdout.write(
      'The built backend serves pages, mockups and the catalogs of tenants.\n',
    ),
  error => {
    process.stderr.write(`${error.stack}\n`);
    process.exitCode = 1;
  },
);
