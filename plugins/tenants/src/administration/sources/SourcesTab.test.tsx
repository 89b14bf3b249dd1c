import {
  discoveryApiRef,
  fetchApiRef,
  useApi,
} from '@backstage/frontend-plugin-api';
import { renderInTestApp } from '@backstage/frontend-test-utils';
import { act, screen, waitFor, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import type {
  ReadCatalogConfig,
  TenantsApi,
  TenantStatus,
} from 'backstage-plugin-tenants-common';
import { Link, Route, Routes } from 'react-router-dom';
import { tenantsApiRef } from '../../api';
import {
  mock,
  refusal,
  seriousProblems,
  statusOf,
} from '../__testUtils__/registry';
import { POLL_MS, usePolled } from '../tenant/usePolled';
import { loadState } from '../tenant/useTenant';
import { SourcesTab } from './SourcesTab';

/** As the page of a tenant has it. */
function Sources() {
  const tenantsApi = useApi(tenantsApiRef);
  const state = usePolled(
    () => loadState(tenantsApi, 'acme'),
    [tenantsApi],
    () => true,
  );
  return <SourcesTab tenant={{ slug: 'acme', name: 'Acme' }} state={state} />;
}

/** With the tab beside it. */
function Tabs() {
  return (
    <>
      <Link to="/members">Members</Link>
      <Routes>
        <Route path="/members" element={<p>The members</p>} />
        <Route path="*" element={<Sources />} />
      </Routes>
    </>
  );
}

const TARGET = 'https://git.example.com/acme.yaml';
const CONFIG: ReadCatalogConfig = {
  configured_by: 'registry',
  catalog: { locations: [{ type: 'url', target: TARGET }] },
  integrations: {},
  updated_at: '2026-11-20T10:00:00.000Z',
  updated_by: 'user:default/anna',
  etag: '"1"',
};
const STATUS = statusOf({ entities: 3 });

function errorResponse(status: number, name: string, message: string) {
  return new Response(
    JSON.stringify({
      error: { name, message },
      response: { statusCode: status },
    }),
    { status, headers: { 'Content-Type': 'application/json' } },
  );
}

async function render(
  options: {
    config?: Partial<ReadCatalogConfig>;
    status?: Partial<TenantStatus>;
    catalogUrl?: string;
    /** What is wrong with any location that is tried. */
    refusedTry?: string;
    /** Whether the engine answers only the second request for the locations. */
    startingEngine?: boolean;
  } = {},
) {
  const api = {
    getTenantStatus: jest.fn(async () => ({ ...STATUS, ...options.status })),
    getCatalogConfig: mock('getCatalogConfig', async () => ({
      ...CONFIG,
      ...options.config,
    })),
    putCatalogConfig: mock('putCatalogConfig', async (_slug, config) => ({
      ...CONFIG,
      ...config,
      etag: '"2"',
    })),
  };
  const registered = [
    {
      data: { id: 'x/1', type: 'url', target: 'https://people.example/a.yaml' },
    },
  ];
  const fetchMock = jest.fn(
    async (url: RequestInfo | URL, init?: RequestInit) => {
      if (init?.method === 'DELETE') {
        registered.pop();
      }
      if (init?.method === 'DELETE' || String(url).endsWith('/refresh')) {
        return new Response(null, { status: 204 });
      }
      if (init?.method === 'POST') {
        return options.refusedTry
          ? errorResponse(400, 'InputError', options.refusedTry)
          : new Response(JSON.stringify({ entities: [{ kind: 'API' }] }));
      }
      return new Response(JSON.stringify(registered), { status: 200 });
    },
  );
  if (options.startingEngine) {
    const message = "The catalog engine of 'acme' is starting";
    fetchMock.mockResolvedValueOnce(
      errorResponse(503, 'EngineUnavailableError', message),
    );
  }
  const { unmount } = await renderInTestApp(<Tabs />, {
    apis: [
      [tenantsApiRef, api as unknown as TenantsApi],
      [fetchApiRef, { fetch: fetchMock }],
      [
        discoveryApiRef,
        {
          getBaseUrl: async () =>
            options.catalogUrl ?? 'http://portal.example/api/catalog',
        },
      ],
    ],
    config: {
      app: { baseUrl: 'http://portal.example' },
      backend: { baseUrl: 'http://portal.example' },
    },
  });
  return { api, fetchMock, unmount };
}

const yaml = () =>
  screen.findByRole('textbox', { name: /Configuration as YAML/ });
const click = (name: string | RegExp) =>
  userEvent.click(screen.getByRole('button', { name }));
const add = async (target: string, kinds = '') => {
  const form = await screen.findByRole('form', { name: 'Add a location' });
  const [url, allowed] = within(form).getAllByRole('textbox');
  await userEvent.click(url);
  await userEvent.paste(target);
  if (kinds) {
    await userEvent.click(allowed);
    await userEvent.paste(kinds);
  }
  await userEvent.click(within(form).getByRole('button', { name: 'Add' }));
  // It is tried first.
  await waitFor(() =>
    expect(within(form).queryByRole('progressbar')).not.toBeInTheDocument(),
  );
};

/** The focus is on something, although the button that had it is gone. */
const expectFocus = () =>
  waitFor(() => expect(document.body).not.toHaveFocus());

describe('SourcesTab', () => {
  it.each([
    ['added', () => add('https://git.example.com/b.yaml')],
    [
      'typed',
      async () => {
        const form = await screen.findByRole('form', {
          name: 'Add a location',
        });
        await userEvent.type(within(form).getAllByRole('textbox')[0], 'https');
      },
    ],
  ])(
    'asks before a location that is %s and not saved is left',
    async (_, edit) => {
      await render();
      await edit();
      const leaveTab = () =>
        userEvent.click(
          screen.getByRole('link', { name: 'Members', hidden: true }),
        );
      await leaveTab();
      await userEvent.click(
        await screen.findByRole('button', { name: 'Stay' }),
      );
      expect(screen.queryByText('The members')).toBeNull();
      await leaveTab();
      await userEvent.click(
        await screen.findByRole('button', { name: 'Leave' }),
      );
      expect(await screen.findByText('The members')).toBeInTheDocument();
    },
  );

  it('adds a location, and saves it on top of what it has read', async () => {
    const { api } = await render();
    await add('https://git.example.com/b.yaml', 'User, Group');
    expect(
      await screen.findByText('https://git.example.com/b.yaml'),
    ).toBeVisible();
    expect(api.putCatalogConfig).not.toHaveBeenCalled();
    await click('Save');
    expect(await screen.findByText(/^Saved/)).toBeVisible();
    await expectFocus();
    expect(api.putCatalogConfig).toHaveBeenCalledWith(
      'acme',
      {
        catalog: {
          locations: [
            { type: 'url', target: TARGET },
            {
              type: 'url',
              target: 'https://git.example.com/b.yaml',
              rules: [{ allow: ['User', 'Group'] }],
            },
          ],
        },
      },
      { ifMatch: '"1"' },
    );
    // The next one is on top of what was saved.
    await click(`Remove the location ${TARGET}`);
    await expectFocus();
    await click('Save');
    await waitFor(() =>
      expect(api.putCatalogConfig).toHaveBeenLastCalledWith(
        'acme',
        expect.anything(),
        { ifMatch: '"2"' },
      ),
    );
  });

  it('keeps what is typed while it saves', async () => {
    const { api } = await render();
    await add('https://git.example.com/b.yaml');
    let answer = () => {};
    api.putCatalogConfig.mockImplementationOnce(
      (_slug, config) =>
        new Promise(resolve => {
          answer = () => resolve({ ...CONFIG, ...config, etag: '"2"' });
        }),
    );
    await click('Save');
    await add('https://git.example.com/c.yaml');
    answer();
    expect(await screen.findByText(/^Saved/)).toBeVisible();
    expect(screen.getByText('https://git.example.com/c.yaml')).toBeVisible();
    await click('Save');
    await waitFor(() =>
      expect(api.putCatalogConfig).toHaveBeenLastCalledWith(
        'acme',
        expect.anything(),
        { ifMatch: '"2"' },
      ),
    );
  });

  it('tries a location before it is added, and says what it has', async () => {
    const { fetchMock } = await render();
    await add('https://git.example.com/b.yaml');
    expect(
      await screen.findByText(/has 1 entity, and was added/),
    ).toBeVisible();
    expect(await seriousProblems()).toEqual([]);
    expect(fetchMock).toHaveBeenCalledWith(
      'http://portal.example/api/catalog/locations?dryRun=true',
      expect.objectContaining({
        method: 'POST',
        body: '{"type":"url","target":"https://git.example.com/b.yaml"}',
        headers: expect.objectContaining({ 'X-Tenant-Slug': 'acme' }),
      }),
    );
  });

  it('adds a location with an error only where one insists', async () => {
    await render({ refusedTry: 'NotFoundError: no such file' });
    await add('https://git.example.com/b.yaml');
    expect(await screen.findByRole('alert')).toHaveTextContent('no such file');
    expect(screen.queryByText('https://git.example.com/b.yaml')).toBeNull();
    await click('Add anyway');
    expect(screen.getByText('https://git.example.com/b.yaml')).toBeVisible();
    expect(screen.queryByRole('alert')).toBeNull();
    await expectFocus();
  });

  describe('the errors of sources', () => {
    const errorOf = (location: string, entity_ref: string) => ({
      location,
      entity_ref,
      message: `what is wrong with ${entity_ref}`,
      next_try_at: '2026-11-20T10:30:00.000Z',
    });
    const status = {
      source_errors: [
        errorOf(TARGET, 'location:default/generated-1'),
        errorOf('https://people.example/a.yaml', 'component:default/a b'),
        errorOf('https://discovered.example/', 'api:default/c d'),
      ],
      source_error_count: 25,
    };

    it('are at their locations, counted, and with when they are tried again', async () => {
      await render({ status });
      for (const target of [TARGET, 'https://people.example/a.yaml']) {
        const item = (await screen.findByText(target)).closest('li');
        expect(item).toHaveTextContent(/what is wrong with .*Next try: .*ago/);
      }
      expect(
        screen.getByText(/^https:\/\/discovered\.example\/ · api:default\/c d/),
      ).toBeVisible();
      expect(screen.getAllByText(/what is wrong with/)).toHaveLength(3);
      expect(
        screen.getByText('Engine is running, 25 errors in its sources'),
      ).toBeVisible();
      expect(screen.getByText('The first 3 errors are shown.')).toBeVisible();
    });

    it('are tried again on demand', async () => {
      const { api, fetchMock } = await render({ status });
      const item = (
        await screen.findByText('https://people.example/a.yaml')
      ).closest('li')!;
      const tryNow = within(item).getByRole('button', { name: 'Try now' });
      let answer = () => {};
      fetchMock.mockReturnValueOnce(
        new Promise(resolve => {
          answer = () => resolve(new Response(null, { status: 204 }));
        }),
      );
      await userEvent.click(tryNow);
      expect(within(item).getByRole('progressbar')).toBeVisible();
      // A browser takes the focus from what is disabled.
      expect(tryNow).toBeEnabled();
      answer();
      expect(
        await within(item).findByText('The engine tries again now.'),
      ).toBeVisible();
      expect(tryNow).toHaveFocus();
      expect(fetchMock).toHaveBeenCalledWith(
        'http://portal.example/api/catalog/refresh',
        expect.objectContaining({
          method: 'POST',
          body: '{"entityRef":"component:default/a b"}',
        }),
      );
      fetchMock.mockRejectedValueOnce(new TypeError('Failed to fetch'));
      await userEvent.click(tryNow);
      expect(
        await within(item).findByText(/^Not tried: The backend does not/),
      ).toBeVisible();
      api.getTenantStatus.mockResolvedValue(STATUS);
      act(() => screen.getByRole('button', { name: 'Refresh' }).click());
      await waitFor(() => expect(tryNow).not.toBeInTheDocument());
      await expectFocus();
    });
  });

  it('says at the location what the backend says of it, and keeps it', async () => {
    const { api } = await render();
    const message = "catalog.locations[1].target: the host 'x' is none of …";
    api.putCatalogConfig.mockRejectedValue(
      await refusal(400, 'InputError', message),
    );
    await add('https://x/b.yaml');
    await click('Save');
    expect(await screen.findByRole('alert')).toHaveTextContent(message);
    expect(
      screen.getByText('https://x/b.yaml').closest('li'),
    ).toHaveTextContent(message);
    expect(await yaml()).toBeInvalid();
  });

  describe('where somebody else has saved meanwhile', () => {
    const theirs: ReadCatalogConfig = {
      ...CONFIG,
      catalog: { locations: [{ type: 'url', target: 'https://theirs' }] },
      updated_by: 'user:default/peter',
      etag: '"9"',
    };
    const conflict = async () => {
      const { api } = await render();
      api.putCatalogConfig.mockRejectedValueOnce(
        await refusal(412, 'PreconditionFailedError', 'changed'),
      );
      await add('https://mine');
      api.getCatalogConfig.mockResolvedValue(theirs);
      await click('Save');
      return { api, alert: await screen.findByRole('alert') };
    };

    it('shows who, and what they changed, and keeps what one has typed', async () => {
      const { alert } = await conflict();
      expect(alert).toHaveTextContent('user:default/peter has changed');
      expect(within(alert).getByText(/https:\/\/theirs/)).toBeVisible();
      expect(within(alert).getByText(new RegExp(TARGET))).toBeVisible();
      expect(screen.getByText('https://mine')).toBeVisible();
      expect(
        screen.queryByRole('button', { name: 'Save' }),
      ).not.toBeInTheDocument();
    });

    it('says that one’s own is saved, where only its answer was lost', async () => {
      const { api } = await render();
      await add('https://mine');
      api.putCatalogConfig.mockImplementationOnce(async (_slug, config) => {
        api.getCatalogConfig.mockResolvedValue({
          ...CONFIG,
          ...config,
          etag: '"9"',
        });
        throw new TypeError('Failed to fetch');
      });
      await click('Save');
      await screen.findByRole('alert');
      api.putCatalogConfig.mockRejectedValueOnce(
        await refusal(412, 'PreconditionFailedError', 'changed'),
      );
      await click('Save');
      expect(await screen.findByText(/^Saved/)).toBeVisible();
      expect(screen.queryByRole('alert')).toBeNull();
    });

    it('saves one’s own over theirs only on demand', async () => {
      const { api } = await conflict();
      await click('Overwrite theirs with mine');
      expect(await screen.findByText(/^Saved/)).toBeVisible();
      expect(api.putCatalogConfig).toHaveBeenLastCalledWith(
        'acme',
        expect.objectContaining({
          catalog: {
            locations: [
              expect.objectContaining({ target: TARGET }),
              expect.objectContaining({ target: 'https://mine' }),
            ],
          },
        }),
        { ifMatch: '"9"' },
      );
    });

    it('takes theirs', async () => {
      await conflict();
      await click('Discard mine');
      expect(screen.getByText('https://theirs')).toBeVisible();
      expect(screen.queryByText('https://mine')).not.toBeInTheDocument();
      expect(screen.queryByRole('alert')).not.toBeInTheDocument();
      await expectFocus();
    });
  });

  it.each([
    [{ state: 'catalog_plugin' }, 'The catalog plugin of the portal feeds'],
    [{ state: 'unknown' }, 'This backend runs no engines'],
  ] as const)('offers nothing to configure where %j', async (status, said) => {
    const { api } = await render({ status });
    expect(await screen.findByText(new RegExp(said))).toBeVisible();
    expect(api.getCatalogConfig).not.toHaveBeenCalled();
    expect(screen.queryByRole('textbox')).not.toBeInTheDocument();
  });

  it('is read only where the operator configures the engine, and says where', async () => {
    await render({ config: { configured_by: 'operator' } });
    expect(
      await screen.findByText(/under tenancy\.tenants\.acme/),
    ).toBeVisible();
    expect(screen.queryByRole('textbox')).not.toBeInTheDocument();
  });

  describe('the registered locations', () => {
    it('are those of the tenant of the page, whichever tenant is open', async () => {
      const { fetchMock } = await render();
      expect(
        await screen.findByText('https://people.example/a.yaml'),
      ).toBeVisible();
      expect(fetchMock).toHaveBeenCalledWith(
        'http://portal.example/api/catalog/locations',
        expect.objectContaining({ headers: { 'X-Tenant-Slug': 'acme' } }),
      );
    });

    it('are read again by themselves until the engine that starts answers', async () => {
      jest.useFakeTimers({ doNotFake: ['queueMicrotask', 'nextTick'] });
      const { unmount } = await render({ startingEngine: true });
      await screen.findByText(/as soon as the catalog engine answers/);
      await act(() => jest.advanceTimersByTimeAsync(POLL_MS));
      expect(screen.getByText('https://people.example/a.yaml')).toBeVisible();
      unmount();
      jest.useRealTimers();
    });

    it('are not those of the tenant whose hostname the page is at', async () => {
      const { fetchMock } = await render({
        catalogUrl: 'http://globex.portal.example/api/catalog',
      });
      expect(
        await screen.findByText(/can’t ask for those of acme/),
      ).toBeVisible();
      expect(fetchMock).not.toHaveBeenCalled();
    });

    it('are removed once one has said yes', async () => {
      const { fetchMock } = await render();
      await screen.findByText('https://people.example/a.yaml');
      await click(/Remove the registered location/);
      const dialog = await screen.findByRole('dialog');
      expect(fetchMock).toHaveBeenCalledTimes(1);
      await userEvent.click(
        within(dialog).getByRole('button', { name: 'Remove' }),
      );
      await waitFor(() =>
        expect(fetchMock).toHaveBeenCalledWith(
          'http://portal.example/api/catalog/locations/x%2F1',
          { method: 'DELETE', headers: { 'X-Tenant-Slug': 'acme' } },
        ),
      );
      await screen.findByText(/Nobody has registered/);
      await expectFocus();
    });
  });
});
