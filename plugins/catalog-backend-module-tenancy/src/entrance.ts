import {
  coreServices,
  createServiceFactory,
  createServiceRef,
} from '@backstage/backend-plugin-api';
import type { Config } from '@backstage/config';
import { ServiceUnavailableError } from '@backstage/errors';
import { readTenancyConfig } from 'backstage-plugin-catalog-tenancy-node';
import type { RequestHandler } from 'express';
import PromiseRouter from 'express-promise-router';

/** What every request to the catalog goes through before anything answers it. */
export class CatalogEntrance {
  /** What requests meet first. */
  readonly router = PromiseRouter();
  #isOpen: boolean;

  constructor(options: { isOpen: boolean }) {
    this.#isOpen = options.isOpen;
  }

  /** Lets requests in, once what has to stand in their way does. */
  open(): void {
    this.#isOpen = true;
  }

  /**
   * Keeps the catalog shut until then: where Backstage is configured to go on without
   * modules that fail (`onPluginModuleBootFailure`), the stock catalog would answer
   * in their place.
   */
  readonly handler: RequestHandler = (req, res, next) => {
    if (this.#isOpen) {
      this.router(req, res, next);
    } else {
      next(
        new ServiceUnavailableError(
          'The catalogs of tenants are not served: the log says why they did not start',
        ),
      );
    }
  };
}

/** The entrance of the catalog; that of another plugin leads nowhere. */
export const catalogEntranceServiceRef = createServiceRef<CatalogEntrance>({
  id: 'catalog-tenancy.entrance',
  scope: 'plugin',
});

/**
 * Mounts the entrance in front of all other routes of the catalog.
 *
 * Modules start in no certain order, and some mount routes of their own, or ask for
 * the registry of permissions or of actions, which do. Those read the rows of the
 * stock catalog. So it is not a module that mounts the entrance: Backstage makes the
 * services of a plugin that are always wanted before it starts the first module.
 */
export const catalogEntranceServiceFactory = createServiceFactory({
  service: catalogEntranceServiceRef,
  initialization: 'always',
  deps: {
    config: coreServices.rootConfig,
    httpRouter: coreServices.httpRouter,
    plugin: coreServices.pluginMetadata,
  },
  factory({ config, httpRouter, plugin }) {
    const entrance = new CatalogEntrance({ isOpen: !isEnabled(config) });
    if (plugin.getId() === 'catalog') {
      httpRouter.use(entrance.handler);
    }
    return entrance;
  },
});

/** A malformed configuration does not say that the flag is off, so the gate stays shut. */
function isEnabled(config: Config): boolean {
  try {
    return readTenancyConfig(config).enabled;
  } catch {
    return true;
  }
}
