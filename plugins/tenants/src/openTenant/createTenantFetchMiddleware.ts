import { FetchMiddlewares } from '@backstage/core-app-api';
import type { ConfigApi, IdentityApi } from '@backstage/frontend-plugin-api';
import { REFUSAL } from './decideTenant';
import type { PageTenant } from './PageTenant';
import { settingsOfBrowser } from './settingsOfBrowser';

const HEADER = 'X-Tenant-Slug';
/** In place of a slug, until the header is taken away again. */
const UNNAMED = '-';

/**
 * Middleware for `createFetchApi` of `@backstage/core-app-api`, for an app that has a `fetchApi`
 * of its own: put it between `resolvePluginProtocol` and `injectIdentityAuth`.
 *
 * It sends the tenant of the page to the backend, at the URLs that Backstage sends the token
 * of the user to, and to no other host. A header that the caller has set stays. It tells the
 * page where the portal refuses the tenant, and does not ask for plugins that the tenant does not
 * have: it answers as the portal would, and keeps what `user-settings` would in the browser.
 *
 * @public
 */
export function createTenantFetchMiddleware(options: {
  configApi: ConfigApi;
  pageTenant: PageTenant;
}): { apply(next: typeof fetch): typeof fetch } {
  const { configApi, pageTenant } = options;
  const { slug } = pageTenant;
  // Backstage's own decides what goes to the backend, and leaves the header of a caller.
  const toBackend = FetchMiddlewares.injectIdentityAuth({
    identityApi: {
      getCredentials: async () => ({ token: slug ?? UNNAMED }),
    } as IdentityApi,
    config: configApi,
    header: { name: HEADER, value: name => name },
  });
  return {
    apply: next => (input, init) => {
      // A new request is made of it, and its body can be read only once.
      const copy = input instanceof Request ? input.clone() : input;
      return toBackend.apply(async given => {
        if (given === copy || !(given instanceof Request)) {
          return next(input, init);
        }
        const pluginId = /\/api\/([^/]+)/.exec(
          new URL(given.url).pathname,
        )?.[1];
        if (pluginId && pageTenant.closedPlugins.includes(pluginId)) {
          return pluginId === 'user-settings'
            ? settingsOfBrowser(slug, given)
            : refusalOf(pluginId);
        }
        if (slug === undefined) {
          given.headers.delete(HEADER);
        }
        const response = await next(given);
        if (await isRefusal(response)) {
          pageTenant.refuse();
        }
        return response;
      })(copy, init);
    },
  };
}

/** As the gate refuses a plugin that is closed. */
function refusalOf(pluginId: string): Response {
  const error = {
    name: 'NotAllowedError',
    message: `The plugin '${pluginId}' is not available to this tenant`,
  };
  return Response.json(
    { error, response: { statusCode: 403 } },
    { status: 403 },
  );
}

async function isRefusal(response: Response): Promise<boolean> {
  if (response.status !== 403) {
    return false;
  }
  try {
    return (await response.clone().text()) === REFUSAL;
  } catch {
    // Such as a page that was left meanwhile.
    return false;
  }
}
