import type { ConfigApi } from '@backstage/frontend-plugin-api';
import { REFUSAL } from './decideTenant';
import type { PageTenant } from './PageTenant';
import { settingsOfBrowser } from './settingsOfBrowser';

const HEADER = 'X-Tenant-Slug';
const PLUGIN_ID = /\{\{\s*pluginId\s*\}\}/g;

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
  const { pageTenant } = options;
  const isBackend = matchBackend(options.configApi);
  return {
    apply: next => async (input, init) => {
      const isRequest = input instanceof Request;
      const url = isRequest ? input.url : String(input);
      if (!isBackend(new URL(url, document.baseURI).href)) {
        return next(input, init);
      }
      // Not a new request: its body could be read only once.
      const headers = new Headers(
        init?.headers ?? (isRequest ? input.headers : undefined),
      );
      if (headers.has(HEADER)) {
        return next(input, init);
      }
      const { pathname } = new URL(url, document.baseURI);
      const pluginId = /\/api\/([^/]+)/.exec(pathname)?.[1] ?? '';
      if (pageTenant.closedPlugins.includes(pluginId)) {
        return pluginId === 'user-settings'
          ? settingsOfBrowser(pageTenant.slug, new Request(input, init))
          : refusalOf(pluginId);
      }
      let response: Response;
      if (pageTenant.slug === undefined) {
        response = await next(input, init);
      } else {
        headers.set(HEADER, pageTenant.slug);
        response = await next(input, { ...init, headers });
      }
      if (await isRefusal(response)) {
        pageTenant.refuse();
      }
      return response;
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

/** Whether a URL is the backend's, by the rules of Backstage's own middleware for tokens. */
function matchBackend(configApi: ConfigApi): (url: string) => boolean {
  const patterns = [
    urlPattern(configApi.getString('backend.baseUrl')),
    ...(configApi.getOptionalConfigArray('discovery.endpoints') ?? []).flatMap(
      endpoint => {
        const target =
          typeof endpoint.get('target') === 'object'
            ? endpoint.getOptionalString('target.external')
            : endpoint.getString('target');
        return target === undefined
          ? []
          : endpoint
              .getStringArray('plugins')
              .map(id =>
                urlPattern(
                  id === '*' ? target : target.replace(PLUGIN_ID, () => id),
                ),
              );
      },
    ),
  ];
  return url => patterns.some(pattern => pattern.test(url));
}

/** Matches a URL and all below it; `{{pluginId}}` is any one part of a path. */
function urlPattern(url: string): RegExp {
  const [first, ...rest] = url
    .replace(/\/$/, '')
    .split(PLUGIN_ID)
    .map(part => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  const source = rest.reduce(
    (before, part, i) => `${before}${i === 0 ? '([^/?#]+)' : '\\1'}${part}`,
    first,
  );
  return new RegExp(`^${source}(?:/|$|[?#])`);
}
