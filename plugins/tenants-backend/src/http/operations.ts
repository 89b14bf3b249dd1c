import type {
  AuditorService,
  HttpAuthService,
} from '@backstage/backend-plugin-api';
import type { MetricsService } from '@backstage/backend-plugin-api/alpha';
import { toError } from '@backstage/errors';
import { measureOperations } from '@internal/http';
import type { BasicPermission } from '@backstage/plugin-permission-common';
import type { JsonObject } from '@backstage/types';
import type { Request, RequestHandler, Response } from 'express';
import type { Administrators } from '../authorization/Administrators';

/** Handles a request of an administrator. */
type Handler = (req: Request, res: Response) => Promise<void>;

/**
 * Returns what the audit log records beside the path parameters. It may throw if
 * the request is malformed.
 */
type Describe = (req: Request, res: Response) => Promise<JsonObject>;

/**
 * Makes request handlers. Each adds to its operation what all share: the check of
 * the caller, the audit event, and the metrics.
 */
export type MakeOperation = (
  name: string,
  permission: BasicPermission,
  handler: Handler,
  describe?: Describe,
) => RequestHandler[];

export function createOperations(options: {
  administrators: Administrators;
  auditor: AuditorService;
  httpAuth: HttpAuthService;
  metrics: MetricsService;
}): MakeOperation {
  const { administrators, auditor, httpAuth } = options;
  const measured = measureOperations(options.metrics, {
    prefix: 'tenants.operations',
    operations: 'Operations on the registry of tenants',
    outcomes: { 409: 'conflict' },
  });

  return (name, permission, handler, describe) => [
    measured(name),
    async (req, res) => {
      const event = await auditor.createEvent({
        eventId: name,
        severityLevel:
          permission.attributes.action === 'read' ? 'low' : 'medium',
        request: req,
        meta: { ...req.params },
      });
      try {
        const credentials = await httpAuth.credentials(req, {
          allow: ['user', 'service'],
        });
        // Before it reads anything else of the request.
        await administrators.assertMay(credentials, permission);
        await handler(req, res);
      } catch (error) {
        const meta = await describeSafely(describe, req, res);
        await event.fail({ error: toError(error), ...meta });
        throw error;
      }
      await event.success(await describeSafely(describe, req, res));
    },
  ];
}

/** The body of a failed request may be unreadable. */
async function describeSafely(
  describe: Describe | undefined,
  req: Request,
  res: Response,
): Promise<{ meta: JsonObject } | undefined> {
  try {
    return describe && { meta: await describe(req, res) };
  } catch {
    return undefined;
  }
}
