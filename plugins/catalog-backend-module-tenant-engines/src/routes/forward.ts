import type { LoggerService } from '@backstage/backend-plugin-api';
import {
  CustomErrorBase,
  InputError,
  NotAllowedError,
  NotFoundError,
  ServiceUnavailableError,
} from '@backstage/errors';
import {
  type ActiveTenant,
  type TenantEngineStatus,
  tenantOf,
  type TenantUpgradeHandler,
} from 'backstage-plugin-catalog-tenancy-node';
import type { Request, RequestHandler, Response } from 'express';
import { saysTablesAreGone, sqlStateOf } from '../engine/failures';
import type { SupervisedEngine } from '../manager/SupervisedEngine';
import { boundDryRun } from '../sources/dryRuns';

// A start takes less than a second where the tables are there.
const LONGEST_WAIT_MS = 10_000;

/**
 * Serialization failure, deadlock, lock timeout. A refresh of upstream's locks the parents of
 * an entity after its children, and the processing of a parent the other way round.
 */
const RETRYABLE = new Set(['40001', '40P01', '55P03']);

const READS = new Set(['GET', 'HEAD', 'OPTIONS']);

/** The engine of a tenant does not run at the moment. */
class EngineUnavailableError extends ServiceUnavailableError {
  readonly retryAfterSeconds: number;

  constructor(message: string, retryAfterSeconds: number) {
    super(message);
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** A statement of the engine has failed, for a reason that is in the log. */
class EngineStatementError extends CustomErrorBase {
  name = 'EngineStatementError' as const;
}

/** What messages call that which requests are forwarded to. */
interface Names {
  plugin: string;
  engine: string;
}

const CATALOG: Names = { plugin: 'catalog', engine: 'catalog engine' };

/** Finds the engine of a tenant that is to have one, which may be starting. */
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
  /** Hears of entities that were refreshed. */
  refreshed?: (tenantId: string, entityRef: string) => Promise<void>;
  /** Tells the process that does the background work of a tenant that there may be some. */
  notifyWork?: (tenantId: string) => void;
}): RequestHandler {
  const { find, logger, names = CATALOG, notifyWork, maxEntities } = options;
  const { refreshed = async () => undefined } = options;
  return (req, res, next) => {
    const { tenantId, tenantSlug } = tenantOf(req);
    const route = `${req.method} ${req.path}`;
    /** Answers what the routes of the engine have not answered. */
    const end = (supervised: SupervisedEngine, error?: unknown) => {
      const sqlState = sqlStateOf(error);
      if (error === undefined || error === 'router') {
        next(notFound(route, tenantSlug, names));
      } else if (saysTablesAreGone(error)) {
        supervised.fail(new Error('Its tables are gone'));
        next(
          new EngineUnavailableError(
            `The ${names.engine} of the tenant '${tenantSlug}' has lost its tables`,
            10,
          ),
        );
      } else if (sqlState?.startsWith('22')) {
        // A data exception: such as an id that is no UUID, or a NUL character in a text.
        next(
          new InputError(
            `${route} has a value that PostgreSQL does not take as what it stands for (${sqlState}), such as an id that is no UUID or a text with a NUL character`,
          ),
        );
      } else if (sqlState && RETRYABLE.has(sqlState)) {
        next(
          new EngineUnavailableError(
            `${route} of the tenant '${tenantSlug}' has met another change at the same moment (${sqlState}): try again`,
            1,
          ),
        );
      } else if (sqlState !== undefined) {
        logger.error(`${route} of the tenant '${tenantSlug}' has failed`, {
          cause: String(error),
        });
        next(
          new EngineStatementError(
            `The ${names.engine} of the tenant '${tenantSlug}' could not do this (${sqlState})`,
          ),
        );
      } else {
        next(error);
      }
    };
    const answer = async () => {
      const supervised = await find(tenantId, tenantSlug);
      if (!supervised) {
        throw missing(route, tenantSlug, names);
      }
      await supervised.settled(LONGEST_WAIT_MS);
      const { engine, status } = supervised;
      if (engine && maxEntities && req.query.dryRun !== undefined) {
        boundDryRun(await maxEntities(tenantSlug), () =>
          engine.router(req, res, error => end(supervised, error)),
        );
      } else if (engine) {
        if (notifyWork && !READS.has(req.method)) {
          res.once('close', async () => {
            const ref = refreshedBy(req, res);
            if (ref !== undefined) {
              await refreshed(tenantId, ref).catch(error =>
                logger.warn(`${route} of the tenant '${tenantSlug}': ${error}`),
              );
            }
            notifyWork(tenantId);
          });
        }
        engine.router(req, res, error => end(supervised, error));
      } else {
        next(unavailable(names.engine, tenantSlug, status));
      }
    };
    answer().catch(next);
  };
}

/** The entity that an answered request has refreshed. */
function refreshedBy(req: Request, res: Response): string | undefined {
  const isRefresh = req.method === 'POST' && req.path === '/refresh';
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
    await supervised.settled(LONGEST_WAIT_MS);
    const { engine, status } = supervised;
    if (!engine) {
      throw unavailable(names.engine, tenantSlug, status);
    }
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

function unavailable(
  engine: string,
  tenantSlug: string,
  { state, reason, nextAttemptAt }: TenantEngineStatus,
): EngineUnavailableError {
  const left = nextAttemptAt ? nextAttemptAt.getTime() - Date.now() : 0;
  return new EngineUnavailableError(
    `The ${engine} of the tenant '${tenantSlug}' ${
      state === 'failed' ? `has failed: ${reason}` : `is ${state}`
    }`,
    Math.max(1, Math.ceil(left / 1000)),
  );
}
