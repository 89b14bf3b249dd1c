import {
  type PluginTokenHandler,
  pluginTokenHandlerDecoratorServiceRef,
} from '@backstage/backend-defaults/auth';
import { createServiceFactory } from '@backstage/backend-plugin-api';
import { isTenantSlug } from 'backstage-plugin-catalog-tenancy-node';
import jwt from 'jsonwebtoken';
import { AsyncLocalStorage } from 'node:async_hooks';
import { bearerToken } from '../resolution/bearerToken';

// The handler uses the earlier of this and its own limit.
const NEVER = new Date(8.64e15);

/**
 * Tokens of calls between plugins name the tenant of the call in the claim `obo`, before the
 * user's token, if any. They are signed by the calling plugin and verified by Backstage, so
 * clients cannot forge them.
 *
 * A backend without this package reads `obo` as a user's token and refuses the call.
 */
const NAMED = /^tenant:([a-z0-9-]+);(.*)$/s;

// Backstage's `typ` header of plugin tokens.
const PLUGIN_TOKEN_TYPE = 'vnd.backstage.plugin';

/**
 * Passes the tenant from the wrapped auth service to the token handler, which sees no
 * credentials.
 */
const issuing = new AsyncLocalStorage<string>();

/** Issues a token that names a tenant. `issue` calls Backstage's auth service. */
export async function issueFor(
  tenantSlug: string,
  issue: () => Promise<{ token: string }>,
): Promise<{ token: string }> {
  const issued = await issuing.run(tenantSlug, issue);
  // A custom auth service may not use the token handler below.
  if (readTenant(issued.token) !== tenantSlug) {
    throw new Error(
      `A token for the tenant '${tenantSlug}' could not be issued: expected the auth service of Backstage, which uses its pluginTokenHandlerDecoratorServiceRef`,
    );
  }
  return issued;
}

/**
 * The slug of the tenant in the token of another plugin's call, if any.
 *
 * Does not verify the token: call it only after Backstage has accepted the credentials of the
 * request.
 */
export function calledFor(
  authorization: string | undefined,
): string | undefined {
  const token = bearerToken(authorization);
  return token === undefined ? undefined : readTenant(token);
}

function readTenant(token: string): string | undefined {
  const decoded = jwt.decode(token, { complete: true });
  if (
    decoded?.header.typ !== PLUGIN_TOKEN_TYPE ||
    typeof decoded.payload === 'string'
  ) {
    return undefined;
  }
  const slug = String(decoded.payload.obo ?? '').match(NAMED)?.[1];
  return slug !== undefined && isTenantSlug(slug) ? slug : undefined;
}

/** Adds the tenant to tokens of plugins, and removes it when they are verified. */
export const callTokensServiceFactory = createServiceFactory({
  service: pluginTokenHandlerDecoratorServiceRef,
  deps: {},
  factory: () => nameTenants,
});

/** Replaces methods of the handler itself, so that methods of later Backstage versions stay. */
function nameTenants(handler: PluginTokenHandler): PluginTokenHandler {
  const issue = handler.issueToken.bind(handler);
  const verify = handler.verifyToken.bind(handler);
  return Object.assign<PluginTokenHandler, PluginTokenHandler>(handler, {
    issueToken(options) {
      const tenantSlug = issuing.getStore();
      if (tenantSlug === undefined) {
        return issue(options);
      }
      const { limitedUserToken = '', expiresAt = NEVER } =
        options.onBehalfOf ?? {};
      return issue({
        ...options,
        onBehalfOf: {
          limitedUserToken: `tenant:${tenantSlug};${limitedUserToken}`,
          expiresAt,
        },
      });
    },

    async verifyToken(token) {
      const verified = await verify(token);
      const [, , userToken] = verified?.limitedUserToken?.match(NAMED) ?? [];
      return verified && userToken !== undefined
        ? { ...verified, limitedUserToken: userToken || undefined }
        : verified;
    },
  });
}
