import type {
  AuditorService,
  BackstageCredentials,
  HttpAuthService,
} from '@backstage/backend-plugin-api';
import { NotAllowedError } from '@backstage/errors';
import type { JsonObject } from '@backstage/types';
import { audited } from '@internal/http';
import {
  type ActiveTenant,
  type CatalogAdoption,
  type TenantDirectory,
  tenantOf,
} from 'backstage-plugin-catalog-tenancy-node';
import type { Request, RequestHandler, Response } from 'express';
import type { ReadableCatalogStore } from '../authorization/AuthorizedCatalogStore';
import { assertAdopted } from '../adoption/assertAdopted';

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
  authorize: (
    credentials: BackstageCredentials,
    req: Request,
    tenantId: string,
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
        assertAdopted(adoption, tenant, res);
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
              tenantId: tenant.tenantId,
              catalog: authorize(credentials, req, tenant.tenantId),
              assertTenantActive: () => assertActive(tenant),
            });
          },
        );
      },
  };
}
