import { renderInTestApp } from '@backstage/frontend-test-utils';
import { screen } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import type {
  TenantAuditEvent,
  TenantsApi,
} from 'backstage-plugin-tenants-common';
import { tenantsApiRef } from '../../api';
import { seriousProblems } from '../__testUtils__/registry';
import { ActivityTab } from './ActivityTab';

const event = (more: Partial<TenantAuditEvent> = {}): TenantAuditEvent => ({
  id: '1',
  at: '2026-11-20T10:00:00.000Z',
  plugin: 'tenants',
  event: 'put-tenant-member',
  severity: 'medium',
  outcome: 'succeeded',
  actor: 'user:default/jane',
  ip: '192.0.2.1',
  user_agent: 'Firefox',
  method: 'PUT',
  path: '/api/tenants/acme/members/x',
  error: null,
  meta: { role: 'admin' },
  ...more,
});

function render(listAudit: jest.Mock) {
  renderInTestApp(<ActivityTab slug="acme" />, {
    apis: [[tenantsApiRef, { listAudit } as unknown as TenantsApi]],
  });
}

describe('ActivityTab', () => {
  it('shows who did what, and more of it on demand', async () => {
    const listAudit = jest
      .fn()
      .mockResolvedValueOnce({ items: [event()], next_cursor: 'next' })
      .mockResolvedValueOnce({
        items: [
          event({
            id: '2',
            event: 'delete-tenant',
            actor: null,
            outcome: 'failed',
            error: 'NotAllowedError: no',
          }),
        ],
        next_cursor: null,
      });
    render(listAudit);
    expect(await screen.findByText('put-tenant-member')).toBeInTheDocument();
    expect(screen.getByRole('status')).toHaveTextContent('1 event shown');
    expect(screen.getByText(/user:default\/jane/)).toBeInTheDocument();
    expect(
      screen.getByText('PUT /api/tenants/acme/members/x'),
    ).toBeInTheDocument();
    await userEvent.click(screen.getByRole('button', { name: 'Show more' }));
    expect(await screen.findByText('delete-tenant')).toBeInTheDocument();
    expect(screen.getByRole('status')).toHaveTextContent('2 events shown');
    expect(screen.getByText('put-tenant-member')).toBeInTheDocument();
    expect(screen.getByText('NotAllowedError: no')).toBeInTheDocument();
    expect(screen.getByText(/Not signed in/)).toBeInTheDocument();
    expect(listAudit).toHaveBeenLastCalledWith('acme', {
      limit: 50,
      cursor: 'next',
    });
    expect(
      screen.queryByRole('button', { name: 'Show more' }),
    ).not.toBeInTheDocument();
    await expect(seriousProblems()).resolves.toEqual([]);
  });

  it('shows more of a search that begins as the one before', async () => {
    const listAudit = jest.fn(async (_slug, { cursor }) => ({
      items: [event({ id: cursor ?? 'first', event: cursor ?? 'first' })],
      next_cursor: cursor ? null : 'second',
    }));
    render(listAudit);
    const more = () => screen.findByRole('button', { name: 'Show more' });
    await userEvent.click(await more());
    await screen.findByText('second');
    await userEvent.click(screen.getByRole('button', { name: 'Search' }));
    await userEvent.click(await more());
    expect(await screen.findByText('second')).toBeInTheDocument();
  });

  it('says below what is shown that no more could be read', async () => {
    const listAudit = jest
      .fn()
      .mockResolvedValueOnce({ items: [event()], next_cursor: 'next' })
      .mockRejectedValueOnce(new TypeError('Failed to fetch'));
    render(listAudit);
    await userEvent.click(
      await screen.findByRole('button', { name: 'Show more' }),
    );
    const alert = await screen.findByRole('alert');
    expect(alert).toHaveTextContent(/does not answer/);
    const place = screen.getByRole('list').compareDocumentPosition(alert);
    expect(place).toBe(Node.DOCUMENT_POSITION_FOLLOWING);
  });

  it('searches, and says that nothing matches', async () => {
    const listAudit = jest.fn(async () => ({ items: [], next_cursor: null }));
    render(listAudit);
    await screen.findByText('Nothing has happened in this tenant yet.');
    await userEvent.type(
      screen.getByRole('textbox', { name: 'Who' }),
      ' jane ',
    );
    await userEvent.click(screen.getByRole('button', { name: 'Search' }));
    await screen.findByText('Nothing matches this search.');
    expect(screen.getByRole('status')).toHaveTextContent('0 events shown');
    expect(listAudit).toHaveBeenLastCalledWith('acme', {
      actor: 'jane',
      limit: 50,
    });
  });
});
