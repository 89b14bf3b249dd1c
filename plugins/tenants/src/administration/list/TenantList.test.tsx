import { act, screen, waitFor, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import type { Page, TenantSummary } from 'backstage-plugin-tenants-common';
import {
  mockRegistry,
  openTenantOf,
  refusal,
  renderPages,
  seriousProblems,
  summaryOf,
} from '../__testUtils__/registry';

const searchField = () => screen.getByRole('searchbox', { name: 'Search' });
const rowOf = (name: string) => screen.findByRole('row', { name });
const page = (...items: TenantSummary[]): Page<TenantSummary> => ({
  items,
  totalItems: items.length,
});

describe('the list of tenants', () => {
  afterEach(() => jest.useRealTimers());

  it('has of each tenant its name, slug, state, entities and age', async () => {
    const api = mockRegistry();
    api.listTenantSummaries.mockResolvedValue(
      page(
        summaryOf('acme', { entities: 1204 }),
        summaryOf('gone', { state: null, deleted_at: '2026-11-21T10:00:00Z' }),
        summaryOf('free', { max_entities: null, state: 'failed' }),
        summaryOf('broken', { source_error_count: 2 }),
      ),
    );
    await renderPages(api, '/');
    expect(screen.getByRole('main')).toContainElement(await rowOf('ACME'));
    expect(await rowOf('ACME')).toHaveTextContent(
      /ACMEacmeEngine is running1,204 of 50,000\d+ days ago/,
    );
    expect(await rowOf('GONE')).toHaveTextContent('Deleted');
    expect(await rowOf('FREE')).toHaveTextContent(
      /Engine has failed7, no limit/,
    );
    expect(await rowOf('BROKEN')).toHaveTextContent(
      'Engine is running, 2 errors in its sources',
    );
    // All are on one page.
    expect(screen.queryByRole('button', { name: 'Next page' })).toBeNull();
    expect(await seriousProblems()).toEqual([]);
  });

  it('asks once the typing pauses, and shows the answer to the last question alone', async () => {
    const api = mockRegistry();
    await renderPages(api, '/');
    await rowOf('ACME');
    const answers = new Map<
      string | undefined,
      (found: Page<TenantSummary>) => void
    >();
    api.listTenantSummaries.mockImplementation(
      query =>
        new Promise(resolve => {
          answers.set(query?.search, resolve);
        }),
    );
    jest.useFakeTimers();
    const user = userEvent.setup({ advanceTimers: jest.advanceTimersByTime });
    await user.type(searchField(), 'glo');
    expect(answers.size).toBe(0);
    await act(async () => jest.advanceTimersByTime(300));
    await user.type(searchField(), 'bex');
    await act(async () => jest.advanceTimersByTime(300));
    expect([...answers.keys()]).toEqual(['glo', 'globex']);
    await act(async () => answers.get('globex')!(page(summaryOf('globex'))));
    expect(await rowOf('GLOBEX')).toBeVisible();
    await act(async () => answers.get('glo')!(page(summaryOf('glory'))));
    expect(screen.getByRole('row', { name: 'GLOBEX' })).toBeVisible();
    expect(screen.queryByRole('row', { name: 'GLORY' })).toBeNull();
    expect(searchField()).toHaveValue('globex');
    expect(screen.getByText('1 tenant')).toBeInTheDocument();
  });

  it('pauses several at once, and keeps those chosen that failed', async () => {
    const api = mockRegistry();
    api.listTenantSummaries.mockResolvedValue(
      page(summaryOf('acme'), summaryOf('globex'), summaryOf('other')),
    );
    api.pauseEngine.mockImplementation(async slug => {
      if (slug === 'globex') {
        throw new TypeError('Failed to fetch');
      }
    });
    await renderPages(api, '/');
    for (const name of ['ACME', 'GLOBEX']) {
      const row = await rowOf(name);
      await userEvent.click(within(row).getByRole('checkbox'));
    }
    expect(screen.getByText('2 selected')).toBeVisible();
    await userEvent.click(
      screen.getByRole('button', { name: 'Pause engines' }),
    );
    const dialog = await screen.findByRole('dialog');
    expect(dialog).toHaveTextContent('ACME, GLOBEX');
    await userEvent.click(
      within(dialog).getByRole('button', { name: 'Pause engines' }),
    );
    expect(await within(dialog).findByRole('alert')).toHaveTextContent(
      'GLOBEX: The backend does not answer.',
    );
    expect(api.pauseEngine.mock.calls.map(([slug]) => slug)).toEqual([
      'acme',
      'globex',
    ]);
    await userEvent.click(
      within(dialog).getByRole('button', { name: 'Cancel' }),
    );
    expect(await screen.findByText('1 selected')).toBeVisible();
  });

  it('says that not all tenants may be searched for errors', async () => {
    const api = mockRegistry();
    api.listTenantSummaries.mockResolvedValue(page());
    await renderPages(api, '/?state=with_errors');
    expect(
      await screen.findByText(/some tenants may be missing/),
    ).toBeVisible();
  });

  it('deletes several only once their number is typed, and restores deleted ones', async () => {
    const api = mockRegistry();
    api.listTenantSummaries.mockResolvedValue(
      page(
        summaryOf('gone', { state: null, deleted_at: '2026-11-21T10:00:00Z' }),
      ),
    );
    await renderPages(api, '/?state=deleted');
    await userEvent.click(within(await rowOf('GONE')).getByRole('checkbox'));
    expect(screen.queryByRole('button', { name: 'Delete' })).toBeNull();
    await userEvent.click(screen.getByRole('button', { name: 'Restore' }));
    const dialog = await screen.findByRole('dialog');
    await userEvent.click(
      within(dialog).getByRole('button', { name: 'Restore' }),
    );
    await waitFor(() => expect(dialog).not.toBeInTheDocument());
    expect(api.restoreTenant).toHaveBeenCalledWith('gone');
    // What had the focus is gone with the selection.
    await waitFor(() =>
      expect(screen.getByRole('group', { name: 'Selection' })).toHaveFocus(),
    );

    api.listTenantSummaries.mockResolvedValue(page(summaryOf('acme')));
    await userEvent.type(searchField(), 'a');
    await userEvent.click(within(await rowOf('ACME')).getByRole('checkbox'));
    await userEvent.click(screen.getByRole('button', { name: 'Delete' }));
    const question = await screen.findByRole('dialog');
    const submit = within(question).getByRole('button', { name: 'Delete' });
    expect(submit).toBeDisabled();
    await userEvent.type(within(question).getByRole('textbox'), '1');
    await userEvent.click(submit);
    await waitFor(() => expect(api.deleteTenant).toHaveBeenCalledWith('acme'));
  });

  it('offers to create a tenant also where the others cannot be read', async () => {
    const api = mockRegistry();
    api.listTenantSummaries.mockRejectedValue(new TypeError('No answer'));
    await renderPages(api, '/');
    expect(await screen.findByRole('alert')).toHaveTextContent(
      'The tenants could not be read',
    );
    expect(screen.getByRole('button', { name: 'Create tenant' })).toBeVisible();
  });

  it('has for an admin of some tenants those alone', async () => {
    const api = mockRegistry();
    api.listOwnTenants.mockResolvedValue({
      items: [
        { tenant_slug: 'acme', tenant_name: 'Acme', role: 'admin' },
        { tenant_slug: 'other', tenant_name: 'Other', role: 'member' },
      ],
      totalItems: 2,
    });
    await renderPages(
      api,
      '/',
      openTenantOf('default', { administers_tenants: false }),
    );
    expect(await rowOf('Acme')).toBeVisible();
    // It would be refused, which the console of the browser tells about.
    expect(api.listTenantSummaries).not.toHaveBeenCalled();
    expect(
      screen.getByRole('heading', { name: 'Tenants that you administer' }),
    ).toBeVisible();
    expect(screen.queryByText('Other')).toBeNull();
    expect(screen.queryByRole('button', { name: 'Create tenant' })).toBeNull();
    expect(screen.queryByRole('button', { name: /State/ })).toBeNull();
    expect(screen.queryByRole('checkbox')).toBeNull();
  });
});

describe('a new tenant', () => {
  const field = (name: RegExp) => screen.getByRole('textbox', { name });
  const open = async (api: ReturnType<typeof mockRegistry>) => {
    await renderPages(api, '/');
    await userEvent.click(
      await screen.findByRole('button', { name: 'Create tenant' }),
    );
    return screen.findByRole('dialog', { name: 'Create a tenant' });
  };
  const submit = () =>
    userEvent.click(screen.getByRole('button', { name: 'Create' }));

  it('gets a slug from its name, until one is typed', async () => {
    const api = mockRegistry();
    const dialog = await open(api);
    expect(field(/^Name/)).toHaveFocus();
    await userEvent.type(field(/^Name/), 'Müller & Co.');
    expect(field(/^Slug/)).toHaveValue('muller-co');
    await userEvent.clear(field(/^Slug/));
    await userEvent.type(field(/^Slug/), 'mueller');
    await userEvent.type(field(/^Name/), ' KG');
    expect(field(/^Slug/)).toHaveValue('mueller');
    expect(await seriousProblems()).toEqual([]);
    await submit();
    await waitFor(() => expect(dialog).not.toBeInTheDocument());
    expect(api.createTenant).toHaveBeenCalledWith(
      { tenant_name: 'Müller & Co. KG', tenant_slug: 'mueller' },
      { idempotencyKey: expect.any(String) },
    );
    // Its page.
    expect(api.getTenant).toHaveBeenCalledWith('mueller');
  });

  it('is in the list where only the answer was lost, and is the same at the next attempt', async () => {
    const api = mockRegistry();
    const dialog = await open(api);
    await userEvent.type(field(/^Name/), 'Globex');
    api.createTenant.mockRejectedValueOnce(new TypeError('Failed to fetch'));
    api.listTenantSummaries.mockResolvedValue(page(summaryOf('globex')));
    await submit();
    expect(await within(dialog).findByRole('alert')).toHaveTextContent(
      /Creating the tenant failed.*It may have done this all the same/,
    );
    expect(
      await screen.findByRole('row', { name: 'GLOBEX', hidden: true }),
    ).toBeInTheDocument();
    await submit();
    await waitFor(() => expect(dialog).not.toBeInTheDocument());
    const [lost, again] = api.createTenant.mock.calls;
    expect(again).toEqual(lost);
  });

  it.each([
    [
      409,
      "The slug 'acme' is taken by a deleted tenant, which can be restored",
      /^Slug/,
    ],
    [
      400,
      'Invalid tenant: tenant_name must be a text of 1 to 255 characters, got "x"',
      /^Name/,
    ],
  ])(
    'has what the backend refuses (%d) at its field',
    async (status, message, at) => {
      const api = mockRegistry();
      api.createTenant.mockRejectedValue(
        await refusal(status, 'Error', message),
      );
      await open(api);
      await userEvent.type(field(/^Name/), 'Acme');
      await submit();
      await waitFor(() => expect(field(at)).toBeInvalid());
      expect(field(at)).toHaveAccessibleDescription(
        expect.stringContaining(message.replace('Invalid tenant: ', '')),
      );
      expect(field(/^Name/)).toHaveValue('Acme');
      expect(screen.queryByRole('alert')).toBeNull();
    },
  );
});
