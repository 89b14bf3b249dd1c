import type {
  AuditorService,
  HttpAuthService,
} from '@backstage/backend-plugin-api';
import type { MetricsService } from '@backstage/backend-plugin-api/alpha';
import { toError } from '@backstage/errors';
import { audited, measureOperations, parseIfMatch } from '@internal/http';
import type { JsonObject } from '@backstage/types';
import {
  auditChange,
  DatabaseUnavailableError,
  PreconditionFailedError,
} from 'backstage-plugin-catalog-tenancy-node';
import type { Request, RequestHandler, Response } from 'express';
import type { CallerCredentials } from '../authorization/Administrators';

/** The access check of an operation. */
export interface Access<TCaller> {
  /** Whether the operation may write. */
  changes: boolean;
  /** Whether a write evaluates If-Match. Others refuse it: what they write has no entity tag. */
  evaluatesIfMatch?: boolean;
  /**
   * @returns what the handler needs to know about the caller
   * @throws NotAllowedError if the caller lacks the permission
   */
  check(credentials: CallerCredentials, req: Request): Promise<TCaller>;
}

/** Handles a request of an authorized caller. */
type Handler<TCaller> = (
  req: Request,
  res: Response,
  caller: TCaller,
) => Promise<void>;

/**
 * Returns metadata for the audit log in addition to the path parameters. May throw if the
 * request is malformed.
 */
type Describe = (req: Request, res: Response) => Promise<JsonObject>;

/**
 * Marks an operation whose errors may quote the body, which must not be logged: events then
 * contain only the names of errors.
 */
type Undescribed = 'errors may quote the body';

/**
 * Creates request handlers with the access check, the audit event and the metrics.
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
    (req, res) => {
      const metaOf = () => describeSafely(describe, req, res);
      return audited(
        auditor,
        {
          eventId: name,
          severityLevel: access.changes ? 'medium' : 'low',
          request: req,
          meta: { ...req.params },
        },
        async created => {
          const credentials = await httpAuth.credentials(req, {
            allow: ['user', 'service'],
          });
          // Checked before any other part of the request is read.
          const caller = await access.check(credentials, req);
          if (access.changes && !access.evaluatesIfMatch && parseIfMatch(req)) {
            throw new PreconditionFailedError(
              'The If-Match header must be left out: this has no entity tag that a write is compared with',
            );
          }
          await auditChange(created, metaOf, () => handler(req, res, caller));
          return metaOf();
        },
        async error => {
          const meta = await metaOf();
          return {
            error: auditedError(error, describe),
            ...(meta && { meta }),
          };
        },
      );
    },
  ];
}

/** Errors of authorization and the registry, which quote only the path. */
const QUOTES_NOTHING = [
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
  return typeof describe !== 'string' ||
    QUOTES_NOTHING.includes(name) ||
    // It says whether the outcome is known.
    error instanceof DatabaseUnavailableError
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
): Promise<JsonObject | undefined> {
  try {
    return typeof describe === 'function'
      ? await describe(req, res)
      : undefined;
  } catch {
    return undefined;
  }
}
