import { renderInTestApp } from '@backstage/frontend-test-utils';
import { screen } from '@testing-library/react';
import type { MockupApi } from 'backstage-plugin-mockup-common';
import { mockupApiRef } from '../api';
import { MockupsPage } from '../MockupsPage';
import { rootRouteRef } from '../routes';

const render = (api: Partial<MockupApi>) =>
  renderInTestApp(<MockupsPage />, {
    apis: [[mockupApiRef, api as MockupApi]],
    mountedRoutes: { '/': rootRouteRef },
  });

describe('the list of mockups', () => {
  it('links each mockup by its name', async () => {
    await render({
      listMockups: async () => ({
        items: [
          {
            id: '0b0d6f2e-6a4b-4a55-9ef1-b5fe8c3b6b4e',
            name: 'Start page',
            owner: 'user:default/anna',
            createdAt: '2026-11-20T10:00:00.000Z',
            updatedAt: '2026-11-20T10:00:00.000Z',
          },
        ],
        totalItems: 1,
      }),
    });
    expect(
      await screen.findByRole('link', { name: 'Start page' }),
    ).toHaveAttribute('href', '/0b0d6f2e-6a4b-4a55-9ef1-b5fe8c3b6b4e');
  });

  it('says that there are none', async () => {
    await render({ listMockups: async () => ({ items: [], totalItems: 0 }) });
    expect(
      await screen.findByText('There are no mockups yet.'),
    ).toBeInTheDocument();
  });
});
