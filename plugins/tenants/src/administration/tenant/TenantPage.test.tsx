import { act, screen, waitFor, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import {
  mockRegistry,
  openTenantOf,
  refusal,
  renderPages,
  seriousProblems,
  statusOf,
  tenantOf,
  usageOf,
} from '../__testUtils__/registry';
import { POLL_MS } from './usePolled';

const button = (name: string) => screen.getByRole('button', { name });
const findButton = (name: string) => screen.findByRole('button', { name });
const open = async (name: string) => {
  await userEvent.click(await findButton(name));
  return screen.findByRole('dialog');
};
const valueOf = async (term: string) =>
  (await screen.findByText(term)).closest('dt')!.nextElementSibling;

const OF_NO_ADMINISTRATOR = openTenantOf('default', {
  administers_tenants: false,
});

describe('the page of a tenant', () => {
  it('has no tab that it does not name, and says so', async () => {
    await renderPages(mockRegistry(), '/acme/nothing');
    expect(await screen.findByText(/not found/i)).toBeVisible();
  });

  afterEach(() => jest.useRealTimers());

  it('says what the engine does, and how full the tenant is', async () => {
    const api = mockRegistry();
    api.getTenantStatus.mockResolvedValue(
      statusOf({
        state: 'failed',
        reason: 'It has no token',
        lag_seconds: 60,
        last_error: 'No token yet',
        last_error_at: '2026-11-20T10:00:00.000Z',
      }),
    );
    api.getTenantUsage.mockResolvedValue(usageOf({ live_entities: 50_000 }));
    await renderPages(api, '/acme');
    expect(
      await screen.findByText(/It starts again within 5 minutes/),
    ).toBeVisible();
    expect(await valueOf('Why')).toHaveTextContent('It has no token');
    expect(await valueOf('Behind by')).toHaveTextContent('60 seconds');
    expect(await valueOf('Last error')).toHaveTextContent(
      /No token yet, .* \(Nov 20, 2026/,
    );
    expect(await valueOf('Entities')).toHaveTextContent(
      '50,000 of at most 50,000',
    );
    expect(screen.getByText(/The limit is reached/)).toBeVisible();
    expect(await seriousProblems()).toEqual([]);
  });

  it('shows the state of the engine where what the tenant holds cannot be read', async () => {
    const api = mockRegistry();
    api.getTenantUsage.mockRejectedValueOnce(new TypeError('Failed to fetch'));
    await renderPages(api, '/acme');
    await screen.findByText('The engine reads the sources of this tenant.');
    expect(await screen.findByRole('alert')).toHaveTextContent(
      'The limits and the use could not be read',
    );
    await userEvent.click(button('Try again'));
    expect(await screen.findByText('7 of at most 50,000')).toBeVisible();
  });

  it.each(['', 'sources', 'activity'])(
    'says on the tab /%s that the state cannot be read',
    async tab => {
      const api = mockRegistry();
      api.getTenantStatus.mockRejectedValue(new TypeError('Failed to fetch'));
      await renderPages(api, `/acme/${tab}`);
      expect(
        await screen.findAllByText('The state could not be read'),
      ).toHaveLength(1);
    },
  );

  it('looks for the first entities until they are there, and only while the page is visible', async () => {
    const api = mockRegistry();
    api.getTenantStatus.mockResolvedValue(statusOf({ entities: 0 }));
    const visibility = jest.spyOn(document, 'visibilityState', 'get');
    const show = (state: DocumentVisibilityState) =>
      act(async () => {
        visibility.mockReturnValue(state);
        document.dispatchEvent(new Event('visibilitychange'));
      });
    const wait = () => act(() => jest.advanceTimersByTimeAsync(POLL_MS));
    jest.useFakeTimers({ doNotFake: ['queueMicrotask', 'nextTick'] });
    try {
      const { unmount } = await renderPages(api, '/acme');
      expect(await screen.findByText('No entities yet')).toBeVisible();
      expect(screen.getByRole('link', { name: 'Add sources' })).toHaveAttribute(
        'href',
        expect.stringMatching(/\/acme\/sources$/),
      );
      const asked = () => api.getTenantStatus.mock.calls.length;
      const before = asked();
      await wait();
      expect(asked()).toBe(before + 1);
      await show('hidden');
      await wait();
      expect(asked()).toBe(before + 1);
      await show('visible');
      api.getTenantStatus.mockResolvedValue(statusOf({ entities: 3 }));
      await wait();
      expect(asked()).toBe(before + 2);
      expect(screen.getByText('3 entities have arrived.')).toBeVisible();
      await wait();
      expect(asked()).toBe(before + 2);
      unmount();
    } finally {
      visibility.mockRestore();
    }
  });

  it('pauses the engine once that is confirmed, and resumes it', async () => {
    const api = mockRegistry();
    await renderPages(api, '/acme');
    const dialog = await open('Pause engine');
    expect(api.pauseEngine).not.toHaveBeenCalled();
    api.getTenantStatus.mockResolvedValue(
      statusOf({ state: 'paused', paused_by: 'user:default/guest' }),
    );
    await userEvent.click(
      within(dialog).getByRole('button', { name: 'Pause' }),
    );
    expect(await findButton('Resume engine')).toBeVisible();
    expect(api.pauseEngine).toHaveBeenCalledWith('acme');
    expect(await valueOf('Paused by')).toHaveTextContent('user:default/guest');
    // Its button is gone.
    await waitFor(() =>
      expect(button('Resume engine').parentElement).toHaveFocus(),
    );
    expect(screen.getByText('The engine was paused.')).toBeVisible();
    const again = await open('Resume engine');
    api.getTenantStatus.mockResolvedValue(statusOf());
    await userEvent.click(
      within(again).getByRole('button', { name: 'Resume' }),
    );
    expect(await findButton('Pause engine')).toBeVisible();
    expect(api.resumeEngine).toHaveBeenCalledWith('acme');
  });

  it('says while it reads again that it does, but not where it looks by itself', async () => {
    const api = mockRegistry();
    api.getTenantStatus.mockResolvedValueOnce(statusOf({ entities: 0 }));
    const answers: { fail(): void; answer(): void }[] = [];
    api.getTenantStatus.mockImplementation(
      () =>
        new Promise((resolve, reject) =>
          answers.push({
            fail: () => reject(new TypeError('Failed to fetch')),
            answer: () => resolve(statusOf({ entities: 0 })),
          }),
        ),
    );
    jest.useFakeTimers({ doNotFake: ['queueMicrotask', 'nextTick'] });
    const { unmount } = await renderPages(api, '/acme');
    await screen.findByText('No entities yet');
    const refresh = button('Refresh');
    const look = () => act(() => jest.advanceTimersByTimeAsync(POLL_MS));
    await look();
    expect(answers).toHaveLength(1);
    expect(refresh).not.toHaveAttribute('data-pending');
    await act(async () => answers[0].fail());
    expect(screen.getByRole('alert')).toHaveTextContent(/does not answer/);
    await look();
    expect(answers).toHaveLength(2);
    expect(screen.getByRole('alert')).toHaveTextContent(/does not answer/);
    await act(async () => answers[1].fail());

    act(() => button('Try again').click());
    expect(answers).toHaveLength(3);
    expect(screen.getByRole('alert')).toHaveTextContent(/Trying again…/);
    expect(refresh).toHaveAttribute('data-pending');
    await act(async () => answers[2].answer());
    expect(screen.queryByRole('alert')).toBeNull();
    expect(refresh).not.toHaveAttribute('data-pending');
    unmount();
  });

  it('deletes only with the slug typed, and restores', async () => {
    const api = mockRegistry();
    await renderPages(api, '/acme');
    const dialog = await open('Delete tenant');
    const remove = within(dialog).getByRole('button', { name: 'Delete' });
    const typed = within(dialog).getByRole('textbox');
    expect(typed).toHaveFocus();
    expect(dialog).toHaveTextContent('After 365 days');
    for (const wrong of ['ACME{Enter}', ' acme{Enter}']) {
      await userEvent.clear(typed);
      await userEvent.type(typed, wrong);
      expect(remove).toBeDisabled();
    }
    expect(api.deleteTenant).not.toHaveBeenCalled();
    await userEvent.clear(typed);
    await userEvent.type(typed, 'acme');
    api.deleteTenant.mockRejectedValueOnce(
      await refusal(403, 'NotAllowedError', 'That is for administrators'),
    );
    await userEvent.click(remove);
    expect(await within(dialog).findByRole('alert')).toHaveTextContent(
      'You may not do this. That is for administrators',
    );
    expect(typed).toHaveValue('acme');
    api.getTenant.mockResolvedValue(
      tenantOf('acme', { deleted_at: '2026-11-21T10:00:00.000Z' }),
    );
    await userEvent.click(remove);
    expect(await screen.findByText('This tenant is deleted')).toBeVisible();
    expect(api.deleteTenant).toHaveBeenLastCalledWith('acme');
    // The button that had the focus is gone, and so is the next one.
    await waitFor(() => expect(document.body).not.toHaveFocus());
    api.getTenant.mockResolvedValue(tenantOf('acme'));
    await userEvent.click(button('Restore tenant'));
    await screen.findByText('Limits and use');
    expect(api.restoreTenant).toHaveBeenCalledWith('acme');
    await waitFor(() => expect(document.body).not.toHaveFocus());
  });

  it('changes what was edited, and nothing else', async () => {
    const api = mockRegistry();
    await renderPages(api, '/acme');
    const dialog = await open('Edit name and limits');
    const name = within(dialog).getByRole('textbox', { name: /^Name/ });
    await userEvent.clear(name);
    await userEvent.type(name, 'Acme Ltd');
    const limit = within(dialog).getByRole('textbox', { name: /^Maximum/ });
    await userEvent.clear(limit);
    const problem = 'max_entities must be an integer from 0 to 2147483647';
    api.updateTenant.mockRejectedValueOnce(
      await refusal(400, 'InputError', `Invalid changes: ${problem}, got null`),
    );
    await userEvent.click(within(dialog).getByRole('button', { name: 'Save' }));
    await waitFor(() => expect(limit).toBeInvalid());
    expect(dialog).toHaveTextContent(problem);
    await userEvent.type(limit, '50000');
    await userEvent.tab();
    expect(limit).toBeValid();
    api.updateTenant.mockRejectedValueOnce(new TypeError('Failed to fetch'));
    await userEvent.click(within(dialog).getByRole('button', { name: 'Save' }));
    await within(dialog).findByRole('alert');
    expect(name).toHaveValue('Acme Ltd');
    api.getTenant.mockResolvedValue(
      tenantOf('acme', { tenant_name: 'Acme Ltd' }),
    );
    await userEvent.click(within(dialog).getByRole('button', { name: 'Save' }));
    expect(
      await screen.findByRole('heading', { name: 'Acme Ltd' }),
    ).toBeVisible();
    expect(api.updateTenant).toHaveBeenLastCalledWith('acme', {
      tenant_name: 'Acme Ltd',
    });
  });

  it('shows the limits of the tenant, and changes them', async () => {
    const api = mockRegistry();
    await renderPages(api, '/acme');
    const configured = 'default of the portal';
    expect(await valueOf('Operations at once')).toHaveTextContent(configured);
    expect(await valueOf('Requests a second')).toHaveTextContent(configured);

    const dialog = await open('Edit name and limits');
    const field = (name: RegExp) =>
      within(dialog).getByRole('textbox', { name });
    const save = () =>
      userEvent.click(within(dialog).getByRole('button', { name: 'Save' }));
    await userEvent.type(field(/^Operations at once/), '3');
    await userEvent.type(field(/^Requests at once/), '1200');
    expect(await seriousProblems()).toEqual([]);
    await userEvent.type(field(/^Requests a second/), '50');
    const limits = { concurrency: 3, requests_per_second: 50, burst: 1200 };
    api.getTenant.mockResolvedValue(tenantOf('acme', limits));
    api.getTenantUsage.mockResolvedValue(usageOf(limits));
    await save();
    expect(await screen.findByText('50, 1,200 at once')).toBeVisible();
    expect(await valueOf('Operations at once')).toHaveTextContent('3');
    expect(api.updateTenant).toHaveBeenLastCalledWith('acme', limits);

    // Another dialog, whose empty fields take limits away.
    const again = await open('Edit name and limits');
    for (const name of [/^Requests a second/, /^Requests at once/]) {
      await userEvent.clear(within(again).getByRole('textbox', { name }));
    }
    api.getTenant.mockResolvedValue(tenantOf('acme', { concurrency: 3 }));
    api.getTenantUsage.mockResolvedValue(usageOf({ concurrency: 3 }));
    await userEvent.click(within(again).getByRole('button', { name: 'Save' }));
    await waitFor(() =>
      expect(api.updateTenant).toHaveBeenLastCalledWith('acme', {
        requests_per_second: null,
        burst: null,
      }),
    );
    await waitFor(async () =>
      expect(await valueOf('Requests a second')).toHaveTextContent(configured),
    );
  });

  it('neither deletes the default tenant nor pauses an engine of it', async () => {
    const api = mockRegistry();
    api.getTenantStatus.mockResolvedValue(
      statusOf({ state: 'catalog_plugin' }),
    );
    await renderPages(api, '/default');
    expect(
      await screen.findByText(/The default tenant cannot be deleted/),
    ).toBeVisible();
    for (const name of ['Delete tenant', 'Pause engine']) {
      expect(screen.queryByRole('button', { name })).toBeNull();
    }
  });

  it('shows an admin of the tenant its state, and nothing that they may not', async () => {
    const api = mockRegistry();
    api.listOwnTenants.mockResolvedValue({
      items: [{ tenant_slug: 'acme', tenant_name: 'Acme', role: 'admin' }],
      totalItems: 1,
    });
    await renderPages(api, '/acme', OF_NO_ADMINISTRATOR);
    expect(
      await screen.findByText('The engine reads the sources of this tenant.'),
    ).toBeVisible();
    expect(screen.getByRole('heading', { name: 'Acme' })).toBeVisible();
    expect(screen.getByRole('link', { name: 'Members' })).toBeVisible();
    expect(await screen.findByText('7 of at most 50,000')).toBeVisible();
    expect(await valueOf('Operations at once')).toHaveTextContent(
      'default of the portal',
    );
    for (const name of ['Delete tenant', 'Pause engine', /^Edit/, /^Take/]) {
      expect(screen.queryByRole('button', { name })).toBeNull();
    }
    // It would be refused, which the console of the browser tells about.
    expect(api.getTenant).not.toHaveBeenCalled();
  });

  it('is for those who do not administer it as if it were missing', async () => {
    const api = mockRegistry();
    api.getTenant.mockRejectedValue(await refusal(403, 'NotAllowedError', ''));
    await renderPages(api, '/acme', OF_NO_ADMINISTRATOR);
    expect(await screen.findByRole('alert')).toHaveTextContent(
      'There is no tenant “acme”It does not exist, or you may not see it.',
    );
    expect(screen.getByRole('link', { name: 'All tenants' })).toBeVisible();
  });
});
