// A backend whose tenants have engines, as a process that a test may kill. Its configuration is
// that of BACKEND_CONFIG, as JSON.

import { createBackend } from '@backstage/backend-defaults';
import { WinstonLogger } from '@backstage/backend-defaults/rootLogger';
import {
  coreServices,
  createServiceFactory,
} from '@backstage/backend-plugin-api';
import { ConfigReader } from '@backstage/config';
import { tenantEngines } from '..';
import { lethalReader } from './lethalReader';
import { runRecorder } from './runRecorder';
import { shareCommands } from './shareCommands';

const config = new ConfigReader(JSON.parse(process.env.BACKEND_CONFIG ?? '{}'));

// A test that ends early leaves no backend behind.
process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));

const backend = createBackend();
backend.add(
  createServiceFactory({
    service: coreServices.rootConfig,
    deps: {},
    factory: () => config,
  }),
);
// The one of Backstage begins by compiling the schemas of all packages of this repository, to
// know the secrets that it must not print: three seconds of CPU for each start.
backend.add(
  createServiceFactory({
    service: coreServices.rootLogger,
    deps: {},
    factory: () => WinstonLogger.create({}),
  }),
);
backend.add(import('@backstage/plugin-catalog-backend'));
backend.add(import('backstage-plugin-catalog-backend-module-tenancy'));
backend.add(
  tenantEngines({
    features: [
      ...(config.has('recordRuns') ? [runRecorder] : []),
      ...(config.has('lethalReader') ? [lethalReader] : []),
    ],
  }),
);
if (config.has('registry')) {
  // eslint-disable-next-line @backstage/no-mixed-plugin-imports
  backend.add(import('backstage-plugin-tenants-backend'));
}
if (config.has('shareCommands')) {
  backend.add(shareCommands);
}
backend.start();
