import type {
  AuditorService,
  BackstageCredentials,
  HttpAuthService,
} from '@backstage/backend-plugin-api';
import { NotAllowedError, ServiceUnavailableError } from '@backstage/errors';
import type { JsonObject } from '@backstage/types';
import { audited } from '@internal/http';
import {
  type ActiveTenant,
  type CatalogAdoption,
  DEFAULT_TENANT_ID,
  DEFAULT_TENANT_SLUG,
  type TenantGate,
  tenantOf,
} from 'backstage-plugin-catalog-tenancy-node';
import type { Request, RequestHandler, Response } from 'express';
import type { ReadableCatalogStore } from '../authorization/AuthorizedCatalogStore';
import { whenClosed } from '../whenClosed';
import { workSlices } from './workSlices';

const RETRY_AFTER_SECONDS = 5;

/** The arguments of an operation. */
export interface OperationContext {
  req: Request;
  res: Response;
  /** The tenant of the request. */
  tenantId: string;
  /** The catalog as the caller may see it. */
  catalog: ReadableCatalogStore;
  /** Rejects if the tenant was deleted while the request runs, or its caller removed from it. */
  assertStillAdmitted(): Promise<void>;
}

/** Answers a request, and returns metadata of the outcome for the audit log. */
type Operation = (context: OperationContext) => Promise<JsonObject | void>;

/** Creates request handlers of operations. */
export interface Operations {
  /**
   * @param describe - the metadata of the request for the audit log, as in the stock catalog
   * @param options.eventId - the id of the audit event; `entity-fetch` by default
   */
  read(
    describe: (req: Request) => JsonObject,
    operation: Operation,
    options?: { eventId?: string },
  ): RequestHandler;
}

export function createOperations(options: {
  adoption: Pick<CatalogAdoption, 'isComplete'>;
  httpAuth: HttpAuthService;
  auditor: AuditorService;
  /** The catalog as a caller may see it; `signal` is aborted when the client disconnects. */
  authorize: (
    credentials: BackstageCredentials,
    request: { req: Request; tenantId: string; signal: AbortSignal },
  ) => ReadableCatalogStore;
  gate: Pick<TenantGate, 'stillAdmits'>;
}): Operations {
  const { adoption, httpAuth, auditor, authorize, gate } = options;

  const assertAdmitted = async (req: Request, tenant: ActiveTenant) => {
    if (!(await gate.stillAdmits(req, tenant))) {
      throw new NotAllowedError(
        `The tenant '${tenant.tenantSlug}' was deleted while a request was answered, or its caller removed`,
      );
    }
  };

  return {
    read:
      (describe, operation, { eventId = 'entity-fetch' } = {}) =>
      async (req, res) => {
        const tenant = tenantOf(req);
        const { tenantId } = tenant;
        assertAdopted(adoption, tenant, res);
        const signal = untilClosed(res);
        whenClosed(res, workSlices.enter(tenantId));
        await audited(
          auditor,
          {
            eventId,
            request: req,
            meta: { ...describe(req), tenant: tenant.tenantSlug },
          },
          async () => {
            const credentials = await httpAuth.credentials(req);
            return operation({
              req,
              res,
              tenantId,
              catalog: authorize(credentials, { req, tenantId, signal }),
              assertStillAdmitted: () => assertAdmitted(req, tenant),
            });
          },
        ).catch(error => {
          // The client has disconnected.
          if (!signal.aborted) {
            throw error;
          }
        });
      },
  };
}

/** A signal that is aborted when the client disconnects before the end of the response. */
function untilClosed(res: Response): AbortSignal {
  const closed = new AbortController();
  whenClosed(res, () => {
    if (!res.writableFinished) {
      closed.abort(new Error('The client has closed the connection'));
    }
  });
  return closed.signal;
}

/**
 * Refuses reads of the default tenant until the catalog is adopted: clients would act upon an
 * empty catalog.
 *
 * Called by each operation, so that no spelling of a path bypasses it.
 *
 * @throws ServiceUnavailableError
 */
function assertAdopted(
  adoption: Pick<CatalogAdoption, 'isComplete'>,
  { tenantId }: ActiveTenant,
  res: Response,
): void {
  if (!adoption.isComplete && tenantId === DEFAULT_TENANT_ID) {
    res.setHeader('Retry-After', String(RETRY_AFTER_SECONDS));
    throw new ServiceUnavailableError(
      `The catalog of the tenant '${DEFAULT_TENANT_SLUG}' is being copied from ` +
        'the stock catalog, and is not complete yet. Try again in a few seconds; ' +
        'if it takes longer, see the log of the backend.',
    );
  }
}
