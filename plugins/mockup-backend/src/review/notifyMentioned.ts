import type {
  AuthService,
  BackstageCredentials,
  DiscoveryService,
  LoggerService,
} from '@backstage/backend-plugin-api';
import { toError } from '@backstage/errors';
import type { CatalogService } from '@backstage/plugin-catalog-node';
import { withTenantOf } from 'backstage-plugin-catalog-tenancy-node';
import { mentionsOf, type MockupComment } from 'backstage-plugin-mockup-common';
import type { Request } from 'express';

const PATIENCE_MS = 5_000;
const NOT_FOUND = 404;

/** Notifies users that a comment mentions. */
export type NotifyMentioned = (
  comment: MockupComment,
  request: Request,
  credentials: BackstageCredentials,
) => Promise<void>;

/**
 * Notifies users that a comment mentions, by the notifications plugin in the request's tenant.
 * Only users in the tenant's catalog that the author may see are notified.
 *
 * Failures are only logged, because the comment exists already. A portal without notifications
 * is not a failure.
 */
export function createNotifyMentioned(options: {
  auth: AuthService;
  catalog: CatalogService;
  discovery: DiscoveryService;
  logger: LoggerService;
}): NotifyMentioned {
  const { auth, catalog, discovery, logger } = options;

  async function find(
    text: string,
    credentials: BackstageCredentials,
  ): Promise<string[]> {
    const filter = mentionsOf(text).map(({ namespace, name }) => ({
      kind: 'user',
      'metadata.name': name,
      ...(namespace && { 'metadata.namespace': namespace }),
    }));
    if (filter.length === 0) {
      return [];
    }
    const { items } = await catalog.queryEntities(
      { filter, fields: ['metadata.name', 'metadata.namespace'], limit: 50 },
      { credentials },
    );
    return items.map(({ metadata: { name, namespace = 'default' } }) =>
      `user:${namespace}/${name}`.toLocaleLowerCase('en-US'),
    );
  }

  async function send(request: Request, body: object): Promise<void> {
    const { token } = await auth.getPluginRequestToken({
      onBehalfOf: withTenantOf(request, await auth.getOwnServiceCredentials()),
      targetPluginId: 'notifications',
    });
    const response = await fetch(
      `${await discovery.getBaseUrl('notifications')}/notifications`,
      {
        method: 'POST',
        headers: {
          Authorization: `Bearer ${token}`,
          'Content-Type': 'application/json',
        },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(PATIENCE_MS),
      },
    );
    await response.body?.cancel();
    if (!response.ok && response.status !== NOT_FOUND) {
      throw new Error(`The notifications answered ${response.status}`);
    }
  }

  const notify: NotifyMentioned = async (comment, request, credentials) => {
    const { author, mockupId, text } = comment;
    const mentioned = await find(text, credentials);
    const recipients = mentioned.filter(each => each !== author);
    if (recipients.length > 0) {
      await send(request, {
        recipients: { type: 'entity', entityRef: recipients },
        payload: {
          // Without content of the mockup: the recipients' permission to read it cannot be
          // checked.
          title: `${author} has mentioned you in a comment on a mockup`,
          link: `/mockups/${mockupId}/comments`,
          topic: 'mockups',
          scope: `mockup-comment:${comment.id}`,
        },
      });
    }
  };

  return async (comment, ...more) => {
    let timer: NodeJS.Timeout | undefined;
    const overdue = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(
        () => reject(new Error(`It took more than ${PATIENCE_MS} ms`)),
        PATIENCE_MS,
      );
    });
    try {
      // The catalog has no deadline, and the author waits.
      await Promise.race([notify(comment, ...more), overdue]);
    } catch (error) {
      logger.warn(
        `Users mentioned in the comment '${comment.id}' were not notified`,
        toError(error),
      );
    } finally {
      clearTimeout(timer);
    }
  };
}
