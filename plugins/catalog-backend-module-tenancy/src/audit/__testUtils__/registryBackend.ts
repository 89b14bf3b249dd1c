// A backend with the registry of tenants, as a process that a test may kill. Its configuration is
// that of BACKEND_CONFIG, as JSON.

import { createBackend } from '@backstage/backend-defaults';
import { WinstonLogger } from '@backstage/backend-defaults/rootLogger';
import {
  coreServices,
  createServiceFactory,
} from '@backstage/backend-plugin-api';
import { ConfigReader } from '@backstage/config';

// A test that ends early leaves no backend behind.
process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));

const backend = createBackend();
backend.add(
  createServiceFactory({
    service: coreServices.rootConfig,
    deps: {},
    factory: () =>
      new ConfigReader(JSON.parse(process.env.BACKEND_CONFIG ?? '{}')),
  }),
);
// That of Backstage begins by compiling the schemas of all packages of this repository.
backend.add(
  createServiceFactory({
    service: coreServices.rootLogger,
    deps: {},
    factory: () => WinstonLogger.create({ level: 'warn' }),
  }),
);
backend.add(import('@backstage/plugin-catalog-backend'));
backend.add(import('../..'));
// eslint-disable-next-line @backstage/no-mixed-plugin-imports
backend.add(import('backstage-plugin-tenants-backend'));
backend.start();
