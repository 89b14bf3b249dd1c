import type { LoggerService } from '@backstage/backend-plugin-api';
import { NotAllowedError, NotFoundError } from '@backstage/errors';
import {
  type ActiveTenant,
  tenantOf,
  type TenantUpgradeHandler,
} from 'backstage-plugin-catalog-tenancy-node';
import type { Request, RequestHandler, Response } from 'express';
import { AsyncResource } from 'node:async_hooks';
import type { SupervisedEngine } from '../engine/SupervisedEngine';
import { boundDryRun } from '../sources/dryRuns';
import { TurnsByKey } from '../work/TurnsByKey';
import { CATALOG_ENGINE, runningEngine, toEngineError } from './engineErrors';

/** In any case, as Express matches routes. */
const REFRESH = /^\/refresh\/?$/i;

/** Reads sources for the request, as a dry run does. */
const TRIAL = /^\/(analyze-location|validate-entity)\/?$/i;

/**
 * Of each tenant in this process at a time; others wait. Each keeps up to ten files with all that
 * they include in memory until it is answered.
 */
const MOST_TRIALS = 4;
/** A processor of a module may have no end. */
const LONGEST_TRIAL_MS = 300_000;

const READS = new Set(['GET', 'HEAD', 'OPTIONS']);

/** The name of the target in messages. */
interface Names {
  plugin: string;
  engine: string;
}

const CATALOG: Names = { plugin: 'catalog', engine: CATALOG_ENGINE };

/** Finds the engine of a tenant; it may be starting. */
export type FindEngine = (
  tenantId: string,
  tenantSlug: string,
) => SupervisedEngine | undefined | Promise<SupervisedEngine | undefined>;

/**
 * Hands requests to the engine of their tenant, or to its instance of another plugin, with the
 * credentials that they came with. No request goes on from here to the routes of the default
 * tenant's plugin.
 */
export function forwardToEngine(options: {
  find: FindEngine;
  logger: LoggerService;
  names?: Names;
  /** How many entities a location may bring that is tried out by a tenant. */
  maxEntities?: (tenantSlug: string) => Promise<number>;
  /** Rejects for requests that a tenant may not make. */
  refuse?: (tenantId: string, req: Request) => Promise<void>;
  /** Called before a request that may make work for the engine. */
  announceWork?: (tenantId: string) => Promise<void>;
  /** Called when the engine has answered a request without an error. */
  accepted?: (tenantId: string) => void;
  /** Called for each refreshed entity. */
  refreshed?: (tenantId: string, entityRef: string) => Promise<void>;
  /** Called when such a request is answered: tells the process that does the work of the tenant. */
  notifyWork?: (tenantId: string) => void;
}): RequestHandler {
  const { find, logger, names = CATALOG, notifyWork, maxEntities } = options;
  const { announceWork, refreshed = async () => undefined, refuse } = options;
  const { accepted } = options;
  const trials = new TurnsByKey(MOST_TRIALS);
  return (req, res, next) => {
    const { tenantId, tenantSlug } = tenantOf(req);
    const route = `${req.method} ${req.path}`;
    const toError = (supervised: SupervisedEngine, error: unknown) =>
      toEngineError(error, {
        action: route,
        request: req,
        supervised,
        logger,
        name: names.engine,
      });
    /** Answers what the routes of the engine have not answered. */
    const end = (supervised: SupervisedEngine, error?: unknown) => {
      next(
        error === undefined || error === 'router'
          ? notFound(route, tenantSlug, names)
          : toError(supervised, error),
      );
    };
    const answer = async () => {
      const supervised = await find(tenantId, tenantSlug);
      if (!supervised) {
        throw missing(route, tenantSlug, names);
      }
      const engine = await runningEngine(supervised, names.engine);
      await refuse?.(tenantId, req).catch(error => {
        throw toError(supervised, error);
      });
      if (accepted) {
        onceAnswered(res, () => res.statusCode < 400 && accepted(tenantId));
      }
      const isRead = READS.has(req.method);
      if (!isRead) {
        await announceWork?.(tenantId);
      }
      if (notifyWork && !isRead) {
        onceAnswered(res, async () => {
          const ref = refreshedBy(req, res);
          if (ref !== undefined) {
            await refreshed(tenantId, ref).catch(error =>
              logger.warn(`${route} of the tenant '${tenantSlug}': ${error}`),
            );
          }
          notifyWork(tenantId);
        });
      }
      const handle = () =>
        engine.router(req, res, error => end(supervised, error));
      const isDryRun = req.query.dryRun !== undefined;
      if (!maxEntities || !(isDryRun || TRIAL.test(req.path))) {
        handle();
        return;
      }
      const most = await maxEntities(tenantSlug);
      const tryOut = () =>
        new Promise<void>(resolve => {
          if (res.closed) {
            resolve();
            return;
          }
          const timer = setTimeout(resolve, LONGEST_TRIAL_MS).unref();
          onceAnswered(res, () => {
            clearTimeout(timer);
            resolve();
          });
          if (isDryRun) {
            boundDryRun(most, handle);
          } else {
            handle();
          }
        });
      await trials.run(tenantId, AsyncResource.bind(tryOut));
    };
    answer().catch(next);
  };
}

/** Calls a listener when the work is done, also if the client has left before. */
function onceAnswered(res: Response, listener: () => void): void {
  const { end } = res;
  res.end = ((...args: Parameters<typeof end>) => {
    res.end = end;
    listener();
    return res.end(...args);
  }) as typeof end;
}

/** The entity that an answered request has refreshed. */
function refreshedBy(req: Request, res: Response): string | undefined {
  const isRefresh = req.method === 'POST' && REFRESH.test(req.path);
  return isRefresh && res.statusCode < 300
    ? String(req.body?.entityRef)
    : undefined;
}

export type FindUpgrade = (
  tenant: ActiveTenant,
  path: string,
) => Promise<TenantUpgradeHandler>;

/** The same for WebSockets: what takes them over in the instance of their tenant. */
export function findUpgrade({
  find,
  names,
}: {
  find: FindEngine;
  names: Names;
}): FindUpgrade {
  return async ({ tenantId, tenantSlug }, path) => {
    const route = `WebSocket ${path}`;
    const supervised = await find(tenantId, tenantSlug);
    if (!supervised) {
      throw missing(route, tenantSlug, names);
    }
    const engine = await runningEngine(supervised, names.engine);
    const upgrade = engine.upgradeAt(path);
    if (!upgrade) {
      throw notFound(route, tenantSlug, names);
    }
    return upgrade;
  };
}

function missing(route: string, tenantSlug: string, { engine }: Names) {
  return new NotAllowedError(
    `${route} is not available to the tenant '${tenantSlug}': it has no ${engine}`,
  );
}

function notFound(route: string, tenantSlug: string, { plugin }: Names) {
  return new NotFoundError(
    `The ${plugin} of the tenant '${tenantSlug}' has no ${route}`,
  );
}
