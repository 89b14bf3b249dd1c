import type {
  AuditorService,
  HttpAuthService,
} from '@backstage/backend-plugin-api';
import type { MetricsService } from '@backstage/backend-plugin-api/alpha';
import { toError } from '@backstage/errors';
import { measureOperations } from '@internal/http';
import type { JsonObject } from '@backstage/types';
import type { Request, RequestHandler, Response } from 'express';
import type { CallerCredentials } from '../authorization/Administrators';

/** Who may do an operation. */
export interface Access<TCaller> {
  /** Whether it changes anything. */
  changes: boolean;
  /**
   * @returns what the operation has to know of the caller
   * @throws NotAllowedError if the caller may not
   */
  check(credentials: CallerCredentials, req: Request): Promise<TCaller>;
}

/** Handles a request of a caller who may do the operation. */
type Handler<TCaller> = (
  req: Request,
  res: Response,
  caller: TCaller,
) => Promise<void>;

/**
 * Returns what the audit log records beside the path parameters. It may throw if
 * the request is malformed.
 */
type Describe = (req: Request, res: Response) => Promise<JsonObject>;

/**
 * Makes request handlers. Each adds to its operation what all share: the check of
 * the caller, the audit event, and the metrics.
 */
export type MakeOperation = <TCaller>(
  name: string,
  access: Access<TCaller>,
  handler: Handler<TCaller>,
  describe?: Describe,
) => RequestHandler[];

export function createOperations(options: {
  auditor: AuditorService;
  httpAuth: HttpAuthService;
  metrics: MetricsService;
}): MakeOperation {
  const { auditor, httpAuth } = options;
  const measured = measureOperations(options.metrics, {
    prefix: 'tenants.operations',
    operations: 'Operations on the registry of tenants',
    outcomes: { 409: 'conflict' },
  });

  return (name, access, handler, describe) => [
    measured(name),
    async (req, res) => {
      const event = await auditor.createEvent({
        eventId: name,
        severityLevel: access.changes ? 'medium' : 'low',
        request: req,
        meta: { ...req.params },
      });
      try {
        const credentials = await httpAuth.credentials(req, {
          allow: ['user', 'service'],
        });
        // Before it reads anything else of the request.
        await handler(req, res, await access.check(credentials, req));
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
