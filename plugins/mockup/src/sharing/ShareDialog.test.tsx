import { renderInTestApp } from '@backstage/frontend-test-utils';
import { catalogApiRef } from '@backstage/plugin-catalog-react';
import { catalogApiMock } from '@backstage/plugin-catalog-react/testUtils';
import { screen, waitFor, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import type { MockupApi, MockupShare } from 'backstage-plugin-mockup-common';
import { SWRConfig } from 'swr';
import {
  method,
  mockupOf,
  refusal,
  seriousProblems,
} from '../__testUtils__/mockups';
import { permissions } from '../__testUtils__/render';
import { mockupApiRef } from '../api';
import { rootRouteRef } from '../routes';
import { ShareDialog } from './ShareDialog';

const DESIGNERS = 'group:default/designers';
const OWN = 'group:default/people-of-anna';

const groupOf = (name: string, displayName?: string) => ({
  apiVersion: 'backstage.io/v1alpha1',
  kind: 'Group',
  metadata: { name, namespace: 'default' },
  spec: {
    type: 'team',
    children: [],
    ...(displayName && { profile: { displayName } }),
  },
});

/** A backend with one mockup, which several people may share. */
class Backend {
  revision = 1;
  shares: MockupShare[];

  constructor(...shares: MockupShare[]) {
    this.shares = shares;
  }

  share(shares: MockupShare[]) {
    this.revision += 1;
    this.shares = shares;
  }

  readonly #answer = () => ({
    mockup: { ...mockupOf('Start'), shares: this.shares, latestVersion: null },
    etag: `"${this.revision}"`,
  });

  readonly api = {
    getMockup: method('getMockup', async () => this.#answer()),
    shareMockup: method(
      'shareMockup',
      async (_, { shares }, { ifMatch } = {}) => {
        if (ifMatch !== `"${this.revision}"`) {
          throw await refusal(412, 'PreconditionFailedError', 'It has changed');
        }
        this.share(shares);
        return this.#answer();
      },
    ),
  };
}

async function open(backend: Backend, { allows = true } = {}) {
  const onShared = jest.fn();
  const onClose = jest.fn();
  const catalog = catalogApiMock({
    entities: [groupOf('designers', 'Design Crew'), groupOf('writers')],
  });
  const queryEntities = jest.spyOn(catalog, 'queryEntities');
  await renderInTestApp(
    // What the user may do is remembered by usePermission, from one test to the next.
    <SWRConfig value={{ provider: () => new Map() }}>
      <ShareDialog
        mockupId="id-of-Start"
        name="Start"
        onShared={onShared}
        onClose={onClose}
      />
    </SWRConfig>,
    {
      apis: [
        [mockupApiRef, backend.api as unknown as MockupApi],
        [catalogApiRef, catalog],
        permissions(allows),
      ],
      mountedRoutes: { '/mockups': rootRouteRef },
    },
  );
  return { onShared, onClose, queryEntities };
}

const field = () => screen.findByRole('combobox', { name: /Group/ });
const button = (name: string) => screen.getByRole('button', { name });
const search = async (text: string) => userEvent.type(await field(), text);
/** Leaves the field by the keyboard, which closes its list. */
const type = async (text: string) => {
  await search(text);
  await userEvent.tab();
};
const pick = async (text: string, option: RegExp) => {
  await search(text);
  await userEvent.click(await screen.findByRole('option', { name: option }));
  await userEvent.tab();
};
/** The rows of the list; what is open over it hides it from screen readers. */
const rows = () =>
  screen
    .queryAllByRole('listitem', { hidden: true })
    .map(({ textContent }) => textContent);
const choose = async (select: RegExp, option: string) => {
  await userEvent.click(screen.getByRole('button', { name: select }));
  await userEvent.click(await screen.findByRole('option', { name: option }));
};
const save = () => userEvent.click(button('Save'));

describe('sharing a mockup', () => {
  it('adds groups of the catalog by their names, for viewing or editing', async () => {
    const backend = new Backend();
    const { onShared, onClose, queryEntities } = await open(backend);
    expect(await screen.findByText(/shared with no group/)).toBeVisible();
    await waitFor(async () => expect(await field()).toHaveFocus());
    await pick('crew', /Design Crew/);
    expect(queryEntities).toHaveBeenLastCalledWith(
      expect.objectContaining({
        filter: { kind: 'group' },
        fullTextFilter: expect.objectContaining({ term: 'crew' }),
      }),
    );
    await userEvent.click(button('Add'));
    expect(await screen.findByText(/^designers was added/)).toBeInTheDocument();
    expect(await field()).toHaveValue('');
    expect(rows()).toEqual([expect.stringContaining(DESIGNERS)]);
    await choose(/Access of designers/, 'Can edit');
    expect(await seriousProblems()).toEqual([]);
    await save();
    await waitFor(() => expect(onClose).toHaveBeenCalled());
    expect(backend.shares).toEqual([{ group: DESIGNERS, access: 'write' }]);
    expect(onShared).toHaveBeenCalledWith({ before: '"1"', after: '"2"' });
  });

  it('takes a reference that is typed, by the keyboard alone', async () => {
    const backend = new Backend();
    const { onClose } = await open(backend);
    await search('Other/Crew{Enter}');
    expect(
      await screen.findByText(/^other\/crew was added/),
    ).toBeInTheDocument();
    expect(onClose).not.toHaveBeenCalled();
    // What is still in the field was meant, too.
    await type('group:writers');
    await save();
    await waitFor(() => expect(onClose).toHaveBeenCalled());
    expect(backend.shares).toEqual([
      { group: 'group:other/crew', access: 'read' },
      { group: 'group:default/writers', access: 'read' },
    ]);
  });

  it.each([
    ['crew', '“crew” is not a group reference.'],
    ['a/b c', '“a/b c” is not a group reference.'],
    ['user:default/anna', '“user:default/anna” is not a group.'],
    ['default/designers', 'designers is in the list already.'],
  ])('says what is wrong with “%s”', async (text, problem) => {
    const backend = new Backend({ group: DESIGNERS, access: 'read' });
    await open(backend);
    await type(text);
    await userEvent.click(button('Add'));
    expect(await screen.findByText(new RegExp(problem))).toBeVisible();
    expect(await field()).toBeInvalid();
    await save();
    expect(await field()).toHaveValue(text);
    expect(backend.api.shareMockup).not.toHaveBeenCalled();
  });

  it('takes the access back, and leaves the focus in the dialog', async () => {
    const backend = new Backend(
      { group: DESIGNERS, access: 'read' },
      { group: OWN, access: 'write' },
    );
    const { onClose } = await open(backend);
    await field();
    await userEvent.click(button('Remove designers'));
    expect(screen.getByText(/^designers was removed/)).toBeInTheDocument();
    expect(button('Remove people-of-anna')).toHaveFocus();
    await userEvent.click(button('Remove people-of-anna'));
    expect(await field()).toHaveFocus();
    await save();
    await waitFor(() => expect(onClose).toHaveBeenCalled());
    expect(backend.shares).toEqual([]);
  });

  it('saves over a version that somebody has saved meanwhile', async () => {
    const backend = new Backend({ group: OWN, access: 'read' });
    const { onShared, onClose } = await open(backend);
    await field();
    backend.revision += 1;
    await userEvent.click(button('Remove people-of-anna'));
    await save();
    await waitFor(() => expect(onClose).toHaveBeenCalled());
    // The version is not in the tag that the editor goes on with.
    expect(onShared).toHaveBeenCalledWith({ before: '"2"', after: '"3"' });
  });

  it('shows what somebody else has shared meanwhile, and asks again', async () => {
    const backend = new Backend();
    const { onClose } = await open(backend);
    await type('default/writers');
    backend.share([{ group: DESIGNERS, access: 'write' }]);
    await save();
    const alert = await screen.findByRole('alert');
    expect(alert).toHaveTextContent(/somebody has changed it meanwhile/);
    expect(alert).toHaveTextContent('designers: Can edit');
    expect(onClose).not.toHaveBeenCalled();
    expect(backend.shares).toEqual([{ group: DESIGNERS, access: 'write' }]);
    expect(await seriousProblems()).toEqual([]);

    await userEvent.click(
      within(alert).getByRole('button', { name: 'Use the current list' }),
    );
    expect(screen.queryByRole('alert')).toBeNull();
    expect(rows()).toEqual([expect.stringContaining(DESIGNERS)]);
    await userEvent.click(button('Remove designers'));
    backend.share([{ group: OWN, access: 'read' }]);
    await save();
    await screen.findByRole('alert');
    await userEvent.click(button('Save mine instead'));
    await waitFor(() => expect(onClose).toHaveBeenCalled());
    expect(backend.shares).toEqual([]);
  });

  it('shows what it is, and the link, to those who may not change it', async () => {
    const write = jest.fn();
    Object.assign(document, {
      execCommand: (command: string) => {
        write(command, document.getSelection()?.toString());
        return true;
      },
    });
    await open(new Backend({ group: DESIGNERS, access: 'read' }), {
      allows: false,
    });
    expect(
      await screen.findByText('You may not change who it is shared with.'),
    ).toBeVisible();
    expect(rows()).toEqual([expect.stringMatching(/designers.*Can view/)]);
    expect(screen.queryByRole('combobox')).toBeNull();
    expect(button('Save')).toBeDisabled();
    await userEvent.click(button('Copy link'));
    expect(write).toHaveBeenCalledWith(
      'copy',
      'http://localhost/mockups/id-of-Start',
    );
    expect(await seriousProblems()).toEqual([]);
  });
});
