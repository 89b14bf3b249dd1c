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

/** The router in front of all routes of the catalog. */
export class CatalogRouter {
  /** Handles requests right behind the gate. */
  readonly router = PromiseRouter();
  #isOpen: boolean;

  constructor(options: { isOpen: boolean }) {
    this.#isOpen = options.isOpen;
  }

  /** Admits requests. Call it when the router has all of its handlers. */
  open(): void {
    this.#isOpen = true;
  }

  /**
   * Refuses requests until {@link CatalogRouter.open}: if Backstage is configured to continue
   * without failed modules (`onPluginModuleBootFailure`), the stock catalog would answer
   * otherwise.
   */
  readonly handler: RequestHandler = (req, res, next) => {
    if (this.#isOpen) {
      this.router(req, res, next);
    } else {
      next(
        new ServiceUnavailableError(
          'The catalogs of tenants are not served because they failed to start: see the log of the backend',
        ),
      );
    }
  };
}

/** The router of the catalog. For other plugins it is not mounted. */
export const catalogRouterServiceRef = createServiceRef<CatalogRouter>({
  id: 'catalog-tenancy.catalog-router',
  scope: 'plugin',
});

/** Mounts the router behind the gate and in front of all routes of the catalog. */
export const catalogRouterServiceFactory = createServiceFactory({
  service: catalogRouterServiceRef,
  initialization: 'always',
  deps: {
    config: coreServices.rootConfig,
    // A dependency, so that the gate is mounted first.
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
