import type {
  AuditorService,
  HttpAuthService,
} from '@backstage/backend-plugin-api';
import type { MetricsService } from '@backstage/backend-plugin-api/alpha';
import { toError } from '@backstage/errors';
import { holdAnswer, measureOperations } from '@internal/http';
import type { JsonObject } from '@backstage/types';
import { auditChange } from 'backstage-plugin-catalog-tenancy-node';
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
 * That the errors of an operation may quote its body, which is not for the audit log: an
 * event has no more of them than their names.
 */
type Undescribed = 'errors may quote the body';

/**
 * Makes request handlers. Each adds to its operation what all share: the check of
 * the caller, the audit event, and the metrics.
 */
export type MakeOperation = <TCaller>(
  name: string,
  access: Access<TCaller>,
  handler: Handler<TCaller>,
  describe?: Describe | Undescribed,
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
      // What has changed is in the audit trail when its caller hears of it.
      const release = access.changes ? holdAnswer(res) : () => undefined;
      try {
        const credentials = await httpAuth.credentials(req, {
          allow: ['user', 'service'],
        });
        // Before it reads anything else of the request.
        const caller = await access.check(credentials, req);
        await auditChange(
          event,
          async () => (await describeSafely(describe, req, res))?.meta,
          () => handler(req, res, caller),
        );
      } catch (error) {
        const meta = await describeSafely(describe, req, res);
        await event
          .fail({ error: auditedError(error, describe), ...meta })
          .finally(release);
        throw error;
      }
      const meta = await describeSafely(describe, req, res);
      await event.success(meta).finally(release);
    },
  ];
}

/** The errors that the authorization and the registry make, of the path alone. */
const QUOTES_NOTHING = [
  'AuthenticationError',
  'NotAllowedError',
  'NotFoundError',
  'ConflictError',
  'PreconditionFailedError',
];

function auditedError(
  error: unknown,
  describe: Describe | Undescribed | undefined,
): Error {
  const { name, message } = toError(error);
  return typeof describe !== 'string' || QUOTES_NOTHING.includes(name)
    ? toError(error)
    : new Error(
        `${name}${
          message && ', whose message is left out: it may quote the body'
        }`,
      );
}

/** The body of a failed request may be unreadable. */
async function describeSafely(
  describe: Describe | Undescribed | undefined,
  req: Request,
  res: Response,
): Promise<{ meta: JsonObject } | undefined> {
  try {
    return typeof describe === 'function'
      ? { meta: await describe(req, res) }
      : undefined;
  } catch {
    return undefined;
  }
}
