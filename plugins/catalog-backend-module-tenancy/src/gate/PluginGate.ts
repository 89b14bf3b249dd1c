import type { LoggerService } from '@backstage/backend-plugin-api';
import { NotAllowedError, NotFoundError } from '@backstage/errors';
import {
  type ActiveTenant,
  carryTenant,
  DEFAULT_TENANT_ID,
  DEFAULT_TENANT_SLUG,
  handleAs,
  retryAfter,
  type TenantDirectory,
  type TenantGate,
  TenantReadOnlyError,
  tenantOf,
} from 'backstage-plugin-catalog-tenancy-node';
import {
  type Request,
  type RequestHandler,
  type Response,
  Router,
} from 'express';
import { refuse } from '../resolution/createTenantMiddleware';
import type { Admission, Credentials } from './Admission';
import { refuseValues } from './refuseValues';

/** Plugins that show the configuration of the portal, which names other tenants. */
const OF_OPERATORS = ['devtools'];

/**
 * The routes of Backstage's scheduler, which list, run and cancel the tasks of all tenants. In any
 * case, as Express matches them.
 */
const TASKS = /^\/\.backstage\/scheduler(\/|$)/i;

interface PluginGateOptions {
  pluginId: string;
  /** Whether the plugin has no data of tenants. */
  isShared: boolean;
  /** Answers by the tenant's instance of the plugin, if tenants have instances. */
  instances?: RequestHandler;
  /** Whether those instances authenticate a request themselves. */
  isPublic?: (req: Request) => boolean;
  logger: LoggerService;
  admission: Pick<Admission, 'admits' | 'credentialsOf' | 'roleOf'>;
  directory: Pick<TenantDirectory, 'findActive'>;
  /** Resolves the tenant of a request, or refuses the request. */
  resolve: RequestHandler;
  /** Refuses requests that exceed the tenant's rate limit. */
  limitRate?: RequestHandler;
  /** Called for each request that has passed all steps. */
  onEntered?: EnteredListener;
}

type EnteredListener = (
  req: Request,
  res: Response,
  credentials: Credentials | undefined,
) => void;

/**
 * The gate in front of one plugin. A request that is not a CORS preflight passes these steps:
 *
 * 1. a shared plugin answers requests without credentials for any tenant: pages and sign-in
 * have to work before the user is known
 * 2. the tenant of the request is resolved, or the request is refused
 * 3. the caller may enter that tenant, or is refused as for an unknown tenant; shared plugins
 * skip this check in the default tenant, and webhooks that the tenant's instance verifies skip
 * it in every tenant
 * 4. requests that may write are refused while the tenant moves to another deployment
 * 5. requests that exceed the tenant's rate limit are refused
 * 6. a plugin that is neither shared nor tenant-aware, and has no instances for tenants, is for
 * the default tenant only; some, and the scheduled tasks of all, are for its administrators only
 * 7. the tenant and the caller's role are attached to the credentials of the request; the
 * tenant also to calls to other plugins
 * 8. values that the plugin would pass to PostgreSQL unchecked are refused
 * 9. if tenants have instances of the plugin, the tenant's instance answers, and the request
 * does not reach the plugin itself, which is the default tenant's
 */
export class PluginGate implements TenantGate {
  /** Mounted before the first route of the plugin. */
  readonly router: Router;
  /** Requests of other tenants than the default one. */
  readonly #entered = new WeakSet<Request>();
  #isTenantAware = false;
  #hasWarned = false;

  constructor(private readonly options: PluginGateOptions) {
    this.router = this.createRouter(this.#forward);
  }

  /**
   * A router with the steps of the gate, and `last` for requests that have passed them. A
   * request without a tenant leaves the router.
   */
  createRouter(last: RequestHandler): Router {
    const router = Router();
    router.use((req, res, next) => {
      if (isPreflight(req)) {
        // A preflight that the CORS middleware has not answered.
        if (this.#class === 'tenant-aware') {
          res.status(204).end();
        } else {
          next('router');
        }
        return;
      }
      if (this.#class !== 'shared') {
        next();
        return;
      }
      this.options.admission
        .credentialsOf(req)
        .then(credentials => next(credentials ? undefined : 'router'), next);
    });
    router.use(this.options.resolve);
    router.use((req, res, next) => {
      const tenant = tenantOf(req);
      this.#admits(req, tenant)
        .then(admitted => {
          if (admitted) {
            next();
          } else {
            this.options.logger.debug(
              `Refused a request to the plugin '${this.options.pluginId}' for the tenant '${tenant.tenantSlug}', of which its caller is not a member`,
            );
            refuse(res);
          }
        })
        .catch(next);
    });
    router.use((req, _res, next) => {
      this.#assertWritable(req).then(() => next(), next);
    });
    if (this.options.limitRate) {
      router.use(this.options.limitRate);
    }
    router.use(this.#close);
    router.use((req, _res, next) => {
      this.#enter(req, next).catch(next);
    });
    router.use(refuseValues(this.options.pluginId));
    router.use((req, res, next) => {
      this.options.admission
        .credentialsOf(req)
        .then(credentials => this.options.onEntered?.(req, res, credentials))
        .then(() => next(), next);
    });
    router.use(last);
    router.use(retryAfter());
    return router;
  }

  async stillAdmits(req: Request, tenant: ActiveTenant): Promise<boolean> {
    const active = await this.options.directory.findActive(tenant.tenantSlug);
    return (
      active?.tenantId === tenant.tenantId && (await this.#admits(req, tenant))
    );
  }

  async #admits(req: Request, tenant: ActiveTenant): Promise<boolean> {
    return (
      (this.#class === 'shared' && isDefault(tenant)) ||
      this.options.isPublic?.(req) ||
      this.options.admission.admits(req, tenant)
    );
  }

  declareTenantAware(): void {
    if (this.options.instances) {
      throw new Error(
        `The plugin '${this.options.pluginId}' serves the requests of all tenants itself. Remove it from onePerTenant`,
      );
    }
    this.#isTenantAware = true;
  }

  /** Whether tenants other than the default one are refused. */
  get isClosed(): boolean {
    return this.#class === 'closed';
  }

  readonly #close: RequestHandler = (req, _res, next) => {
    const tenant = tenantOf(req);
    const { pluginId } = this.options;
    if (this.#class === 'closed' && !isDefault(tenant)) {
      this.#warn();
      next(
        new NotAllowedError(
          `The plugin '${pluginId}' is not available to the tenant '${tenant.tenantSlug}'`,
        ),
      );
    } else if (OF_OPERATORS.includes(pluginId) || TASKS.test(req.path)) {
      this.#assertAdministrator(req, tenant).then(() => next(), next);
    } else {
      next();
    }
  };

  /** @throws {@link TenantReadOnlyError} */
  async #assertWritable(req: Request): Promise<void> {
    const tenant = tenantOf(req);
    const { tenantSlug } = tenant;
    if (
      isDefault(tenant) ||
      this.#class === 'shared' ||
      isRead(this.options.pluginId, req)
    ) {
      return;
    }
    if ((await this.options.directory.findActive(tenantSlug))?.isReadOnly) {
      throw new TenantReadOnlyError(tenantSlug);
    }
  }

  async #assertAdministrator(
    req: Request,
    tenant: ActiveTenant,
  ): Promise<void> {
    const credentials = await this.options.admission.credentialsOf(req);
    const role =
      credentials &&
      (await this.options.admission.roleOf(credentials, tenant, req));
    if (role !== 'admin' || !isDefault(tenant)) {
      throw new NotAllowedError(
        `${req.method} ${req.path} of the plugin '${this.options.pluginId}' is for administrators of tenants, in the default tenant: tenancy.admins`,
      );
    }
  }

  /** How the plugin handles tenants other than the default one. */
  get #class(): 'tenant-aware' | 'one each' | 'shared' | 'closed' {
    if (this.#isTenantAware) {
      return 'tenant-aware';
    }
    if (this.options.instances) {
      return 'one each';
    }
    return this.options.isShared ? 'shared' : 'closed';
  }

  async #enter(req: Request, next: () => void): Promise<void> {
    const tenant = tenantOf(req);
    // Calls of the default tenant are those of a backend without tenants.
    if (!isDefault(tenant)) {
      this.#entered.add(req);
      const credentials = await this.options.admission.credentialsOf(req);
      if (credentials) {
        this.carry(req, credentials);
      }
    }
    if (this.#isTenantAware) {
      handleAs(tenant, next);
    } else {
      next();
    }
  }

  /** Attaches the tenant of a request that has passed, and the caller's role, to credentials. */
  carry(req: Request, credentials: Credentials): void {
    if (this.#entered.has(req)) {
      const tenant = tenantOf(req);
      carryTenant(credentials, tenant, () =>
        this.options.admission.roleOf(credentials, tenant, req),
      );
    }
  }

  readonly #forward: RequestHandler = (req, res, next) => {
    if (this.options.instances && !isDefault(tenantOf(req))) {
      if (req.headers.upgrade?.toLowerCase() === 'websocket') {
        // Before Backstage 1.57, a plugin could take over all upgrades of the server here.
        next(
          new NotAllowedError(
            `The instances of the plugin '${this.options.pluginId}' have no WebSocket ${req.path}`,
          ),
        );
        return;
      }
      // Never calls next() without an error, which would reach the default tenant's plugin.
      this.options.instances(req, res, error =>
        next(!error || error === 'router' ? notAnswered(req) : error),
      );
    } else {
      next();
    }
  };

  /** Logged once, because clients may repeat such requests. */
  #warn(): void {
    if (!this.#hasWarned) {
      this.#hasWarned = true;
      this.options.logger.warn(
        `The plugin '${this.options.pluginId}' is closed to all tenants but '${DEFAULT_TENANT_SLUG}', whose data it would show them. If it holds no data of tenants, add '${this.options.pluginId}' to tenancy.plugins.shared`,
      );
    }
  }
}

/**
 * Whether the request is a CORS preflight, which has neither credentials nor the header of the
 * tenant.
 */
function isPreflight({ method, headers }: Request): boolean {
  return (
    method === 'OPTIONS' &&
    headers.origin !== undefined &&
    headers['access-control-request-method'] !== undefined &&
    headers.authorization === undefined &&
    headers.cookie === undefined
  );
}

/** POST routes of the catalog that only read; in any case, as Express matches them. */
const QUERIES =
  /^\/(entities\/by-(refs|query)|locations\/by-query|entity-facets)\/?$/i;

function isRead(pluginId: string, { method, path }: Request): boolean {
  return (
    ['GET', 'HEAD', 'OPTIONS'].includes(method) ||
    (pluginId === 'catalog' && method === 'POST' && QUERIES.test(path))
  );
}

function notAnswered({ method, path }: Request): NotFoundError {
  return new NotFoundError(`There is no ${method} ${path}`);
}

function isDefault({ tenantId }: ActiveTenant): boolean {
  return tenantId === DEFAULT_TENANT_ID;
}
