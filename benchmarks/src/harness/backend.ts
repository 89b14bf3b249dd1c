import { createBackend } from '@backstage/backend-defaults';
import {
  coreServices,
  createServiceFactory,
} from '@backstage/backend-plugin-api';
import { ConfigReader } from '@backstage/config';

/**
 * A Backstage backend without any plugins, as it runs in production. It is configured
 * by this alone, whatever files and variables there are.
 */
export function configuredBackend(
  config: NonNullable<ConstructorParameters<typeof ConfigReader>[0]>,
): ReturnType<typeof createBackend> {
  const backend = createBackend();
  backend.add(
    createServiceFactory({
      service: coreServices.rootConfig,
      deps: {},
      factory: () => new ConfigReader(config),
    }),
  );
  return backend;
}
