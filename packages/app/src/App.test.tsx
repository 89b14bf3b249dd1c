import {
  ApiBlueprint,
  createApiRef,
  createExtensionInput,
  createFrontendPlugin,
  createRouteRef,
  identityApiRef,
  PageBlueprint,
  useApi,
} from '@backstage/frontend-plugin-api';
import { render, screen, waitFor, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import type { OpenTenant } from 'backstage-plugin-tenants-common';
import { createPortalApp } from './App';

const BACKEND = 'http://localhost:7007/api';
const AUTH = `${BACKEND}/auth`;
const GUESTS = { guest: {}, anna: {}, peter: {} };

/** A page that asks for the token of the user, as requests do, and signs the user out. */
function HomePage() {
  const identityApi = useApi(identityApiRef);
  return (
    <>
      <h1>The first page</h1>
      <button onClick={() => identityApi.getCredentials()}>Ask</button>
      <button onClick={() => identityApi.signOut()}>Sign out</button>
    </>
  );
}

/** The catalog, where the avatar of the settings looks for the user. */
const catalogApi = ApiBlueprint.make({
  params: defineParams =>
    defineParams({
      api: createApiRef<{ getEntityByRef(): Promise<undefined> }>({
        id: 'plugin.catalog.service',
      }),
      deps: {},
      factory: () => ({ getEntityByRef: async () => undefined }),
    }),
});

/** A plugin with a page in the navigation. */
const pluginOf = (pluginId: string, title: string, path: string) =>
  createFrontendPlugin({
    pluginId,
    extensions: [
      ...(pluginId === 'catalog' ? [catalogApi] : []),
      PageBlueprint.makeWithOverrides({
        // As the catalog's own page has it.
        inputs: { filters: createExtensionInput([]) },
        factory: original =>
          original({
            path,
            routeRef: createRouteRef(),
            title,
            icon: <i />,
            loader: async () => <HomePage />,
          }),
      }),
    ],
  });
const plugins = [
  pluginOf('catalog', 'Catalog', '/'),
  pluginOf('api-docs', 'APIs', '/api-docs'),
  pluginOf('catalog-import', 'Register', '/catalog-import'),
  pluginOf('search', 'Search', '/search'),
  pluginOf('user-settings', 'Settings', '/settings'),
];

/** The configuration that the backend gives to the pages, for one portal. */
function configure(auth: object, app: object = {}): void {
  jest.replaceProperty(process, 'env', {
    NODE_ENV: 'test',
    APP_CONFIG: [
      {
        context: 'test',
        data: {
          app: {
            title: 'A portal',
            baseUrl: 'http://localhost',
            packages: 'all',
            ...app,
          },
          backend: { baseUrl: 'http://localhost:7007' },
          organization: { name: 'Initrode' },
          auth,
        },
      },
    ],
  } as unknown as NodeJS.ProcessEnv);
}

/** What the auth plugin answers for a user, in Backstage's form. */
function session(name: string, expiresInSeconds = 3600): object {
  return {
    profile: {},
    providerInfo: {},
    backstageIdentity: {
      token: `token-of-${name}`,
      expiresInSeconds,
      identity: {
        type: 'user',
        userEntityRef: `user:default/${name}`,
        ownershipEntityRefs: [`user:default/${name}`],
      },
    },
  };
}

const answers = new Map<string, () => Response | Promise<Response>>();
const calls: string[] = [];
const originalFetch = global.fetch;

beforeEach(() => {
  localStorage.clear();
  window.history.replaceState(null, '', '/');
  answers.clear();
  calls.length = 0;
  global.fetch = async input => {
    const url = input instanceof Request ? input.url : String(input);
    calls.push(url);
    const known = answers.get(url.split('?')[0]);
    return known?.() ?? Response.json({ error: {} }, { status: 404 });
  };
  Object.assign(window, {
    // What the bundler finds among the dependencies of the app.
    '__@backstage/discovered__': {
      modules: plugins.map(plugin => ({
        name: plugin.pluginId,
        default: plugin,
      })),
    },
  });
});

afterEach(() => {
  global.fetch = originalFetch;
  jest.restoreAllMocks();
});

function answer(path: string, body: object, status = 200): void {
  answers.set(`${AUTH}/${path}`, () => Response.json(body, { status }));
}

const refreshesOf = (name: string) =>
  calls.filter(url => url.startsWith(`${AUTH}/${name}/refresh`)).length;

const button = (name: string) => screen.findByRole('button', { name });
const firstPage = () =>
  screen.findByRole('heading', { name: 'The first page' });

async function buttonNames(): Promise<string[]> {
  const buttons = await screen.findAllByRole('button');
  return buttons.map(
    each =>
      document.getElementById(each.getAttribute('aria-labelledby') ?? '')
        ?.textContent ?? each.textContent!,
  );
}

describe('signing in', () => {
  it('offers the people of the local configuration', async () => {
    configure({ providers: GUESTS });
    render(createPortalApp().createRoot());
    expect(await buttonNames()).toEqual([
      'Anna, of Acme',
      'Peter, of Initech',
      'Administrator',
    ]);
    expect(await button('Anna, of Acme')).toHaveAccessibleDescription(
      'Member of the tenant Acme',
    );
    expect(calls).toEqual([]);
  });

  it('offers no guests in production, but the OpenID provider', async () => {
    configure({
      environment: 'production',
      providers: { ...GUESTS, oidc: {} },
    });
    render(createPortalApp().createRoot());
    expect(await buttonNames()).toEqual([
      'Continue with your account at Initrode',
    ]);
  });

  it('goes on after a reload, until the user signs out', async () => {
    configure({ providers: GUESTS });
    answer('anna/refresh', session('anna'));
    const { unmount } = render(createPortalApp().createRoot());
    await userEvent.click(await button('Anna, of Acme'));
    await firstPage();
    unmount();

    const { unmount: unmountAgain } = render(createPortalApp().createRoot());
    await firstPage();
    expect(refreshesOf('anna')).toBe(2);
    // jsdom loads no other page, and says so.
    jest.spyOn(console, 'error').mockImplementation(() => {});
    await userEvent.click(await button('Sign out'));
    await waitFor(() =>
      expect(localStorage.getItem('portal:guest')).toBeNull(),
    );
    unmountAgain();

    render(createPortalApp().createRoot());
    await button('Anna, of Acme');
    expect(refreshesOf('anna')).toBe(2);
  });

  it('says after a reload that the backend is away, and goes on when it is back', async () => {
    configure({ providers: GUESTS });
    localStorage.setItem('portal:guest', 'anna');
    answers.set(`${AUTH}/anna/refresh`, () => {
      throw new TypeError('Failed to fetch');
    });
    render(createPortalApp().createRoot());
    expect(
      await screen.findByText(/^The backend does not answer\./),
    ).toBeVisible();
    expect(screen.getByRole('alert')).toHaveTextContent(
      'The portal could not sign you in again',
    );
    await userEvent.click(await button('Try again'));
    await screen.findByText('The portal could not sign you in again');
    expect(localStorage.getItem('portal:guest')).toBe('anna');

    answer('anna/refresh', session('anna'));
    await userEvent.click(await button('Try again'));
    await firstPage();
  });

  it('goes on with the session that the OpenID provider still has', async () => {
    configure({ environment: 'production', providers: { oidc: {} } });
    answer('oidc/refresh', session('jane'));
    render(createPortalApp().createRoot());
    await firstPage();
    expect(calls[0]).toBe(
      `${AUTH}/oidc/refresh?optional&scope=openid%20profile%20email&env=production`,
    );
  });

  it.each([
    [404, 'NotFoundError'],
    // No session has ended: there was none.
    [401, 'AuthenticationError'],
  ])(
    'says why it failed (%d), and lets the user try again',
    async (status, name) => {
      configure({ providers: GUESTS });
      answer(
        'peter/refresh',
        {
          error: { name, message: 'No such user' },
          response: { statusCode: status },
        },
        status,
      );
      render(createPortalApp().createRoot());
      await userEvent.click(await button('Peter, of Initech'));
      expect(await screen.findByText('No such user')).toBeVisible();
      expect(screen.getByRole('alert')).toHaveTextContent('Signing in failed');
      expect(screen.queryByRole('link')).toBeNull();

      answer('peter/refresh', session('peter'));
      await userEvent.click(await button('Peter, of Initech'));
      await firstPage();
    },
  );

  it.each([200, 429, 500])(
    'quotes no page of a proxy that answers with %s',
    async status => {
      configure({ providers: GUESTS });
      answers.set(
        `${AUTH}/peter/refresh`,
        () => new Response('<html>nginx</html>', { status }),
      );
      render(createPortalApp().createRoot());
      await userEvent.click(await button('Peter, of Initech'));
      await screen.findByText('Signing in failed');
      expect(screen.getByRole('alert')).toHaveTextContent(
        `answered in place of the backend, with status ${status}`,
      );
    },
  );

  it('leaves the focus on the button while it waits', async () => {
    configure({ providers: GUESTS });
    let refuse = () => {};
    answers.set(
      `${AUTH}/peter/refresh`,
      () =>
        new Promise(resolve => {
          refuse = () => resolve(Response.json({ error: {} }, { status: 404 }));
        }),
    );
    render(createPortalApp().createRoot());
    const own = await button('Peter, of Initech');
    const other = await button('Anna, of Acme');
    await userEvent.click(own);
    expect(other).toBeDisabled();
    // A browser takes the focus from what is disabled.
    expect(own).toBeEnabled();
    refuse();
    await waitFor(() => expect(other).toBeEnabled());
    expect(own).toHaveFocus();
  });

  it('renews a token that is about to expire', async () => {
    configure({ providers: GUESTS });
    answer('guest/refresh', session('guest', 60));
    render(createPortalApp().createRoot());
    await userEvent.click(await button('Administrator'));
    await firstPage();
    const before = refreshesOf('guest');
    await userEvent.click(await button('Ask'));
    await waitFor(() => expect(refreshesOf('guest')).toBe(before + 1));
  });
});

describe('the navigation', () => {
  /** What the portal says of the tenant that is open. */
  const openTenant = (what: Partial<OpenTenant>) =>
    answers.set(`${BACKEND}/tenants/mine/current`, () =>
      Response.json({
        tenant_slug: 'acme',
        tenant_name: 'Acme',
        role: 'member',
        ownership_entity_refs: [],
        administers_tenants: false,
        named_by: 'header',
        base_domain: null,
        takes_locations: true,
        closed_plugins: [],
        own_tenants: {
          items: ['Acme', 'Initech'].map(name => ({
            tenant_slug: name.toLowerCase(),
            tenant_name: name,
            role: 'member' as const,
          })),
          totalItems: 2,
        },
        enabled: true,
        ...what,
      }),
    );

  /** The names in the sidebar of somebody who has signed in. */
  async function namesOf(): Promise<string[]> {
    configure({ providers: GUESTS });
    answer('anna/refresh', session('anna'));
    render(createPortalApp().createRoot());
    await userEvent.click(await button('Anna, of Acme'));
    await firstPage();
    const sidebar = within(
      screen.getByRole('navigation', { name: 'sidebar nav' }),
    );
    // In jsdom a later style wins over one that is important.
    const [hidden = 'none'] = [...document.querySelectorAll('style')].flatMap(
      ({ textContent }) =>
        textContent?.match(/^.*(?= { display: none !important; }$)/) ?? [],
    );
    const isHidden = (each: HTMLElement) => each.matches(hidden);
    return [...sidebar.getAllByRole('link'), ...sidebar.getAllByRole('button')]
      .filter(each => !isHidden(each))
      .map(each => each.getAttribute('aria-label') ?? each.textContent!);
  }

  it('has the pages, the catalog first and the settings last', async () => {
    openTenant({ administers_tenants: true });
    expect(await namesOf()).toEqual([
      'A portal, Home',
      'Catalog',
      'APIs',
      'Register',
      'Tenants',
      'Settings',
      expect.stringContaining('Acme'),
      'Search',
    ]);
  });

  it('leaves out what the open tenant cannot do', async () => {
    openTenant({ closed_plugins: ['search'], takes_locations: false });
    expect(await namesOf()).toEqual([
      'A portal, Home',
      'Catalog',
      'APIs',
      'Settings',
      expect.stringContaining('Acme'),
    ]);
  });
});
