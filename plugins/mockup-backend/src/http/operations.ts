import type {
  AuditorService,
  BackstageCredentials,
  HttpAuthService,
} from '@backstage/backend-plugin-api';
import type { MetricsService } from '@backstage/backend-plugin-api/alpha';
import { NotAllowedError } from '@backstage/errors';
import { audited, measureOperations } from '@internal/http';
import type { JsonObject } from '@backstage/types';
import {
  type TenantGate,
  tenantOf,
} from 'backstage-plugin-catalog-tenancy-node';
import type { MockupComment } from 'backstage-plugin-mockup-common';
import type { MockupWriteCondition } from 'backstage-plugin-mockup-node';
import type { Request, RequestHandler, Response } from 'express';
import type { AuthorizedMockupStore } from '../authorization/AuthorizedMockupStore';
import type { AuthorizedPages } from '../pages/AuthorizedPages';
import type { AuthorizedReview } from '../review/AuthorizedReview';
import { parseIfMatch, refuseIfMatch } from './request/ifMatch';

/** The stores of the request's tenant, with the caller's permissions. */
interface Authorized {
  mockups: AuthorizedMockupStore;
  pages: AuthorizedPages;
  review: AuthorizedReview;
  /** Notifies users that a comment mentions. Never rejects. */
  notifyMentioned: (comment: MockupComment) => Promise<void>;
}

/** The arguments of a handler that only reads. */
export interface ReadContext extends Authorized {
  req: Request;
  res: Response;
  /** Rejects if the tenant was deleted while the request runs, or its caller removed from it. */
  assertStillAdmitted: () => Promise<void>;
}

type ReadHandler = (context: ReadContext) => Promise<void>;

/**
 * Handles a request that may write, and returns metadata for the audit log in addition to the
 * path parameters.
 */
type WriteHandler<TMore = unknown> = (
  context: { req: Request; res: Response; user: string } & Authorized & TMore,
) => Promise<JsonObject | void>;

/**
 * Creates request handlers with the caller's permissions, the audit event and the metrics.
 */
export interface Operations {
  /** An operation for users and services. */
  read(name: string, handler: ReadHandler): RequestHandler[];
  /**
   * An operation for users, who become owner or creator of new resources, on what has no entity tag:
   * refuses If-Match.
   */
  write(name: string, handler: WriteHandler): RequestHandler[];
  /** A write to a mockup in one of the states that If-Match names. */
  writeIfMatch(
    name: string,
    handler: WriteHandler<{ condition: MockupWriteCondition }>,
  ): RequestHandler[];
}

export function createOperations(options: {
  httpAuth: HttpAuthService;
  auditor: AuditorService;
  gate: Pick<TenantGate, 'stillAdmits'>;
  metrics: MetricsService;
  authorize: (credentials: BackstageCredentials, req: Request) => Authorized;
}): Operations {
  const { httpAuth, auditor, authorize, gate } = options;
  const measured = measureOperations(options.metrics, {
    prefix: 'mockup.operations',
    operations: 'Operations of the mockup plugin',
    outcomes: { 412: 'conflict' },
  });

  const write = (name: string, handler: WriteHandler): RequestHandler[] => [
    measured(name),
    (req, res) =>
      audited(auditor, auditEvent(name, req), async () => {
        const credentials = await httpAuth.credentials(req, {
          allow: ['user'],
        });
        return handler({
          req,
          res,
          ...authorize(credentials, req),
          user: credentials.principal.userEntityRef,
        });
      }),
  ];

  return {
    read: (name, handler) => [
      measured(name),
      async (req, res) => {
        const credentials = await httpAuth.credentials(req, {
          allow: ['user', 'service'],
        });
        await handler({
          req,
          res,
          ...authorize(credentials, req),
          assertStillAdmitted: async () => {
            const tenant = tenantOf(req);
            if (!(await gate.stillAdmits(req, tenant))) {
              throw new NotAllowedError(
                `The tenant '${tenant.tenantSlug}' was deleted while a request was answered, or its caller removed`,
              );
            }
          },
        });
      },
    ],

    write: (name, handler) =>
      write(name, async context => {
        refuseIfMatch(context.req);
        return handler(context);
      }),

    writeIfMatch: (name, handler) =>
      write(name, async context =>
        handler({ ...context, condition: parseIfMatch(context.req) }),
      ),
  };
}

function auditEvent(eventId: string, request: Request) {
  return {
    eventId,
    // Backstage's recommendation for writes; lower levels are not logged by default.
    severityLevel: 'medium',
    request,
    meta: { ...request.params },
  } as const;
}
