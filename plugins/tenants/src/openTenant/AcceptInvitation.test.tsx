import { renderInTestApp } from '@backstage/frontend-test-utils';
import { act, screen } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { refusal, seriousProblems } from '@internal/pages/testUtils';
import type { TenantsApi } from 'backstage-plugin-tenants-common';
import { tenantsApiRef } from '../api';
import { pageNavigation } from './OpenTenantContext';
import { OpenTenantRoot } from './OpenTenantRoot';
import { BrowserPageTenant, pageTenantApiRef } from './PageTenant';

const open = jest.spyOn(pageNavigation, 'open').mockImplementation(() => {});
const api = {
  acceptInvitation: jest.fn(),
  getOpenTenant: jest.fn(async () => {
    throw new Error('no tenant is opened before');
  }),
};

async function render() {
  window.history.pushState({}, '', '/invitation#the-token');
  await renderInTestApp(
    <OpenTenantRoot>
      <p>App</p>
    </OpenTenantRoot>,
    {
      apis: [
        [tenantsApiRef, api as unknown as TenantsApi],
        [pageTenantApiRef, new BrowserPageTenant()],
      ],
    },
  );
}

const accept = async () =>
  userEvent.click(await screen.findByRole('button', { name: 'Accept' }));

describe('the page of an invitation', () => {
  beforeEach(() => jest.clearAllMocks());
  afterEach(() => {
    jest.useRealTimers();
    window.history.pushState({}, '', '/');
    localStorage.clear();
  });

  it('accepts when one says so, whatever tenant was open, and opens the tenant', async () => {
    BrowserPageTenant.choose('globex');
    api.acceptInvitation.mockResolvedValue({
      tenant_slug: 'acme',
      tenant_name: 'Acme',
      role: 'viewer',
    });
    await render();
    expect(await seriousProblems()).toEqual([]);
    expect(api.acceptInvitation).not.toHaveBeenCalled();
    expect(api.getOpenTenant).not.toHaveBeenCalled();
    await accept();
    expect(api.acceptInvitation).toHaveBeenCalledWith(
      { token: 'the-token' },
      { tenantSlug: 'default' },
    );
    expect(open).toHaveBeenCalledWith('/');
    expect(new BrowserPageTenant().slug).toBe('acme');
  });

  it('says so where the portal takes long', async () => {
    api.acceptInvitation.mockReturnValue(new Promise(() => {}));
    await render();
    const button = await screen.findByRole('button', { name: 'Accept' });
    jest.useFakeTimers();
    act(() => button.click());
    act(() => jest.advanceTimersByTime(5_000));
    expect(screen.getByText(/has not answered yet/)).toBeVisible();
  });

  it('says what the portal says of one that can’t be accepted', async () => {
    api.acceptInvitation.mockRejectedValue(
      await refusal(404, 'NotFoundError', 'Ask for a new one'),
    );
    await render();
    await accept();
    expect(await screen.findByRole('alert')).toHaveTextContent(
      'Ask for a new one',
    );
    expect(screen.queryByText('App')).not.toBeInTheDocument();
  });
});
