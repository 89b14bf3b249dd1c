import {
  configApiRef,
  identityApiRef,
  useApi,
} from '@backstage/frontend-plugin-api';
import {
  renderInTestApp,
  TestApiProvider,
} from '@backstage/frontend-test-utils';
import { catalogApiRef } from '@backstage/plugin-catalog-react';
import { act, cleanup, screen, waitFor, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import axe from 'axe-core';
import type { Membership, OpenTenant } from 'backstage-plugin-tenants-common';
import type { ReactNode } from 'react';
import useAsync from 'react-use/esm/useAsync';
import { tenantsApiRef } from '../api';
import { failureOf, openTenantOf } from './__testUtils__/openTenant';
import { worksIn } from './ClosedLinks';
import { pageNavigation } from './OpenTenantContext';
import { OpenTenantRoot } from './OpenTenantRoot';
import {
  BrowserPageTenant,
  createTenantStorage,
  pageTenantApiRef,
} from './PageTenant';
import { rememberTenant } from './rememberedTenant';

const ACME = openTenantOf('acme', {
  tenant_name: 'Acme',
  role: 'member',
  administers_tenants: false,
});

const membership = (slug: string): Membership => ({
  tenant_slug: slug,
  tenant_name: slug[0].toUpperCase() + slug.slice(1),
  role: 'member',
});

const ownTenants = (...slugs: string[]) => ({
  items: slugs.map(membership),
  totalItems: slugs.length,
});

const adminOf = (slug: string) => ({
  items: [{ ...membership(slug), role: 'admin' as const }],
  totalItems: 1,
});

const refusal = () => failureOf(403, '{"error":"Invalid tenant"}');

const tenantsApi = { getOpenTenant: jest.fn(), listOwnTenants: jest.fn() };
const open = jest.spyOn(pageNavigation, 'open').mockImplementation(() => {});
const reload = jest
  .spyOn(pageNavigation, 'reload')
  .mockImplementation(() => {});

/** The tenants that the user may enter, as the backend gives them by pages. */
const list = (...slugs: string[]) => {
  tenantsApi.getOpenTenant.mockImplementation(async () => ({
    ...ACME,
    own_tenants: ownTenants(...slugs),
  }));
  tenantsApi.listOwnTenants.mockImplementation(
    async ({ limit = 100, offset = 0 }) => ({
      items: slugs.slice(offset, offset + limit).map(membership),
      totalItems: slugs.length,
    }),
  );
};

const identityApi = {
  getBackstageIdentity: async () => ({
    type: 'user' as const,
    userEntityRef: 'user:default/test',
    ownershipEntityRefs: ['user:default/test'],
  }),
  getProfileInfo: async () => ({}),
  getCredentials: async () => ({}),
  signOut: async () => {},
};

async function render(
  children: ReactNode,
  pageTenant = new BrowserPageTenant(),
  apis: [typeof catalogApiRef, object][] = [],
) {
  await renderInTestApp(
    <TestApiProvider
      apis={[
        [identityApiRef, identityApi],
        [tenantsApiRef, tenantsApi],
        [pageTenantApiRef, pageTenant],
        ...apis,
      ]}
    >
      <OpenTenantRoot>{children}</OpenTenantRoot>
    </TestApiProvider>,
  );
  return pageTenant;
}

const expectAccessible = async () => {
  const { violations } = await axe.run(document.body, {
    rules: { 'color-contrast': { enabled: false }, region: { enabled: false } },
  });
  expect(violations.map(({ id, nodes }) => [id, nodes[0].html])).toEqual([]);
};

beforeEach(() => {
  jest.clearAllMocks();
  localStorage.clear();
  BrowserPageTenant.choose('acme');
  tenantsApi.getOpenTenant.mockReset();
  list('acme', 'default', 'initech');
});

describe('the name of the organization', () => {
  function Organization() {
    const config = useApi(configApiRef);
    return (
      <p>
        {config.getOptionalString('organization.name') ?? 'none'} at{' '}
        {config.getString('app.baseUrl')}
      </p>
    );
  }

  it.each([
    [{}, 'Acme at http://localhost:3000'],
    [{ tenant_slug: 'default' }, 'none at http://localhost:3000'],
    [{ enabled: false }, 'none at http://localhost:3000'],
  ])('is that of the open tenant: %p', async (tenant, shown) => {
    if (Object.keys(tenant).length > 0) {
      BrowserPageTenant.choose(undefined);
    }
    tenantsApi.getOpenTenant.mockResolvedValue({ ...ACME, ...tenant });
    await render(<Organization />);
    expect(await screen.findByText(shown)).toBeInTheDocument();
  });
});

describe('what the user owns', () => {
  function Owned() {
    const api = useApi(identityApiRef);
    const { value } = useAsync(() => api.getBackstageIdentity());
    return value ? <p>Owned: {value.ownershipEntityRefs.join()}</p> : null;
  }

  const ofTenant = {
    ownership_entity_refs: ['user:default/a', 'group:default/b'],
  };

  it('is what the open tenant says', async () => {
    tenantsApi.getOpenTenant.mockResolvedValue({ ...ACME, ...ofTenant });
    await render(<Owned />);
    expect(
      await screen.findByText('Owned: user:default/a,group:default/b'),
    ).toBeInTheDocument();
  });

  it.each([{ tenant_slug: 'default' }, { enabled: false }])(
    'is what the sign-in says with %p',
    async tenant => {
      BrowserPageTenant.choose(undefined);
      list('default');
      tenantsApi.getOpenTenant.mockResolvedValue({
        ...ACME,
        ...ofTenant,
        ...tenant,
      });
      await render(<Owned />);
      expect(
        await screen.findByText('Owned: user:default/test'),
      ).toBeInTheDocument();
    },
  );
});

describe('the entity of the user', () => {
  const catalogApi = {
    getEntityByRef: jest.fn(async () => undefined),
    getEntitiesByRefs: jest.fn(async () => ({ items: [undefined] })),
  };

  function Shown({ entityRef }: { entityRef: string }) {
    const api = useApi(catalogApiRef);
    const { loading } = useAsync(() => api.getEntityByRef(entityRef));
    return loading ? null : <p>Shown</p>;
  }

  it.each([
    [{}, 'user:default/TEST', 'getEntitiesByRefs'],
    [{}, 'user:default/other', 'getEntityByRef'],
    [{ tenant_slug: 'default' }, 'user:default/test', 'getEntityByRef'],
  ] as const)(
    'is asked for without an error, where it is missing in %p: %s',
    async (tenant, entityRef, asked) => {
      if ('tenant_slug' in tenant) {
        BrowserPageTenant.choose(undefined);
        list('default');
      }
      tenantsApi.getOpenTenant.mockResolvedValue({ ...ACME, ...tenant });
      await render(<Shown entityRef={entityRef} />, new BrowserPageTenant(), [
        [catalogApiRef, catalogApi],
      ]);
      await screen.findByText('Shown');
      const calls = Object.entries(catalogApi).filter(
        ([, { mock }]) => mock.calls.length > 0,
      );
      expect(calls.map(([name]) => name)).toEqual([asked]);
    },
  );
});

describe('a page, before its tenant is known', () => {
  it('shows nothing of the app', async () => {
    let answer: (tenant: OpenTenant) => void = () => {};
    tenantsApi.getOpenTenant.mockReturnValue(
      new Promise(resolve => {
        answer = resolve;
      }),
    );
    await render(<p>App</p>);
    expect(screen.queryByText('App')).not.toBeInTheDocument();
    expect(
      screen.getByRole('status', { name: 'Loading…' }),
    ).toBeInTheDocument();
    await act(async () => answer(ACME));
    expect(screen.getByText('App')).toBeInTheDocument();
  });

  it('loads itself again, once, for the only tenant of its user', async () => {
    BrowserPageTenant.choose(undefined);
    tenantsApi.getOpenTenant.mockResolvedValue({
      ...ACME,
      own_tenants: ownTenants('acme', 'default'),
      tenant_slug: 'default',
      named_by: 'default',
    });
    await render(<p>App</p>);
    await waitFor(() => expect(reload).toHaveBeenCalledTimes(1));
    expect(new BrowserPageTenant().slug).toBe('acme');
    expect(screen.queryByText('App')).not.toBeInTheDocument();
  });

  it('is open at once where its user was there before, and asks once for what has changed', async () => {
    await render(<p>App</p>);
    await screen.findByText('App');
    expect(tenantsApi.getOpenTenant).toHaveBeenCalledTimes(1);
    cleanup();
    let answer: (tenant: OpenTenant) => void = () => {};
    tenantsApi.getOpenTenant.mockClear().mockReturnValue(
      new Promise(resolve => {
        answer = resolve;
      }),
    );
    await render(<p>App</p>);
    expect(await screen.findByText('Acme')).toBeInTheDocument();
    await act(async () => answer({ ...ACME, tenant_name: 'Acme Inc.' }));
    expect(await screen.findByText('Acme Inc.')).toBeInTheDocument();
    expect(tenantsApi.getOpenTenant).toHaveBeenCalledTimes(1);
    expect(tenantsApi.listOwnTenants).not.toHaveBeenCalled();
  });

  it('is closed where the portal has refused it since', async () => {
    await render(<p>App</p>);
    await screen.findByText('App');
    cleanup();
    tenantsApi.getOpenTenant.mockRejectedValue(await refusal());
    await render(<p>App</p>);
    expect(
      await screen.findByRole('heading', {
        name: 'You may not enter this tenant',
      }),
    ).toBeInTheDocument();
    expect(screen.queryByText('App')).not.toBeInTheDocument();
    cleanup();
    tenantsApi.getOpenTenant.mockReturnValue(new Promise(() => {}));
    await render(<p>App</p>);
    expect(screen.queryByText('App')).not.toBeInTheDocument();
  });

  it.each([
    { user: 'user:default/somebody-else', slug: 'acme' },
    { user: 'user:default/test', slug: 'initech' },
  ])('is not open at once for %j', async asked => {
    rememberTenant(asked, ACME);
    tenantsApi.getOpenTenant.mockReturnValue(new Promise(() => {}));
    await render(<p>App</p>);
    expect(screen.queryByText('App')).not.toBeInTheDocument();
  });

  it('does not load itself for ever where the browser stores nothing', async () => {
    BrowserPageTenant.choose(undefined);
    tenantsApi.getOpenTenant.mockResolvedValue({
      ...ACME,
      own_tenants: ownTenants('acme', 'default'),
      tenant_slug: 'default',
      named_by: 'default',
    });
    const { setItem } = Storage.prototype;
    const store = jest
      .spyOn(Storage.prototype, 'setItem')
      .mockImplementation(function set(this: Storage, key, value) {
        if (key.startsWith('backstage-plugin-tenants')) {
          throw new DOMException('No storage');
        }
        setItem.call(this, key, value);
      });
    try {
      await render(<p>App</p>);
      expect(await screen.findByRole('alert')).toHaveTextContent(
        /Allow this site to store data/,
      );
      expect(reload).not.toHaveBeenCalled();
    } finally {
      store.mockRestore();
    }
  });

  it('goes to the hostname of the tenant that was chosen, where there are hostnames', async () => {
    tenantsApi.getOpenTenant.mockResolvedValue({
      ...ACME,
      base_domain: 'portal.example',
    });
    await render(<p>App</p>);
    await waitFor(() =>
      expect(open.mock.calls).toEqual([['http://acme.portal.example/']]),
    );
    expect(new BrowserPageTenant().slug).toBeUndefined();
  });
});

describe('somebody who may not enter the tenant of the page', () => {
  it('chooses another one', async () => {
    list('default', 'initech');
    tenantsApi.getOpenTenant.mockRejectedValue(await refusal());
    await render(<p>App</p>);
    expect(
      await screen.findByRole('heading', {
        name: 'You may not enter this tenant',
      }),
    ).toBeInTheDocument();
    expect(screen.getByText(/the tenant “acme”/)).toBeInTheDocument();
    await expectAccessible();
    await userEvent.click(screen.getByRole('button', { name: 'Initech' }));
    expect(new BrowserPageTenant().slug).toBe('initech');
    expect(open.mock.calls).toEqual([['/']]);
  });

  it('is told what to do where there is none, and can sign out', async () => {
    list();
    tenantsApi.getOpenTenant.mockRejectedValue(await refusal());
    await render(<p>App</p>);
    expect(
      await screen.findByRole('heading', {
        name: 'You may not enter any tenant',
      }),
    ).toBeInTheDocument();
    expect(screen.getByText(/Ask an administrator/)).toBeInTheDocument();
    expect(await screen.findByText(/signed in as user:/)).toBeInTheDocument();
    expect(screen.getByRole('button', { name: 'Sign out' })).toBeEnabled();
    expect(screen.queryByText('App')).not.toBeInTheDocument();
  });
});

describe('a page whose tenant is refused while it is open', () => {
  const form = <input aria-label="Note" />;

  it('says so over what is there, and keeps what was typed', async () => {
    const pageTenant = await render(form);
    await userEvent.type(await screen.findByLabelText('Note'), 'typed');
    act(() => pageTenant.refuse());
    const dialog = await screen.findByRole('dialog', {
      name: 'You can no longer enter Acme',
    });
    expect(dialog).toHaveTextContent(
      /may have been deleted, or you may no longer be a member/,
    );
    await within(dialog).findByRole('button', { name: 'Initech' });
    await userEvent.click(
      within(dialog).getByRole('button', { name: 'Stay on this page' }),
    );
    expect(screen.getByLabelText('Note')).toHaveValue('typed');
    expect(screen.getByRole('alert')).toHaveTextContent(
      'You can no longer enter Acme',
    );
    await userEvent.click(
      screen.getByRole('button', { name: 'Open another tenant' }),
    );
    await userEvent.click(
      await screen.findByRole('button', { name: 'Initech' }),
    );
    expect(new BrowserPageTenant().slug).toBe('initech');
  });

  it('goes on where the portal lets it in again', async () => {
    const pageTenant = await render(form);
    await screen.findByLabelText('Note');
    tenantsApi.listOwnTenants.mockRejectedValueOnce(new TypeError('No answer'));
    act(() => pageTenant.refuse());
    expect(
      await screen.findByText('Your other tenants could not be listed'),
    ).toBeVisible();
    await userEvent.click(screen.getByRole('button', { name: 'Try again' }));
    expect(
      await screen.findByRole('button', { name: 'Initech' }),
    ).toBeVisible();
    tenantsApi.getOpenTenant.mockRejectedValueOnce(await refusal());
    const check = await screen.findByRole('button', { name: 'Check again' });
    await userEvent.click(check);
    expect(await screen.findByText(/still refuses/)).toBeInTheDocument();
    await userEvent.click(check);
    expect(await screen.findByLabelText('Note')).toBeInTheDocument();
    expect(screen.queryByRole('alert')).not.toBeInTheDocument();
  });
});

describe('other pages of the browser', () => {
  const change = (key: string | null) =>
    act(() => {
      window.dispatchEvent(new StorageEvent('storage', { key }));
    });

  it('load their first page where another tenant was chosen', async () => {
    await render(<p>App</p>);
    BrowserPageTenant.choose('initech');
    change('something else');
    expect(open).not.toHaveBeenCalled();
    change('backstage-plugin-tenants.tenant');
    expect(open.mock.calls).toEqual([['/']]);
  });

  it('stay where the same tenant was chosen', async () => {
    await render(<p>App</p>);
    BrowserPageTenant.choose('acme');
    change('backstage-plugin-tenants.tenant');
    change(null);
    expect(open).not.toHaveBeenCalled();
  });

  it('do so too where they are shown again by the button to go back', async () => {
    await render(<p>App</p>);
    BrowserPageTenant.choose('initech');
    act(() => {
      window.dispatchEvent(new Event('pageshow'));
    });
    expect(open.mock.calls).toEqual([['/']]);
  });

  it('keep naming the tenant that they were loaded for', async () => {
    const pageTenant = new BrowserPageTenant();
    BrowserPageTenant.choose('initech');
    expect(pageTenant.slug).toBe('acme');
  });
});

describe('the storage of the browser', () => {
  const starred = (slug?: string) =>
    createTenantStorage({
      errorApi: { post: jest.fn(), error$: jest.fn() },
      pageTenant: { slug },
    }).forBucket('starredEntities');

  it('keeps what is starred in one tenant from another', async () => {
    await starred('acme').set('refs', ['component:default/secret']);
    expect(starred('initech').snapshot('refs').presence).toBe('absent');
    expect(starred().snapshot('refs').presence).toBe('absent');
    expect(starred('acme').snapshot('refs').value).toEqual([
      'component:default/secret',
    ]);
  });

  it('gives the default tenant what there was before there were others', async () => {
    localStorage.setItem('/starredEntities/refs', '["component:default/old"]');
    for (const slug of [undefined, 'default']) {
      expect(starred(slug).snapshot('refs').value).toEqual([
        'component:default/old',
      ]);
    }
  });
});

describe('the name of the tenant', () => {
  const menu = { name: 'Tenant Acme. Open another tenant' };

  it('is above the page, once, unless the app shows it', async () => {
    await render(<p>App</p>);
    expect(await screen.findAllByRole('button', menu)).toHaveLength(1);
  });

  it('opens a list that is searched and operated by the keyboard', async () => {
    await render(<p>App</p>);
    (await screen.findByRole('button', menu)).focus();
    await userEvent.keyboard('{Enter}');
    const options = await screen.findAllByRole('option');
    expect(options.map(({ textContent }) => textContent)).toEqual([
      'Acme',
      'Default',
      'Initech',
    ]);
    expect(options[0]).toHaveAttribute('aria-selected', 'true');
    expect(
      screen.getByRole('searchbox', { name: 'Find a tenant' }),
    ).toHaveFocus();
    await userEvent.keyboard('ini{ArrowDown}{Enter}');
    expect(new BrowserPageTenant().slug).toBe('initech');
    expect(open.mock.calls).toEqual([['/']]);
  });
});

describe('a page', () => {
  it.each<[string, Partial<OpenTenant>, boolean]>([
    ['catalog', {}, true],
    ['search', { closed_plugins: ['search'] }, false],
    ['search', { closed_plugins: ['scaffolder'] }, true],
    ['user-settings', { closed_plugins: ['user-settings'] }, true],
    ['catalog-import', {}, true],
    ['catalog-import', { takes_locations: false }, false],
    ['devtools', {}, false],
    ['devtools', { administers_tenants: true }, true],
    ['tenants', {}, false],
    ['tenants', { role: 'admin' }, true],
    ['tenants', { own_tenants: ownTenants('initech') }, false],
    ['tenants', { own_tenants: adminOf('initech') }, true],
    ['tenants', { administers_tenants: true }, true],
  ])('of %s, with %j, works: %s', (pluginId, changes, expected) => {
    expect(worksIn({ ...ACME, ...changes }, pluginId)).toBe(expected);
  });
});

describe('a plugin that the open tenant does not have', () => {
  it('is asked for by no page, whether the portal has answered or is remembered', async () => {
    const tenant = { ...ACME, closed_plugins: ['search'] };
    tenantsApi.getOpenTenant.mockResolvedValue(tenant);
    const pageTenant = await render(<p>App</p>);
    await screen.findByText('App');
    expect(pageTenant.closedPlugins).toEqual(['search']);
    cleanup();

    tenantsApi.getOpenTenant.mockReturnValue(new Promise(() => {}));
    const next = await render(<p>App</p>);
    await screen.findByText('App');
    expect(next.closedPlugins).toEqual(['search']);
  });
});
