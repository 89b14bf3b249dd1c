import {
  type PluginTokenHandler,
  pluginTokenHandlerDecoratorServiceRef,
} from '@backstage/backend-defaults/auth';
import { createServiceFactory } from '@backstage/backend-plugin-api';
import { isTenantSlug } from 'backstage-plugin-catalog-tenancy-node';
import jwt from 'jsonwebtoken';
import { AsyncLocalStorage } from 'node:async_hooks';

// The handler takes the earlier of this and its own limit.
const NEVER = new Date(8.64e15);

/**
 * The tokens by which plugins call each other name the tenant that the call is for, in
 * their claim `obo`: in front of the token of the user on whose behalf it is, or alone.
 * The key of the calling plugin signs them, so that nothing outside of the backend can
 * make one, and Backstage verifies them.
 *
 * A backend that does not know of this takes what it finds for the token of a user, and
 * refuses the call.
 */
const NAMED = /^tenant:([a-z0-9-]+);(.*)$/s;

// As Backstage has it.
const PLUGIN_TOKEN_TYPE = 'vnd.backstage.plugin';
const BEARER = /^Bearer[ ]+(\S+)$/i;

/** From the wrapped auth service to the handler below, which sees no credentials. */
const issuing = new AsyncLocalStorage<string>();

/** Issues a token that names a tenant. `issue` asks Backstage for one. */
export async function issueFor(
  tenantSlug: string,
  issue: () => Promise<{ token: string }>,
): Promise<{ token: string }> {
  const issued = await issuing.run(tenantSlug, issue);
  // An auth service other than Backstage's may not ask the handler below.
  if (readTenant(issued.token) !== tenantSlug) {
    throw new Error(
      `A token for the tenant '${tenantSlug}' could not be issued: expected the auth service of Backstage, which uses its pluginTokenHandlerDecoratorServiceRef`,
    );
  }
  return issued;
}

/**
 * The slug of the tenant that the token of a request names, if another plugin made the
 * call for one.
 *
 * It verifies nothing: call it once Backstage has accepted the credentials of the request.
 */
export function calledFor(
  authorization: string | undefined,
): string | undefined {
  const token = authorization?.match(BEARER)?.[1];
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

/** Puts the tenant into the tokens that plugins issue, and takes it out again. */
export const callTokensServiceFactory = createServiceFactory({
  service: pluginTokenHandlerDecoratorServiceRef,
  deps: {},
  factory: () => nameTenants,
});

/** On the handler itself, which keeps methods that a later version of Backstage may add. */
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
