import { mockApis, renderInTestApp } from '@backstage/frontend-test-utils';
import { identityApiRef } from '@backstage/frontend-plugin-api';
import { catalogApiRef } from '@backstage/plugin-catalog-react';
import { catalogApiMock } from '@backstage/plugin-catalog-react/testUtils';
import { screen, waitFor, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import type { MockupApi } from 'backstage-plugin-mockup-common';
import { SWRConfig } from 'swr';
import {
  itemOf,
  mockApi,
  mockupOf,
  refusal,
  seriousProblems,
} from '../__testUtils__/mockups';
import { permissions } from '../__testUtils__/render';
import { mockupApiRef } from '../api';
import { MockupsPage } from '../MockupsPage';
import { rootRouteRef } from '../routes';
import { TEMPLATES } from './templates';

const ANNA = 'user:default/anna';

const render = (
  api: ReturnType<typeof mockApi>,
  { at = '/', allows = true as boolean | Error } = {},
) =>
  renderInTestApp(
    // What the user may do is remembered by usePermission, from one test to the next.
    <SWRConfig value={{ provider: () => new Map() }}>
      <MockupsPage />
    </SWRConfig>,
    {
      apis: [
        [mockupApiRef, api as unknown as MockupApi],
        [catalogApiRef, catalogApiMock()],
        [identityApiRef, mockApis.identity({ userEntityRef: ANNA })],
        permissions(allows),
      ],
      mountedRoutes: { '/': rootRouteRef },
      initialRouteEntries: [at],
    },
  );

const lastQuery = (api: ReturnType<typeof mockApi>) =>
  api.listMockups.mock.calls.at(-1)?.[0];
const link = (name: string) => screen.findByRole('link', { name });
const choose = async (field: RegExp, option: string) => {
  await userEvent.click(screen.getByRole('button', { name: field }));
  await userEvent.click(await screen.findByRole('option', { name: option }));
};
const act = async (mockup: string, action: RegExp) => {
  await link(mockup);
  await userEvent.click(
    screen.getByRole('button', { name: `Actions of ${mockup}` }),
  );
  await userEvent.click(await screen.findByRole('menuitem', { name: action }));
};

const more = async (action: RegExp) => {
  await userEvent.click(screen.getByRole('button', { name: 'More actions' }));
  await userEvent.click(await screen.findByRole('menuitem', { name: action }));
};

describe('the list of mockups', () => {
  it('has of each mockup its name, description, owner and newest layout', async () => {
    const api = mockApi(mockupOf('Start', { description: 'Where one begins' }));
    await render(api);
    expect(await link('Start')).toHaveAttribute('href', '/id-of-Start');
    const card = screen.getByRole('listitem');
    expect(card).toHaveTextContent('Where one begins');
    expect(card).toHaveTextContent('anna');
    await waitFor(() => expect(card.querySelectorAll('rect')).toHaveLength(1));
    expect(await seriousProblems()).toEqual([]);
  });

  it('finds, filters and sorts, from the first page on', async () => {
    const api = mockApi(mockupOf('Start'));
    await render(api, { at: '/?page=2' });
    // The list ends before that.
    await link('Start');
    await userEvent.type(screen.getByRole('searchbox'), 'sta');
    await waitFor(() =>
      expect(lastQuery(api)).toEqual({
        search: 'sta',
        orderBy: 'updatedAt,desc',
        limit: 24,
        offset: 0,
      }),
    );
    await choose(/Owner/, 'Mine');
    await waitFor(() => expect(lastQuery(api)).toMatchObject({ owner: ANNA }));
    await choose(/Sort by/, 'Name, A to Z');
    await waitFor(() =>
      expect(lastQuery(api)).toEqual({
        search: 'sta',
        owner: ANNA,
        orderBy: 'name,asc',
        limit: 24,
        offset: 0,
      }),
    );
  });
});

describe('creating a mockup', () => {
  const create = async (name: string) => {
    // In the header, and in the place of an empty list.
    const [open] = await screen.findAllByRole('button', {
      name: 'Create mockup',
    });
    await userEvent.click(open);
    const dialog = await screen.findByRole('dialog');
    const field = within(dialog).getByRole('textbox', { name: /Name/ });
    await userEvent.click(field);
    if (name) {
      await userEvent.paste(name);
    }
    await userEvent.click(
      within(dialog).getByRole('button', { name: 'Create' }),
    );
    return { dialog, field };
  };

  it('creates one with a name and a description', async () => {
    const api = mockApi();
    await render(api);
    await screen.findByText(/There are no mockups yet\./);
    const { dialog, field } = await create('');
    expect(field).toBeInvalid();
    expect(dialog).toHaveTextContent('Name is missing.');
    expect(api.createMockup).not.toHaveBeenCalled();
    await userEvent.type(field, 'Team page');
    await userEvent.type(
      within(dialog).getByRole('textbox', { name: /Description/ }),
      'For all',
    );
    await userEvent.click(
      within(dialog).getByRole('button', { name: 'Create' }),
    );
    await waitFor(() => expect(dialog).not.toBeInTheDocument());
    expect(api.createMockup.mock.calls.map(([request]) => request)).toEqual([
      { name: 'Team page', description: 'For all' },
    ]);
  });

  it('creates the same one again where the answer was lost, also with another name', async () => {
    const api = mockApi();
    await render(api);
    api.createMockup.mockRejectedValueOnce(new TypeError('Failed to fetch'));
    const { dialog, field } = await create('Team page');
    await within(dialog).findByRole('alert');
    await userEvent.type(field, ' 2');
    await userEvent.click(
      within(dialog).getByRole('button', { name: 'Create' }),
    );
    await waitFor(() => expect(dialog).not.toBeInTheDocument());
    const [first, second] = api.createMockup.mock.calls;
    expect(first[1]?.idempotencyKey).toEqual(expect.any(String));
    expect(second).toEqual(first);
    expect(api.updateMockup).toHaveBeenCalledWith('id-of-Team page', {
      name: 'Team page 2',
      description: null,
    });
  });

  it('saves its first version once where the answer to that was lost', async () => {
    const api = mockApi();
    await render(api);
    api.saveVersion.mockImplementationOnce(async (id, { layoutData }) => {
      const { mockup, etag } = (await api.getMockup(id))!;
      const latestVersion = { ...mockup.latestVersion!, layoutData };
      api.getMockup.mockResolvedValue({
        mockup: { ...mockup, latestVersion },
        etag,
      });
      throw new TypeError('Failed to fetch');
    });
    api.saveVersion.mockRejectedValueOnce(
      await refusal(412, 'PreconditionFailedError', 'It has changed'),
    );
    await screen.findByText(/There are no mockups yet\./);
    const [open] = screen.getAllByRole('button', { name: 'Create mockup' });
    await userEvent.click(open);
    const dialog = await screen.findByRole('dialog');
    await userEvent.type(
      within(dialog).getByRole('textbox', { name: /Name/ }),
      'Team page',
    );
    await userEvent.click(
      within(dialog).getByRole('button', { name: /Begin with/ }),
    );
    await userEvent.click(
      await screen.findByRole('option', { name: 'A start page' }),
    );
    const submit = within(dialog).getByRole('button', { name: 'Create' });
    await userEvent.click(submit);
    await within(dialog).findByRole('alert');
    await userEvent.click(submit);
    await waitFor(() => expect(dialog).not.toBeInTheDocument());
    const first = { layoutData: TEMPLATES.start };
    expect(api.saveVersion.mock.calls).toEqual(
      Array(2).fill(['id-of-Team page', first, { ifMatch: '"1"' }]),
    );
    expect(api.createMockup).toHaveBeenCalledTimes(1);
  });
});

describe('the actions of a mockup', () => {
  it('changes the name, and removes the description', async () => {
    const api = mockApi(mockupOf('Start', { description: 'Old' }));
    await render(api);
    await act('Start', /Name and description/);
    const dialog = await screen.findByRole('dialog');
    const [name, description] = within(dialog).getAllByRole('textbox');
    await userEvent.type(name, ' page');
    await userEvent.clear(description);
    await userEvent.click(within(dialog).getByRole('button', { name: 'Save' }));
    expect(await link('Start page')).toBeVisible();
    expect(api.updateMockup).toHaveBeenCalledWith('id-of-Start', {
      name: 'Start page',
      description: null,
    });
  });

  it('gives the focus back to the menu that opened the dialog', async () => {
    await render(mockApi(mockupOf('Start')));
    await act('Start', /Name and description/);
    await screen.findByRole('dialog');
    await userEvent.keyboard('{Escape}');
    await waitFor(() =>
      expect(
        screen.getByRole('button', { name: 'Actions of Start' }),
      ).toHaveFocus(),
    );
  });

  it('leaves alone what was not changed: others may have since', async () => {
    const api = mockApi(mockupOf('Start', { description: 'Old' }));
    await render(api);
    await act('Start', /Name and description/);
    const dialog = await screen.findByRole('dialog');
    const [name] = within(dialog).getAllByRole('textbox');
    await userEvent.type(name, ' page{Enter}');
    expect(await link('Start page')).toBeVisible();
    expect(api.updateMockup).toHaveBeenCalledWith('id-of-Start', {
      name: 'Start page',
    });
  });

  it('duplicates with the newest layout, or with the history', async () => {
    const api = mockApi(mockupOf('Start'));
    await render(api);
    for (const withHistory of [false, true]) {
      await act('Start', /Duplicate/);
      const dialog = await screen.findByRole('dialog');
      if (withHistory) {
        await userEvent.click(within(dialog).getByRole('checkbox'));
      }
      await userEvent.click(
        within(dialog).getByRole('button', { name: 'Duplicate' }),
      );
      await waitFor(() => expect(dialog).not.toBeInTheDocument());
      expect(api.duplicateMockup).toHaveBeenLastCalledWith(
        'id-of-Start',
        { name: 'Start (copy)', withHistory },
        { idempotencyKey: expect.any(String) },
      );
    }
    expect(await screen.findByText('Created “Start (copy)”.')).toBeVisible();
    expect(await link('Start (copy)')).toBeVisible();
  });

  it('suggests a name for a duplicate that is not too long', async () => {
    const name = 'x'.repeat(255);
    const api = mockApi(mockupOf(name));
    await render(api);
    await act(name, /Duplicate/);
    await userEvent.click(
      within(await screen.findByRole('dialog')).getByRole('button', {
        name: 'Duplicate',
      }),
    );
    await waitFor(() =>
      expect(api.duplicateMockup).toHaveBeenCalledWith(
        `id-of-${name}`,
        { name: `${'x'.repeat(248)} (copy)`, withHistory: false },
        expect.anything(),
      ),
    );
  });

  it('moves to the trash, and back at once', async () => {
    const api = mockApi(mockupOf('Start'));
    await render(api);
    await act('Start', /Move to the trash/);
    expect(await screen.findByText('“Start” is in the trash.')).toBeVisible();
    expect(api.deleteMockup).toHaveBeenCalledWith('id-of-Start');
    await waitFor(() =>
      expect(screen.queryByRole('link', { name: 'Start' })).toBeNull(),
    );
    api.restoreMockup.mockRejectedValueOnce(new TypeError('Failed to fetch'));
    await userEvent.click(screen.getByRole('button', { name: 'Undo' }));
    await waitFor(() =>
      expect(document.querySelector('[role=status]:focus')).not.toBeNull(),
    );
    expect(await screen.findByRole('alert')).toHaveTextContent(
      /“Start” is still in the trash.*does not answer/,
    );
    await userEvent.click(screen.getByRole('button', { name: 'Try again' }));
    expect(await link('Start')).toBeVisible();
    expect(screen.queryByRole('alert')).toBeNull();
    expect(screen.getByText(/“Start” is back/)).toBeVisible();
  });

  it('are done once, however often that is asked for', async () => {
    const api = mockApi(mockupOf('Start'));
    api.deleteMockup.mockReturnValue(new Promise(() => {}));
    await render(api);
    await act('Start', /Move to the trash/);
    await act('Start', /Move to the trash/);
    expect(api.deleteMockup).toHaveBeenCalledTimes(1);
  });

  it('are done where the answer to the first attempt was lost', async () => {
    const api = mockApi(mockupOf('Start'));
    await render(api);
    const lose = async (change: 'deleteMockup' | 'restoreMockup') => {
      const work: (id: string) => Promise<unknown> =
        api[change].getMockImplementation()!;
      api[change].mockImplementationOnce(async id => {
        await work(id);
        throw new TypeError('Failed to fetch');
      });
      const gone = await refusal(404, 'NotFoundError', 'No such mockup');
      api[change].mockRejectedValueOnce(gone);
    };
    await lose('deleteMockup');
    await act('Start', /Move to the trash/);
    await screen.findByRole('alert');
    await userEvent.click(screen.getByRole('button', { name: 'Try again' }));
    expect(await screen.findByText('“Start” is in the trash.')).toBeVisible();

    await lose('restoreMockup');
    await userEvent.click(screen.getByRole('button', { name: 'Undo' }));
    await screen.findByRole('alert');
    await userEvent.click(screen.getByRole('button', { name: 'Try again' }));
    expect(await screen.findByText(/“Start” is back/)).toBeVisible();
    expect(await link('Start')).toBeVisible();

    api.duplicateMockup.mockRejectedValueOnce(new TypeError('Failed to fetch'));
    await act('Start', /Duplicate/);
    const dialog = await screen.findByRole('dialog');
    const submit = within(dialog).getByRole('button', { name: 'Duplicate' });
    await userEvent.click(submit);
    await within(dialog).findByRole('alert');
    await userEvent.click(submit);
    await waitFor(() => expect(dialog).not.toBeInTheDocument());
    const [first, second] = api.duplicateMockup.mock.calls;
    expect(first[2]?.idempotencyKey).toEqual(expect.any(String));
    expect(second).toEqual(first);
  });

  it('exports one, or all, as a file', async () => {
    const saved: string[] = [];
    jest
      .spyOn(HTMLAnchorElement.prototype, 'click')
      .mockImplementation(function click(this: HTMLAnchorElement) {
        saved.push(this.download);
      });
    Object.assign(URL, {
      createObjectURL: () => 'blob:1',
      revokeObjectURL() {},
    });
    const name = '../Start: हिन्दी?';
    const api = mockApi(mockupOf(name));
    await render(api);
    await act(name, /Export/);
    await waitFor(() => expect(saved).toEqual(['Start-हिन्दी.mockup.json']));
    expect(api.exportMockup).toHaveBeenCalledWith(`id-of-${name}`);
    await more(/Export all/);
    await waitFor(() => expect(saved).toContain('mockups.json'));
    jest.restoreAllMocks();
  });

  it('says what the user may not do', async () => {
    await render(mockApi(mockupOf('Start')), { allows: false });
    await link('Start');
    await userEvent.click(
      screen.getByRole('button', { name: 'Actions of Start' }),
    );
    expect(
      await screen.findByRole('menuitem', {
        name: 'Name and description – you may not',
      }),
    ).toHaveAttribute('aria-disabled', 'true');
  });

  it('leaves it to the backend where nobody knows what the user may do', async () => {
    const allows = new TypeError('Failed to fetch');
    await render(mockApi(mockupOf('Start')), { allows });
    await link('Start');
    await waitFor(() =>
      expect(
        screen.getByRole('button', { name: 'Create mockup' }),
      ).toBeEnabled(),
    );
    expect(screen.queryByText(/You may not/)).toBeNull();
    await act('Start', /^Name and description$/);
    expect(await screen.findByRole('dialog')).toBeVisible();
  });
});

describe('several mockups', () => {
  it('are said to be left also on the last page', async () => {
    const before = Array.from({ length: 24 }, (_, at) => mockupOf(`M${at}`));
    const api = mockApi(...before, mockupOf('A'));
    api.deleteMockup.mockRejectedValueOnce(new TypeError('Failed to fetch'));
    await render(api, { at: '/?page=2' });
    await link('A');
    await userEvent.click(screen.getByRole('checkbox', { name: 'Choose A' }));
    const move = 'Move to the trash';
    await userEvent.click(screen.getByRole('button', { name: move }));
    const dialog = within(await screen.findByRole('dialog'));
    await userEvent.click(dialog.getByRole('button', { name: move }));
    expect(await dialog.findByRole('alert')).toHaveTextContent('A: ');
  });

  it('leave the focus with their actions where none is chosen any more', async () => {
    await render(mockApi(mockupOf('Start')));
    await link('Start');
    await userEvent.click(screen.getByRole('checkbox'));
    await userEvent.click(
      await screen.findByRole('button', { name: 'Clear selection' }),
    );
    await waitFor(() =>
      expect(screen.getByRole('group', { name: 'Selection' })).toHaveFocus(),
    );
  });

  it('are moved to the trash at once; where that fails they stay chosen', async () => {
    const api = mockApi(...['A', 'B', 'C'].map(name => mockupOf(name)));
    api.deleteMockup.mockRejectedValueOnce(new TypeError('Failed to fetch'));
    await render(api);
    for (const name of ['A', 'B']) {
      await link(name);
      await userEvent.click(
        screen.getByRole('checkbox', { name: `Choose ${name}` }),
      );
    }
    await userEvent.click(
      screen.getByRole('button', { name: 'Move to the trash' }),
    );
    const dialog = within(await screen.findByRole('dialog'));
    const submit = () =>
      userEvent.click(
        dialog.getByRole('button', { name: 'Move to the trash' }),
      );
    await submit();
    expect(await dialog.findByRole('alert')).toHaveTextContent(
      'A: The backend does not answer.',
    );
    expect(api.deleteMockup.mock.calls.map(([id]) => id)).toEqual([
      'id-of-A',
      'id-of-B',
    ]);
    await submit();
    await waitFor(() =>
      expect(screen.queryByRole('link', { name: 'A' })).toBeNull(),
    );
    expect(screen.queryByRole('link', { name: 'B' })).toBeNull();
    expect(await link('C')).toBeVisible();
  });
});

describe('importing a file', () => {
  const file = new File(['{}'], 'mockups.json', { type: 'application/json' });
  const open = async () => {
    await more(/Import a file/);
    return within(await screen.findByRole('dialog'));
  };

  it('lists the mockups of the file', async () => {
    const api = mockApi();
    await render(api);
    const dialog = await open();
    await userEvent.click(dialog.getByRole('button', { name: 'Import' }));
    expect(await dialog.findByText('Choose a file.')).toBeVisible();
    expect(api.importMockups).not.toHaveBeenCalled();
    await userEvent.upload(dialog.getByLabelText('File'), file);
    await userEvent.click(dialog.getByRole('button', { name: 'Import' }));
    expect(await link('Imported')).toBeVisible();
    expect(api.importMockups).toHaveBeenCalledWith(file, expect.anything());
    expect(screen.getByText(/Mockups in it: 1\./)).toBeVisible();
  });

  it('offers to update what is here already, and does not double it', async () => {
    const api = mockApi(mockupOf('Start'));
    await render(api);
    const version = {
      layoutData: [itemOf('text')],
      versionTag: 'theirs',
      createdBy: ANNA,
      createdAt: '2026-11-20T10:00:00.000Z',
    };
    const times = {
      createdAt: version.createdAt,
      updatedAt: version.createdAt,
    };
    const content = {
      schema: 'backstage-plugin-mockup/mockups',
      version: 1,
      mockups: [
        { name: 'Start', ...times, versions: [version] },
        { name: 'Other', ...times, versions: [] },
      ],
    };
    const dialog = await open();
    await userEvent.upload(
      dialog.getByLabelText('File'),
      new File([JSON.stringify(content)], 'mockups.json', {
        type: 'application/json',
      }),
    );
    expect(
      await dialog.findByText('These are here already: Start'),
    ).toBeVisible();
    expect(await seriousProblems()).toEqual([]);
    api.saveVersion.mockRejectedValueOnce(new TypeError('Failed to fetch'));
    await userEvent.click(dialog.getByRole('button', { name: 'Import' }));
    expect(await dialog.findByRole('alert')).toHaveTextContent(
      /Only a part was imported\. Try again/,
    );
    expect(api.importMockups).not.toHaveBeenCalled();
    await userEvent.click(dialog.getByRole('button', { name: 'Import' }));
    expect(
      await screen.findByText(/Updated mockups: 1, new ones: 1\./),
    ).toBeVisible();
    expect(api.saveVersion).toHaveBeenLastCalledWith(
      'id-of-Start',
      { layoutData: version.layoutData, versionTag: 'theirs' },
      { ifMatch: '"1"' },
    );
    const [[sent]] = api.importMockups.mock.calls as [File][];
    expect(JSON.parse(await sent.text()).mockups).toEqual([content.mockups[1]]);
  });

  it('says where the file is wrong, and takes another', async () => {
    const api = mockApi();
    const message =
      'Invalid file: mockups.0.versions.2.layoutData.7.w must be an integer >= 1';
    api.importMockups.mockRejectedValueOnce(
      await refusal(400, 'InputError', message),
    );
    await render(api);
    const dialog = await open();
    await userEvent.upload(dialog.getByLabelText('File'), file);
    await userEvent.click(dialog.getByRole('button', { name: 'Import' }));
    expect(await dialog.findByRole('alert')).toHaveTextContent(
      `Nothing was imported${message}`,
    );
    await userEvent.click(dialog.getByRole('button', { name: 'Import' }));
    expect(await link('Imported')).toBeVisible();
  });
});

describe('the trash', () => {
  const trashed = async (...names: string[]) => {
    const api = mockApi(...names.map(name => mockupOf(name)));
    for (const name of names) {
      await api.deleteMockup(`id-of-${name}`);
    }
    return api;
  };
  const at = '/trash';

  it('says of each mockup who deleted it, when, and until when it is kept', async () => {
    await render(await trashed('Start'), { at });
    const row = await screen.findByRole('listitem');
    expect(row).toHaveTextContent('Start');
    expect(row).toHaveTextContent(/Deleted .*Nov 21, 2026.* · peter/);
    expect(row).toHaveTextContent(/Deleted for good .*Dec 21, 2026/);
    expect(await seriousProblems()).toEqual([]);
  });

  it('gives a mockup back', async () => {
    const api = await trashed('Start', 'Team');
    await render(api, { at });
    api.restoreMockup.mockRejectedValueOnce(
      await refusal(503, 'ServiceUnavailableError', 'The database is away'),
    );
    await userEvent.click(
      await screen.findByRole('button', { name: 'Restore Start' }),
    );
    expect(await screen.findByRole('alert')).toHaveTextContent(
      /“Start” was not restored.*database is away/,
    );
    await userEvent.click(screen.getByRole('button', { name: 'Try again' }));
    const notice = await screen.findByText(/“Start” is back/);
    await waitFor(() =>
      expect(
        screen.queryByRole('button', { name: 'Restore Start' }),
      ).toBeNull(),
    );
    await waitFor(() =>
      expect(notice.closest('[role=status][tabindex]')).toHaveFocus(),
    );
    expect(screen.getByRole('button', { name: 'Restore Team' })).toBeVisible();
  });

  it('restores one mockup once, however often that is pressed', async () => {
    const api = await trashed('Start');
    const restoreNow = api.restoreMockup.getMockImplementation()!;
    let restore = () => {};
    api.restoreMockup.mockImplementation(async id => {
      await new Promise<void>(resolve => {
        restore = resolve;
      });
      return restoreNow(id);
    });
    await render(api, { at });
    await userEvent.dblClick(
      await screen.findByRole('button', { name: 'Restore Start' }),
    );
    expect(api.restoreMockup).toHaveBeenCalledTimes(1);
    restore();
    expect(await screen.findByText(/“Start” is back/)).toBeVisible();
  });

  it('says what the user may not do', async () => {
    await render(await trashed('Start'), { at, allows: false });
    expect(
      await screen.findByText(/You may neither restore it nor/),
    ).toBeVisible();
    expect(
      screen.getByRole('button', { name: 'Restore Start' }),
    ).toBeDisabled();
  });

  it('deletes for good after it has said what is lost', async () => {
    const api = await trashed('Start');
    await render(api, { at });
    await screen.findByText('Start');
    await userEvent.click(
      screen.getByRole('checkbox', { name: 'Choose Start' }),
    );
    await userEvent.click(
      screen.getByRole('button', { name: 'Delete for good' }),
    );
    const dialog = within(await screen.findByRole('dialog'));
    expect(dialog.getByText('Delete 1 mockup for good?')).toBeVisible();
    expect(
      dialog.getByText(/All of their versions and tags are lost/),
    ).toBeVisible();
    expect(dialog.getByText('This cannot be undone.')).toBeVisible();
    expect(api.purgeMockup).not.toHaveBeenCalled();
    await userEvent.click(
      dialog.getByRole('button', { name: 'Delete for good' }),
    );
    expect(await screen.findByText('The trash is empty.')).toBeVisible();
    expect(api.purgeMockup).toHaveBeenCalledWith('id-of-Start');
  });
});
