import type { LoggerService } from '@backstage/backend-plugin-api';
import { CustomErrorBase, ServiceUnavailableError } from '@backstage/errors';
import {
  refusedValue,
  type TenantEngineStatus,
} from 'backstage-plugin-catalog-tenancy-node';
import type { Request } from 'express';
import { databaseErrorOf, saysTablesAreGone } from '../engine/failures';
import type { TenantEngine } from '../engine/TenantEngine';
import type { SupervisedEngine } from '../engine/SupervisedEngine';

// A start takes less than a second where the tables are there.
const LONGEST_WAIT_MS = 10_000;

/**
 * Serialization failure, deadlock, lock timeout. A refresh of upstream's locks the parents of
 * an entity after its children, and the processing of a parent the other way round.
 */
const RETRYABLE = new Set(['40001', '40P01', '55P03']);

/** The triggers that refuse changes of a tenant that moves, and for a while afterwards. */
const TENANT_MOVES = 'tenant_moves';

/** Connections, resources, and a server that stops, starts or only reads. */
const UNAVAILABLE = /^(08|25006|53|57P)/;

/** The name of the engine of a catalog in messages. */
export const CATALOG_ENGINE = 'catalog engine';

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

/**
 * Waits for the engine of a tenant to start.
 *
 * @throws `ServiceUnavailableError` that says why it does not run
 */
export async function runningEngine(
  supervised: SupervisedEngine,
  name: string = CATALOG_ENGINE,
): Promise<TenantEngine> {
  await supervised.settled(LONGEST_WAIT_MS);
  const { engine, status, tenant } = supervised;
  if (!engine) {
    throw unavailable(name, tenant.tenantSlug, status);
  }
  return engine;
}

/** The error of a failed statement of the engine for the caller, without its SQL. */
export function toEngineError(
  error: unknown,
  context: {
    /** The failed action, such as a route. */
    action: string;
    request?: Request;
    supervised: SupervisedEngine;
    logger: LoggerService;
    name?: string;
  },
): unknown {
  const { action, supervised, logger, name = CATALOG_ENGINE } = context;
  const { tenantSlug } = supervised.tenant;
  const ofDatabase = databaseErrorOf(error);
  const sqlState = ofDatabase?.code;
  if (saysTablesAreGone(error)) {
    supervised.fail(new Error('Its tables are gone'));
    return new EngineUnavailableError(
      `The ${name} of the tenant '${tenantSlug}' has lost its tables`,
      10,
    );
  }
  const refused =
    ofDatabase && refusedValue(ofDatabase, action, context.request);
  if (refused) {
    return refused;
  }
  if (ofDatabase?.constraint === TENANT_MOVES) {
    // An operation of an engine may have several transactions.
    return new EngineUnavailableError(
      `The move of the tenant '${tenantSlug}' interrupted ${action}, which may be done in part: read again before you retry`,
      10,
    );
  }
  if (sqlState && RETRYABLE.has(sqlState)) {
    return new EngineUnavailableError(
      `${action} of the tenant '${tenantSlug}' conflicted with another change (${sqlState}): try again`,
      1,
    );
  }
  if (sqlState && UNAVAILABLE.test(sqlState)) {
    return new EngineUnavailableError(
      `The ${name} of the tenant '${tenantSlug}' cannot use the database at the moment (${sqlState})`,
      5,
    );
  }
  if (sqlState !== undefined) {
    logger.error(`${action} of the tenant '${tenantSlug}' has failed`, {
      cause: String(error),
    });
    return new EngineStatementError(
      `The ${name} of the tenant '${tenantSlug}' got an error of PostgreSQL (${sqlState}): see the log of the backend`,
    );
  }
  return error;
}

function unavailable(
  name: string,
  tenantSlug: string,
  { state, reason, nextAttemptAt }: TenantEngineStatus,
): EngineUnavailableError {
  const left = nextAttemptAt ? nextAttemptAt.getTime() - Date.now() : 0;
  return new EngineUnavailableError(
    `The ${name} of the tenant '${tenantSlug}' ${
      state === 'failed' ? `has failed: ${reason}` : `is ${state}`
    }`,
    Math.max(1, Math.ceil(left / 1000)),
  );
}
