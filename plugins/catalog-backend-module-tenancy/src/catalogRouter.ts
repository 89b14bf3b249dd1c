import {
  coreServices,
  createServiceFactory,
  createServiceRef,
} from '@backstage/backend-plugin-api';
import { ServiceUnavailableError } from '@backstage/errors';
import {
  readTenancyConfig,
  tenantGateServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';
import type { RequestHandler } from 'express';
import PromiseRouter from 'express-promise-router';

/** What every request to the catalog goes through before anything answers it. */
export class CatalogRouter {
  /** What requests meet first, behind the gate. */
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

/** The router of the catalog; that of another plugin is not mounted. */
export const catalogRouterServiceRef = createServiceRef<CatalogRouter>({
  id: 'catalog-tenancy.catalog-router',
  scope: 'plugin',
});

/** Mounts the router behind the gate and, as that, in front of all routes of the catalog. */
export const catalogRouterServiceFactory = createServiceFactory({
  service: catalogRouterServiceRef,
  initialization: 'always',
  deps: {
    config: coreServices.rootConfig,
    // It mounts itself before this is made.
    gate: tenantGateServiceRef,
    httpRouter: coreServices.httpRouter,
    plugin: coreServices.pluginMetadata,
  },
  factory({ config, httpRouter, plugin }) {
    const { enabled } = readTenancyConfig(config);
    const catalogRouter = new CatalogRouter({ isOpen: !enabled });
    if (enabled && plugin.getId() === 'catalog') {
      httpRouter.use(catalogRouter.handler);
    }
    return catalogRouter;
  },
});
