import { mockApis, renderInTestApp } from '@backstage/frontend-test-utils';
import { identityApiRef } from '@backstage/frontend-plugin-api';
import { act, screen, waitFor, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import type {
  CatalogPrincipal,
  Page,
  TenantMember,
  TenantsApi,
} from 'backstage-plugin-tenants-common';
import { tenantsApiRef } from '../../api';
import { mock, refusal, seriousProblems } from '../__testUtils__/registry';
import { MembersTab } from './MembersTab';

const ANNA = 'user:default/anna';
const CREW = 'group:default/crew';

const member = (
  principal: string,
  role: TenantMember['role'] = 'member',
): TenantMember => ({
  principal,
  role,
  created_by: 'user:default/guest',
  created_at: '2026-11-20T10:00:00.000Z',
});

const found = (...items: CatalogPrincipal[]): Page<CatalogPrincipal> => ({
  items,
  totalItems: items.length,
});
const PETER: CatalogPrincipal = {
  principal: 'user:default/peter',
  kind: 'user',
  display_name: 'Peter Gibbons',
};

/** The registry with some members, whose changes it keeps. */
function registry(...members: TenantMember[]) {
  const api = {
    listInvitations: async () => ({ items: [], totalItems: 0 }),
    getSignIn: async () => undefined,
    listMembers: mock(
      'listMembers',
      async (_slug, { offset = 0, limit = 100 } = {}) => ({
        items: members.slice(offset, offset + limit),
        totalItems: members.length,
      }),
    ),
    findPrincipals: mock('findPrincipals', async () => found()),
    putMember: mock('putMember', async (_slug, principal, { role }) => {
      const at = members.findIndex(each => each.principal === principal);
      members.splice(Math.max(at, 0), at < 0 ? 0 : 1, member(principal, role));
      return member(principal, role);
    }),
    removeMember: mock('removeMember', async (_slug, principal) => {
      members.splice(
        members.findIndex(each => each.principal === principal),
        1,
      );
    }),
  };
  return api;
}

function render(api: ReturnType<typeof registry>, userEntityRef = ANNA) {
  return renderInTestApp(<MembersTab slug="acme" />, {
    apis: [
      [tenantsApiRef, api as unknown as TenantsApi],
      [
        identityApiRef,
        mockApis.identity({
          userEntityRef,
          ownershipEntityRefs: [userEntityRef, CREW],
        }),
      ],
    ],
  });
}

const rowOf = async (name: RegExp | string) =>
  (await screen.findByRole('rowheader', { name })).closest('tr')!;
const field = () => screen.getByRole('combobox', { name: /Person or group/ });
/** As one does it with the keyboard, which leaves the list of the field. */
const add = async () => {
  await userEvent.tab();
  await userEvent.click(screen.getByRole('button', { name: 'Add' }));
};

describe('MembersTab', () => {
  it('shows who each member is, with the name that the identity catalog has', async () => {
    const api = registry(member(PETER.principal), member(CREW), member('ci'));
    api.findPrincipals.mockImplementation(async (_slug, query) =>
      found(...(query?.principals?.includes(PETER.principal) ? [PETER] : [])),
    );
    await render(api);
    const row = await rowOf(/Peter Gibbons/);
    expect(within(row).getByRole('img', { name: 'Person' })).toBeVisible();
    expect(row).toHaveTextContent(PETER.principal);
    expect(row).toHaveTextContent('by user:default/guest');
    expect(
      within(await rowOf(/crew/)).getByRole('img', { name: 'Group' }),
    ).toBeVisible();
    expect(
      within(await rowOf(/ci/)).getByRole('img', { name: 'Service' }),
    ).toBeVisible();
    // Services are in no catalog.
    expect(api.findPrincipals).toHaveBeenCalledWith('acme', {
      principals: [PETER.principal, CREW],
    });
    expect(await seriousProblems()).toEqual([]);
  });

  describe('adding', () => {
    afterEach(() => jest.useRealTimers());

    it('adds whom one picks, by the principal', async () => {
      const api = registry();
      api.findPrincipals.mockResolvedValue(found(PETER));
      await render(api);
      await userEvent.type(field(), 'pet');
      await userEvent.click(
        await screen.findByRole('option', { name: /Peter Gibbons/ }),
      );
      expect(field()).toHaveValue('Peter Gibbons (user:default/peter)');
      await add();
      expect(await screen.findByText(/Peter.* was added/)).toBeVisible();
      expect(api.putMember).toHaveBeenCalledWith('acme', PETER.principal, {
        role: 'member',
      });
      expect(field()).toHaveValue('');
    });

    it('says that the backend takes long to add somebody', async () => {
      const api = registry();
      await render(api);
      api.putMember.mockReturnValue(new Promise(() => {}));
      await userEvent.type(field(), 'user:default/jane');
      await userEvent.tab();
      jest.useFakeTimers();
      act(() => screen.getByRole('button', { name: 'Add' }).click());
      act(() => jest.advanceTimersByTime(5_000));
      expect(screen.getByText(/has not answered yet/)).toBeVisible();
    });

    it('shows who is added while the members are being read', async () => {
      const api = registry(member(ANNA));
      let answer = () => {};
      api.listMembers.mockImplementationOnce(async () => {
        await new Promise<void>(resolve => {
          answer = resolve;
        });
        return { items: [member(ANNA)], totalItems: 1 };
      });
      await render(api);
      await userEvent.type(field(), 'user:default/jane');
      await add();
      await screen.findByText(/jane was added/);
      await act(async () => answer());
      expect(await rowOf(/jane/)).toBeVisible();
    });

    it('adds a principal that is typed, without anything to pick', async () => {
      const api = registry();
      await render(api);
      api.putMember.mockRejectedValueOnce(new TypeError('Failed to fetch'));
      await userEvent.type(field(), 'user:default/jane');
      await add();
      expect(await screen.findByRole('alert')).toHaveTextContent(
        'Not addedThe backend does not answer',
      );
      await add();
      await waitFor(() =>
        expect(api.putMember).toHaveBeenCalledWith(
          'acme',
          'user:default/jane',
          { role: 'member' },
        ),
      );
    });

    it('keeps what is typed while another one is being added', async () => {
      const api = registry();
      let answer = () => {};
      api.putMember.mockImplementationOnce(async (_slug, principal) => {
        await new Promise<void>(resolve => {
          answer = resolve;
        });
        return member(principal);
      });
      await render(api);
      await userEvent.type(field(), 'user:default/jane');
      await add();
      await userEvent.clear(field());
      await userEvent.type(field(), 'user:default/john');
      await act(async () => answer());
      expect(await screen.findByText(/jane was added/)).toBeVisible();
      expect(field()).toHaveValue('user:default/john');
    });

    it('takes a name for no service, unless that is chosen', async () => {
      const api = registry();
      await render(api);
      await userEvent.type(field(), 'deploy');
      await add();
      expect(await screen.findByText(/Choose somebody/)).toBeVisible();
      expect(api.putMember).not.toHaveBeenCalled();
      await userEvent.type(field(), 'er');
      await userEvent.click(
        await screen.findByRole('option', { name: 'The service deployer' }),
      );
      await add();
      await waitFor(() =>
        expect(api.putMember).toHaveBeenCalledWith('acme', 'deployer', {
          role: 'member',
        }),
      );
    });

    it('says at the field what the backend says of a principal, and keeps it', async () => {
      const api = registry();
      const message = 'Invalid principal: got "user:bad", expected a user as …';
      api.putMember.mockRejectedValue(
        await refusal(400, 'InputError', message),
      );
      await render(api);
      await userEvent.type(field(), 'user:bad');
      await add();
      await waitFor(() =>
        expect(field()).toHaveAccessibleDescription(
          expect.stringContaining(message),
        ),
      );
      expect(field()).toBeInvalid();
      expect(field()).toHaveValue('user:bad');
    });
  });

  describe('the role', () => {
    const choose = async (name: RegExp, role: string) => {
      await userEvent.click(
        within(await rowOf(name)).getByRole('button', { name: /Role of/ }),
      );
      await userEvent.click(await screen.findByRole('option', { name: role }));
    };

    it('is changed, and said', async () => {
      const api = registry(member(PETER.principal));
      await render(api);
      await choose(/peter/, 'Admin');
      expect(await screen.findByText(/has the role Admin now/)).toBeVisible();
      expect(api.putMember).toHaveBeenCalledWith('acme', PETER.principal, {
        role: 'admin',
      });
    });

    it('keeps the focus while it is saved, and is not changed again meanwhile', async () => {
      const api = registry(member(PETER.principal));
      let answer = () => {};
      api.putMember.mockImplementationOnce(async (_slug, principal) => {
        await new Promise<void>(resolve => {
          answer = resolve;
        });
        return member(principal, 'admin');
      });
      await render(api);
      await choose(/peter/, 'Admin');
      const role = () => screen.getByRole('button', { name: /Role of/ });
      await waitFor(() => expect(role()).toHaveFocus());
      expect(role()).toBeEnabled();
      await choose(/peter/, 'Viewer');
      expect(api.putMember).toHaveBeenCalledTimes(1);
      await act(async () => answer());
      expect(role()).toHaveFocus();
    });

    it.each([ANNA, CREW])(
      'of admin is not given up for %s without a question',
      async own => {
        const api = registry(member(own, 'admin'));
        await render(api);
        await choose(/anna|crew/, 'Member');
        const dialog = await screen.findByRole('dialog');
        expect(dialog).toHaveTextContent('Give up your own role of admin?');
        expect(api.putMember).not.toHaveBeenCalled();
        await userEvent.click(
          within(dialog).getByRole('button', { name: 'Change the role' }),
        );
        await waitFor(() => expect(api.putMember).toHaveBeenCalled());
      },
    );
  });

  describe('removing', () => {
    const ask = async (name: RegExp) => {
      await userEvent.click(
        within(await rowOf(name)).getByRole('button', { name: /^Remove/ }),
      );
      return screen.findByRole('dialog');
    };

    it('is asked about, and says what it means', async () => {
      const api = registry(member(PETER.principal), member('ci'));
      await render(api);
      const dialog = await ask(/peter/);
      expect(dialog).toHaveTextContent('from the next request on');
      expect(dialog).not.toHaveTextContent('This is you');
      expect(api.removeMember).not.toHaveBeenCalled();
      await userEvent.click(
        within(dialog).getByRole('button', { name: 'Remove' }),
      );
      expect(await screen.findByText(/peter was removed/)).toBeVisible();
      await waitFor(() =>
        expect(screen.queryByRole('rowheader', { name: /peter/ })).toBeNull(),
      );
      expect(api.removeMember).toHaveBeenCalledWith('acme', PETER.principal);
    });

    it('is done where the answer to the first attempt was lost', async () => {
      const api = registry(member(PETER.principal));
      const remove = api.removeMember.getMockImplementation()!;
      const gone = await refusal(404, 'NotFoundError', 'Not a member');
      api.removeMember
        .mockImplementationOnce(async (...request) => {
          await remove(...request);
          throw new TypeError('Failed to fetch');
        })
        .mockRejectedValueOnce(gone);
      await render(api);
      const dialog = within(await ask(/peter/));
      await userEvent.click(dialog.getByRole('button', { name: 'Remove' }));
      await dialog.findByRole('alert');
      await userEvent.click(dialog.getByRole('button', { name: 'Remove' }));
      expect(await screen.findByText(/peter was removed/)).toBeVisible();
      expect(screen.queryByRole('dialog')).toBeNull();
    });

    it.each([
      [ANNA, 'This is you'],
      [CREW, 'You belong to this group'],
    ])(
      'warns of %s, which lets the person in who removes it',
      async (own, warning) => {
        await render(registry(member(own)));
        expect(await ask(/anna|crew/)).toHaveTextContent(warning);
      },
    );
  });
});
