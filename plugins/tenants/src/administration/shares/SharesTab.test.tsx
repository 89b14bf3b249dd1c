import { renderInTestApp } from '@backstage/frontend-test-utils';
import { screen, waitFor, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import axe from 'axe-core';
import type { TenantsApi, TenantShares } from 'backstage-plugin-tenants-common';
import { tenantsApiRef } from '../../api';
import { OpenTenantContext } from '../../openTenant/OpenTenantContext';
import { openTenantOf } from '../__testUtils__/registry';
import { SharesTab } from './SharesTab';

const SHARES: TenantShares = {
  shares: [
    {
      share_id: '1',
      targets: ['globex', 'initech'],
      filter: ['kind=template', 'kind=api,spec.type=openapi'],
      owner: null,
      position: 100,
      created_by: 'user:default/guest',
      created_at: '2026-11-20T10:00:00.000Z',
      updated_at: '2026-11-20T10:00:00.000Z',
      copies: 12,
      conflicts: 1,
    },
  ],
  received: [
    { share_id: '2', tenant_slug: 'umbrella', copies: 3, conflicts: 0 },
  ],
};

function render(more: Partial<TenantsApi> = {}, administers_tenants = true) {
  const api = {
    listShares: jest.fn(async () => SHARES),
    createShare: jest.fn(),
    deleteShare: jest.fn(),
    ...more,
  };
  renderInTestApp(
    <OpenTenantContext.Provider
      value={{
        tenant: openTenantOf('acme', { administers_tenants }),
        showsTenant: () => () => undefined,
      }}
    >
      <SharesTab slug="acme" />
    </OpenTenantContext.Provider>,
    { apis: [[tenantsApiRef, api as unknown as TenantsApi]] },
  );
  return api;
}

describe('SharesTab', () => {
  it('shows what is shared with whom, what is received, and what is left out', async () => {
    render();
    const given = (
      await screen.findByRole('rowheader', {
        name: 'kind=template kind=api,spec.type=openapi',
      })
    ).closest('tr')!;
    expect(given).toHaveTextContent('globex, initech12 1 left out');
    expect(
      screen.getByRole('rowheader', { name: 'umbrella' }).closest('tr'),
    ).toHaveTextContent('umbrella3');
    const { violations } = await axe.run(document.body, {
      rules: { region: { enabled: false } },
    });
    expect(violations).toEqual([]);
  });

  it('shares what is typed, and reads the shares again also where the answer was lost', async () => {
    const createShare = jest
      .fn()
      .mockRejectedValueOnce(new TypeError('Failed to fetch'));
    const { listShares } = render({ createShare });
    await userEvent.click(
      await screen.findByRole('button', { name: 'Share entities' }),
    );
    const dialog = within(await screen.findByRole('dialog'));
    const submit = dialog.getByRole('button', { name: 'Share' });
    expect(submit).toBeDisabled();
    await userEvent.type(
      dialog.getByRole('textbox', { name: /Entities/ }),
      'kind=api; kind=template ,spec.type=a;',
    );
    const targets = dialog.getByRole('textbox', { name: /Tenants/ });
    await userEvent.clear(targets);
    await userEvent.type(targets, 'globex, initech');
    await userEvent.click(submit);
    expect(await dialog.findByRole('alert')).toBeVisible();
    expect(listShares).toHaveBeenCalledTimes(2);
    await userEvent.click(submit);
    expect(createShare).toHaveBeenCalledTimes(2);
    const [first, second] = createShare.mock.calls;
    expect(second).toEqual([
      'acme',
      {
        filter: ['kind=api', 'kind=template ,spec.type=a'],
        targets: ['globex', 'initech'],
        owner: null,
      },
      { idempotencyKey: expect.any(String) },
    ]);
    expect(second).toEqual(first);
    expect(listShares).toHaveBeenCalledTimes(3);
    expect(await screen.findByText('The entities are shared.')).toBeVisible();
  });

  it('ends a share after a question', async () => {
    const { deleteShare } = render({
      listShares: jest
        .fn(async () => ({ ...SHARES, shares: [] as TenantShares['shares'] }))
        .mockResolvedValueOnce(SHARES),
    });
    await userEvent.click(
      await screen.findByRole('button', { name: /End the share of/ }),
    );
    const dialog = within(await screen.findByRole('dialog'));
    await userEvent.click(
      dialog.getByRole('button', { name: 'End the share' }),
    );
    expect(deleteShare).toHaveBeenCalledWith('acme', '1');
    expect(await screen.findByText('The share has ended.')).toBeVisible();
    // The button is gone, and what was around it has the focus.
    await waitFor(() => expect(document.body).not.toHaveFocus());
  });

  it('changes nothing for those who administer this tenant alone', async () => {
    render({}, false);
    await screen.findByRole('rowheader', { name: 'umbrella' });
    expect(screen.queryByRole('button')).not.toBeInTheDocument();
  });
});
