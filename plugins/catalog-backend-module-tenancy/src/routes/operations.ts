import type {
  AuditorService,
  BackstageCredentials,
  HttpAuthService,
} from '@backstage/backend-plugin-api';
import { toError } from '@backstage/errors';
import type { JsonObject } from '@backstage/types';
import type { Request, RequestHandler, Response } from 'express';
import type { ReadableCatalogStore } from '../authorization/AuthorizedCatalogStore';
import { requestTenant } from '../resolution';

interface OperationContext {
  req: Request;
  res: Response;
  /** The tenant of the request. */
  tenantId: string;
  /** The catalog as the caller may see it. */
  catalog: ReadableCatalogStore;
}

/** Answers a request, and returns what the audit log is to say of the outcome. */
type Operation = (context: OperationContext) => Promise<JsonObject | void>;

/** Makes request handlers out of what is particular to each operation. */
export interface Operations {
  /**
   * @param describe - what the audit log is to say of the request, in the terms of
   * the stock catalog
   */
  read(
    describe: (req: Request) => JsonObject,
    operation: Operation,
  ): RequestHandler;
}

export function createOperations(options: {
  httpAuth: HttpAuthService;
  auditor: AuditorService;
  authorize: (credentials: BackstageCredentials) => ReadableCatalogStore;
}): Operations {
  const { httpAuth, auditor, authorize } = options;

  return {
    read: (describe, operation) => async (req, res) => {
      const { tenantId, tenantSlug } = requestTenant(req);
      const event = await auditor.createEvent({
        eventId: 'entity-fetch',
        request: req,
        meta: { ...describe(req), tenant: tenantSlug },
      });
      let meta: JsonObject | void;
      try {
        const credentials = await httpAuth.credentials(req);
        meta = await operation({
          req,
          res,
          tenantId,
          catalog: authorize(credentials),
        });
      } catch (error) {
        await event.fail({ error: toError(error) });
        throw error;
      }
      await event.success(meta ? { meta } : undefined);
    },
  };
}
