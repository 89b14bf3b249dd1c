import type { JsonObject } from '@backstage/types';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KnownPlugin } from './KnownPlugin';

/** The number of templates that run at the same time for one tenant in a process. */
const TASKS = 3;

export const scaffolder: KnownPlugin = {
  id: 'scaffolder',
  packages: [
    '@backstage/plugin-scaffolder-backend',
    '@backstage/plugin-scaffolder-backend-module-azure',
    '@backstage/plugin-scaffolder-backend-module-bitbucket-cloud',
    '@backstage/plugin-scaffolder-backend-module-bitbucket-server',
    '@backstage/plugin-scaffolder-backend-module-gitea',
    '@backstage/plugin-scaffolder-backend-module-github',
    '@backstage/plugin-scaffolder-backend-module-gitlab',
    '@backstage/plugin-scaffolder-backend-module-notifications',
  ],
  background: { table: 'tasks', where: "status in ('open', 'processing')" },

  adapt: (instance, _backend, { tenantId }) => ({
    ...instance,
    backend: {
      ...(instance.backend as JsonObject),
      workingDirectory: join(workingDirectoryOf(instance), 'tenants', tenantId),
    },
    scaffolder: {
      concurrentTasksLimit: TASKS,
      ...(instance.scaffolder as JsonObject | undefined),
    },
  }),

  async prepare(instance) {
    await mkdir(workingDirectoryOf(instance), { recursive: true, mode: 0o700 });
  },
};

function workingDirectoryOf({ backend }: JsonObject): string {
  const { workingDirectory } = (backend ?? {}) as JsonObject;
  return typeof workingDirectory === 'string' ? workingDirectory : tmpdir();
}
