import { renderInTestApp } from '@backstage/frontend-test-utils';
import { screen, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import type {
  CreateInvitation,
  TenantInvitation,
  TenantsApi,
} from 'backstage-plugin-tenants-common';
import { tenantsApiRef } from '../../api';
import { seriousProblems } from '../__testUtils__/registry';
import { Invitations } from './Invitations';

const LINK = 'https://portal.example/invitation#secret';

const invitation = (
  changes: Partial<TenantInvitation> = {},
): TenantInvitation => ({
  id: 'i1',
  role: 'member',
  email: null,
  created_by: 'user:default/anna',
  created_at: '2026-11-20T10:00:00.000Z',
  expires_at: '2026-11-27T10:00:00.000Z',
  state: 'open',
  accepted_by: null,
  accepted_at: null,
  ...changes,
});

/** Invitations, whose changes it keeps; read once `ready` resolves. */
async function render(
  items: TenantInvitation[] = [],
  ready: Promise<void> = Promise.resolve(),
) {
  const api = {
    listInvitations: jest.fn(async () => {
      await ready;
      return { items: [...items], totalItems: items.length };
    }),
    createInvitation: jest.fn(
      async (
        _slug: string,
        request: CreateInvitation,
        _options?: { idempotencyKey?: string },
      ) => {
        const created = invitation({
          id: `new ${items.length}`,
          role: request.role,
          email: request.email ?? null,
        });
        items.unshift(created);
        return {
          ...created,
          token: 'secret',
          link: LINK,
          sent: request.email !== undefined,
        };
      },
    ),
    revokeInvitation: jest.fn(async (_slug: string, id: string) => {
      items.splice(
        items.findIndex(each => each.id === id),
        1,
      );
    }),
  };
  await renderInTestApp(<Invitations slug="acme" />, {
    apis: [[tenantsApiRef, api as unknown as TenantsApi]],
  });
  return api;
}

const rowOf = async (name: RegExp) =>
  (await screen.findByRole('rowheader', { name })).closest('tr')!;

describe('Invitations', () => {
  it('shows for whom each is, and what became of it', async () => {
    await render([
      invitation({ email: 'jane@example.com' }),
      invitation({
        id: 'i2',
        state: 'accepted',
        accepted_by: 'user:default/john',
        accepted_at: '2026-11-21T10:00:00.000Z',
      }),
    ]);
    expect(await rowOf(/jane@example.com/)).toHaveTextContent('Open, ends');
    expect(await rowOf(/Anybody with the link/)).toHaveTextContent(
      'Accepted by user:default/john',
    );
    expect(await seriousProblems()).toEqual([]);
  });

  it('invites, and gives the link to be copied', async () => {
    const api = await render();
    const user = userEvent.setup();
    await screen.findByText('Nobody has been invited yet.');
    await user.click(screen.getByRole('button', { name: 'Invite…' }));
    const dialog = await screen.findByRole('dialog');
    await user.type(
      within(dialog).getByRole('textbox', { name: /E-mail address/ }),
      ' jane@example.com ',
    );
    await user.click(within(dialog).getByRole('button', { name: 'Invite' }));
    expect(
      await screen.findByText('The invitation was sent to jane@example.com'),
    ).toBeVisible();
    expect(api.createInvitation.mock.lastCall?.slice(0, 2)).toEqual([
      'acme',
      { role: 'member', valid_days: 7, email: 'jane@example.com' },
    ]);
    expect(await rowOf(/jane@example.com/)).toBeVisible();
    expect(screen.getByText(LINK)).toBeVisible();
    // Without TLS the browser has no clipboard for the page.
    const copied = jest.fn();
    Object.assign(document, {
      execCommand: (command: string) => {
        copied(command, document.getSelection()?.toString());
        return true;
      },
    });
    await user.click(screen.getByRole('button', { name: 'Copy the link' }));
    expect(await screen.findByRole('button', { name: 'Copied' })).toBeVisible();
    expect(copied).toHaveBeenCalledWith('copy', LINK);

    // The link of the next one is not copied yet.
    await user.click(screen.getByRole('button', { name: 'Invite…' }));
    await user.click(
      within(await screen.findByRole('dialog')).getByRole('button', {
        name: 'Invite',
      }),
    );
    expect(
      await screen.findByRole('button', { name: 'Copy the link' }),
    ).toBeVisible();
  });

  it('reads the list again where the answer was lost, and tries to make the same one', async () => {
    const api = await render();
    await screen.findByText('Nobody has been invited yet.');
    const create = api.createInvitation.getMockImplementation()!;
    api.createInvitation.mockImplementationOnce(async (slug, request) => {
      await create(slug, request);
      throw new TypeError('Failed to fetch');
    });
    await userEvent.click(screen.getByRole('button', { name: 'Invite…' }));
    const dialog = await screen.findByRole('dialog');
    await userEvent.click(
      within(dialog).getByRole('button', { name: 'Invite' }),
    );
    await within(dialog).findByRole('alert');
    expect(api.listInvitations).toHaveBeenCalledTimes(2);
    await userEvent.click(
      within(dialog).getByRole('button', { name: 'Invite' }),
    );
    expect(await screen.findByText(LINK)).toBeVisible();
    await userEvent.click(screen.getByRole('button', { name: 'Invite…' }));
    await userEvent.click(
      within(await screen.findByRole('dialog')).getByRole('button', {
        name: 'Invite',
      }),
    );
    const [lost, again, another] = api.createInvitation.mock.calls.map(
      ([, , options]) => options?.idempotencyKey,
    );
    expect(again).toBe(lost);
    expect(another).not.toBe(lost);
  });

  it('keeps what is typed while the list is loaded, and is empty', async () => {
    let answer = () => {};
    await render([], new Promise(resolve => (answer = resolve)));
    const user = userEvent.setup();
    await user.click(await screen.findByRole('button', { name: 'Invite…' }));
    await user.type(
      within(await screen.findByRole('dialog')).getByRole('textbox', {
        name: /E-mail address/,
      }),
      'jane@example.com',
    );
    answer();
    await screen.findByText('Nobody has been invited yet.');
    expect(screen.getByDisplayValue('jane@example.com')).toBeVisible();
  });

  it('revokes after a question', async () => {
    const api = await render([invitation()]);
    const row = await rowOf(/Anybody with the link/);
    await userEvent.click(within(row).getByRole('button'));
    const dialog = await screen.findByRole('dialog');
    expect(dialog).toHaveTextContent('Nobody can accept it then');
    await userEvent.click(
      within(dialog).getByRole('button', { name: 'Remove' }),
    );
    expect(
      await screen.findByText('Nobody has been invited yet.'),
    ).toBeVisible();
    expect(api.revokeInvitation).toHaveBeenCalledWith('acme', 'i1');
    expect(screen.getByText('The invitation was removed.')).toBeVisible();
  });
});
