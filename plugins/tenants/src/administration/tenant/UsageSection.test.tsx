import { renderInTestApp } from '@backstage/frontend-test-utils';
import { screen } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import type { TenantsApi } from 'backstage-plugin-tenants-common';
import { tenantsApiRef } from '../../api';
import { seriousProblems } from '../__testUtils__/registry';
import { UsageSection } from './UsageSection';

const day = (name: string, requests: number) => ({
  day: name,
  requests,
  database_ms: 1_500,
  people: 3,
  entities: { component: 2, api: 1 },
  bytes: 2_000_000,
});

function render(listUsage: jest.Mock) {
  renderInTestApp(<UsageSection slug="acme" />, {
    apis: [[tenantsApiRef, { listUsage } as unknown as TenantsApi]],
  });
}

describe('UsageSection', () => {
  it('shows what was used by day, as a chart and as a table', async () => {
    render(
      jest.fn(async () => [day('2026-11-24', 10), day('2026-11-26', 1_000)]),
    );
    expect(
      await screen.findByRole('img', { name: /Requests.*1,000/ }),
    ).toBeInTheDocument();
    expect(screen.getByText('Nov 26, 2026').closest('tr')).toHaveTextContent(
      '1,000',
    );
    expect(screen.getByText('Nov 25, 2026').closest('tr')).toHaveTextContent(
      /2026\s*0$/,
    );
    await userEvent.click(screen.getByRole('button', { name: /Shown/ }));
    await userEvent.click(
      await screen.findByRole('option', { name: 'Entities' }),
    );
    expect(
      await screen.findByRole('img', { name: /Entities.*3/ }),
    ).toBeInTheDocument();
    await expect(seriousProblems()).resolves.toEqual([]);
  });
});
