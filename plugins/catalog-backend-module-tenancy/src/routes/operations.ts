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
  type TenantDirectory,
  tenantOf,
} from 'backstage-plugin-catalog-tenancy-node';
import type { Request, RequestHandler, Response } from 'express';
import type { ReadableCatalogStore } from '../authorization/AuthorizedCatalogStore';
import { workSlices } from './workSlices';

const RETRY_AFTER_SECONDS = 5;

/** What an operation is given. */
export interface OperationContext {
  req: Request;
  res: Response;
  /** The tenant of the request. */
  tenantId: string;
  /** The catalog as the caller may see it. */
  catalog: ReadableCatalogStore;
  /** Rejects once the tenant is deleted, which it may be while the request runs. */
  assertTenantActive(): Promise<void>;
}

/** Answers a request, and returns what the audit log is to say of the outcome. */
type Operation = (context: OperationContext) => Promise<JsonObject | void>;

/** Makes request handlers out of what is particular to each operation. */
export interface Operations {
  /**
   * @param describe - what the audit log is to say of the request, in the terms of
   * the stock catalog
   * @param options.eventId - what the audit log is to call it; `entity-fetch` by default
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
  /** The catalog as a caller may see it, until the caller has gone. */
  authorize: (
    credentials: BackstageCredentials,
    request: { req: Request; tenantId: string; signal: AbortSignal },
  ) => ReadableCatalogStore;
  directory: Pick<TenantDirectory, 'findActive'>;
}): Operations {
  const { adoption, httpAuth, auditor, authorize, directory } = options;

  const assertActive = async ({ tenantId, tenantSlug }: ActiveTenant) => {
    const active = await directory.findActive(tenantSlug);
    if (active?.tenantId !== tenantId) {
      throw new NotAllowedError(
        `The tenant '${tenantSlug}' was deleted while its request was answered`,
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
        if (!res.closed) {
          res.once('close', workSlices.enter(tenantId));
        }
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
              assertTenantActive: () => assertActive(tenant),
            });
          },
        ).catch(error => {
          // Nobody is left to be answered.
          if (!signal.aborted) {
            throw error;
          }
        });
      },
  };
}

/** A signal that is aborted when the client closes the connection before the end of the response. */
function untilClosed(res: Response): AbortSignal {
  const closed = new AbortController();
  res.once('close', () => {
    if (!res.writableFinished) {
      closed.abort(new Error('The client has closed the connection'));
    }
  });
  return closed.signal;
}

/**
 * Refuses reads of the default tenant until the catalog is adopted: before that its
 * catalog would look empty, which clients take for the truth and act upon.
 *
 * Each operation calls it, so that no spelling of a path gets past it.
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
      `The catalog of the tenant '${DEFAULT_TENANT_SLUG}' is being made from that of ` +
        'the stock catalog, and is not complete yet. Try again in a few seconds; ' +
        'should it take longer, the log says why.',
    );
  }
}
