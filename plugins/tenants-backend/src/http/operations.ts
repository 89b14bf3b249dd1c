import type {
  AuditorService,
  HttpAuthService,
} from '@backstage/backend-plugin-api';
import type { MetricsService } from '@backstage/backend-plugin-api/alpha';
import { toError } from '@backstage/errors';
import type { BasicPermission } from '@backstage/plugin-permission-common';
import type { JsonObject } from '@backstage/types';
import type { Request, RequestHandler, Response } from 'express';
import type { Administrators } from '../authorization/Administrators';
import { measureOperations } from './metrics';

/** Handles a request of an administrator. */
type Handler = (req: Request, res: Response) => Promise<void>;

/**
 * Tells what a request asks for, beside the path parameters, as the audit log is to
 * have it. It may throw where the request does not say so.
 */
type Describe = (req: Request, res: Response) => Promise<JsonObject>;

/**
 * Makes request handlers out of what is particular to each operation. Around it goes
 * what all have in common: who is calling and whether that caller may, the audit
 * event, and the metrics.
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
  const measured = measureOperations(options.metrics);

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
        // Before anything of the request is looked at.
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

/** A request that was refused may be one that nobody can read. */
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
