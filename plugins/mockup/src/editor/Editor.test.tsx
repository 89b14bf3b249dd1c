import { identityApiRef } from '@backstage/frontend-plugin-api';
import { mockApis, renderInTestApp } from '@backstage/frontend-test-utils';
import { AuthorizeResult } from '@backstage/plugin-permission-common';
import { permissionApiRef } from '@backstage/plugin-permission-react';
import { catalogApiRef } from '@backstage/plugin-catalog-react';
import { catalogApiMock } from '@backstage/plugin-catalog-react/testUtils';
import {
  act,
  createEvent,
  fireEvent,
  screen,
  waitFor,
  within,
} from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import type {
  LayoutItem,
  MockupApi,
  MockupShare,
  MockupWithLatestVersion,
} from 'backstage-plugin-mockup-common';
import { componentsOf, registryOf } from '../__testUtils__/components';
import { method, refusal, seriousProblems } from '../__testUtils__/mockups';
import { mockupApiRef } from '../api';
import { containerComponents } from '../components/containers/containerComponents';
import { mockupComponentsApiRef } from '../components/registry/MockupComponentBlueprint';
import { stockComponents } from '../components/registry/stockComponents';
import { MockupsPage } from '../MockupsPage';
import { rootRouteRef } from '../routes';
import { DraftStore } from './saving/drafts';

// Another one in each test: what the browser knows of a permission stays for a while.
let mockupId = '';
let mockups = 0;
function nextId() {
  mockups += 1;
  mockupId = `0b0d6f2e-6a4b-4a55-9ef1-${String(mockups).padStart(12, '0')}`;
  return mockupId;
}

const item = (i: string, x: number, y: number, text: string): LayoutItem => ({
  i,
  x,
  y,
  w: 4,
  h: 2,
  component: 'text',
  props: { text },
});

/** A backend with one mockup, that two people may change. */
class Backend {
  revision = 1;
  mockup: MockupWithLatestVersion = {
    id: nextId(),
    name: 'Start page',
    owner: 'user:default/anna',
    createdAt: '2026-11-20T10:00:00.000Z',
    updatedAt: '2026-11-20T10:00:00.000Z',
    latestVersion: null,
  };
  readonly saved: { layoutData: LayoutItem[]; versionTag?: string }[] = [];

  constructor(...items: LayoutItem[]) {
    this.save(items, 'user:default/anna');
  }

  get etag() {
    return `"${this.revision}"`;
  }

  save(layoutData: LayoutItem[], createdBy: string, versionTag?: string) {
    this.revision += 1;
    const version = {
      id: `0b0d6f2e-6a4b-4a55-9ef1-${String(this.revision).padStart(12, '0')}`,
      mockupId: mockupId,
      layoutData,
      versionTag,
      createdBy,
      createdAt: '2026-11-20T11:00:00.000Z',
    };
    this.mockup = { ...this.mockup, latestVersion: version };
    return version;
  }

  rename(name: string, description?: string) {
    this.revision += 1;
    this.mockup = { ...this.mockup, name, description };
  }

  share(shares: MockupShare[]) {
    this.revision += 1;
    this.mockup = { ...this.mockup, shares };
  }

  readonly api = {
    getMockup: method('getMockup', async () => ({
      mockup: this.mockup,
      etag: this.etag,
    })),
    getVersion: method('getVersion', async () => undefined),
    listPagesOf: async () => [],
    createMockup: method('createMockup', async ({ name }) => ({
      mockup: { ...this.mockup, id: 'another', name },
      etag: this.etag,
    })),
    updateMockup: method(
      'updateMockup',
      async (id, { name, description }, options) => {
        await this.expect(options?.ifMatch);
        this.rename(name ?? this.mockup.name, description ?? undefined);
        return { mockup: { ...this.mockup, id }, etag: this.etag };
      },
    ),
    shareMockup: method('shareMockup', async (_, { shares }, options) => {
      await this.expect(options?.ifMatch);
      this.share(shares);
      return { mockup: this.mockup, etag: this.etag };
    }),
    saveVersion: method('saveVersion', async (_, request, options) => {
      await this.expect(options?.ifMatch);
      this.saved.push(request);
      const version = this.save(
        request.layoutData,
        'user:default/guest',
        request.versionTag,
      );
      return { version, etag: this.etag };
    }),
  };

  private async expect(ifMatch: string | undefined) {
    if (ifMatch !== undefined && ifMatch !== this.etag) {
      throw await refusal(
        412,
        'PreconditionFailedError',
        'The mockup has changed',
      );
    }
  }
}

const components = registryOf(
  ...componentsOf([...stockComponents, ...containerComponents]),
);

const authorize = jest.fn();

beforeEach(() => window.localStorage.clear());

async function open(
  backend: Backend,
  options: {
    mayUpdate?: boolean;
    mayPublish?: boolean;
  } = {},
) {
  const { mayUpdate = true, mayPublish = mayUpdate } = options;
  authorize.mockImplementation(async ({ permission }) => {
    const isPublishing = permission.name === 'mockup.page.publish';
    const isAllowed = isPublishing ? mayPublish : mayUpdate;
    return { result: isAllowed ? AuthorizeResult.ALLOW : AuthorizeResult.DENY };
  });
  const result = await renderInTestApp(<MockupsPage />, {
    initialRouteEntries: [`/${mockupId}`],
    apis: [
      [mockupApiRef, backend.api as unknown as MockupApi],
      [catalogApiRef, catalogApiMock()],
      [mockupComponentsApiRef, components],
      [
        identityApiRef,
        mockApis.identity({ userEntityRef: 'user:default/test' }),
      ],
      [permissionApiRef, { authorize }],
    ],
    mountedRoutes: { '/': rootRouteRef },
  });
  // Hidden below a dialog that offers a draft.
  await screen.findByRole('heading', {
    name: backend.mockup.name,
    hidden: true,
  });
  if (mayUpdate) {
    // What the backend says of the permission may come later than what it said before.
    await screen.findByRole('button', { name: 'Save', hidden: true });
  }
  return result;
}

const canvas = () => screen.getByRole('listbox', { name: 'Canvas' });
const items = () =>
  within(canvas())
    .queryAllByRole('option')
    .map(each => each.getAttribute('aria-label'));
const option = (name: RegExp) => within(canvas()).getByRole('option', { name });
const said = (text: string | RegExp) =>
  waitFor(() =>
    expect(
      screen
        .getAllByRole('status')
        .map(({ textContent }) => textContent)
        .join(),
    ).toMatch(text),
  );
const focus = (element: HTMLElement) => act(() => element.focus());
const press = (keys: string) => userEvent.keyboard(keys);
const button = (name: string | RegExp) => screen.getByRole('button', { name });

async function expectAccessible() {
  expect(await seriousProblems()).toEqual([]);
}

describe('the editor by the keyboard', () => {
  // The first test, because it loads the form.
  it('opens the properties by Enter, and returns by Escape', async () => {
    await open(new Backend(item('a', 0, 0, 'Hello')));
    focus(option(/Hello/));
    await press('{Enter}');
    const text = await screen.findByRole('textbox', { name: /^Text/ });
    await waitFor(() => expect(text).toHaveFocus());
    await userEvent.clear(text);
    await userEvent.type(text, 'Welcome{Enter}{Enter}all');
    expect(text).toHaveValue('Welcome\n\nall');
    expect(option(/Welcome/)).toBeInTheDocument();
    await press('{Escape}');
    expect(option(/Welcome/)).toHaveFocus();
    await press('{Control>}z{/Control}');
    expect(option(/Hello/)).toBeInTheDocument();
  });

  it('keeps the focus in the list of a form whose entry is removed', async () => {
    const links = { label: 'Home', href: '/' };
    await open(
      new Backend({
        ...item('a', 0, 0, ''),
        component: 'link-list',
        props: { links: [links, links] },
      }),
    );
    focus(option(/Link list/));
    await press('{Enter}');
    const properties = screen.getByRole('region', { name: 'Properties' });
    const removing = () =>
      within(properties).findAllByRole('button', { name: 'Remove the entry' });
    for (const count of [2, 1]) {
      const entries = await removing();
      expect(entries).toHaveLength(count);
      focus(entries[count - 1]);
      await press('{Enter}');
      await waitFor(() => expect(entries[count - 1]).not.toBeInTheDocument());
      await waitFor(() =>
        expect(properties).toContainElement(
          document.activeElement as HTMLElement,
        ),
      );
    }
  });

  it('adds, moves, resizes, copies, deletes and undoes, and says what happens', async () => {
    await open(new Backend(item('a', 0, 0, 'Hello')));
    expect(items()).toEqual(['Text “Hello”, column 1, row 1, 4 wide, 2 high']);
    focus(option(/Hello/));
    await press(' ');
    await said('1 item selected.');
    await press('{ArrowRight}{ArrowDown}');
    await said('Moved to column 2, row 2.');
    await press('{Shift>}{ArrowRight}{/Shift}');
    await said('Now 5 wide, 2 high.');
    expect(items()).toEqual(['Text “Hello”, column 2, row 2, 5 wide, 2 high']);

    focus(button('Add Button'));
    await press('{Enter}');
    await said('Added Button “Button”.');
    expect(option(/“Button”/)).toHaveFocus();
    expect(option(/“Button”/)).toHaveAttribute('aria-selected', 'true');

    await press('{Control>}a{/Control}');
    await said('2 items selected.');
    await press('{Delete}');
    await said('Deleted 2 items.');
    expect(items()).toEqual([]);
    await press('{Control>}z{/Control}');
    await said('Undone.');
    expect(items()).toHaveLength(2);
    await press('{Control>}{Shift>}z{/Shift}{/Control}');
    expect(items()).toEqual([]);
  });

  it('goes among the components by arrow keys, and past them by Tab', async () => {
    await open(new Backend(item('a', 0, 0, 'Hello')));
    focus(button('Add Header'));
    await press('{ArrowDown}{ArrowRight}');
    expect(button('Add Image')).toHaveFocus();
    await press('{ArrowUp}');
    expect(button('Add Text')).toHaveFocus();
    await press('{Tab}');
    expect(option(/Hello/)).toHaveFocus();
    await press('{Shift>}{Tab}{/Shift}');
    expect(button('Add Text')).toHaveFocus();
    await press('{Home}{ArrowUp}');
    expect(button('Add Header')).toHaveFocus();
    await press('{End}');
    expect(button('Add Tabs')).toHaveFocus();
    // So do the tools, without those that can't be pressed now.
    focus(option(/Hello/));
    await press(' ');
    focus(button('Cut'));
    await press('{ArrowRight}');
    expect(button('Copy')).toHaveFocus();
    await press('{Home}');
    expect(button('Cut')).toHaveFocus();
  });

  it('calls an item by the beginning of its text, without half of a character', async () => {
    await open(new Backend(item('a', 0, 0, `a${'🙂'.repeat(30)}`)));
    expect(items()).toEqual([
      `Text “a${'🙂'.repeat(19)}…”, column 1, row 1, 4 wide, 2 high`,
    ]);
  });

  it('has its shortcuts wherever the focus is, and lists them', async () => {
    const backend = new Backend(item('a', 0, 0, 'Hello'));
    await open(backend);
    focus(option(/Hello/));
    await press(' {ArrowRight}');
    act(() => (document.activeElement as HTMLElement).blur());
    expect(document.body).toHaveFocus();
    await press('{Control>}z{/Control}');
    expect(items()[0]).toMatch(/column 1/);
    // A keyboard with Cyrillic letters.
    const keys = { key: 'Я', code: 'KeyZ', ctrlKey: true, shiftKey: true };
    fireEvent.keyDown(document.body, keys);
    expect(items()[0]).toMatch(/column 2/);
    await press('{Control>}s{/Control}');
    expect(await screen.findByText('All changes are saved.')).toBeVisible();
    await press('?');
    const dialog = await screen.findByRole('dialog', {
      name: 'Keyboard shortcuts',
    });
    expect(within(dialog).getByText('Ctrl + S')).toBeInTheDocument();
  });

  it('copies and pastes by the clipboard of the browser', async () => {
    await open(new Backend(item('a', 1, 1, 'Hello')));
    let text = '';
    const clipboardData = {
      setData: (_: string, data: string) => {
        text = data;
      },
      getData: () => text,
    };
    await userEvent.click(option(/Hello/));
    fireEvent.copy(option(/Hello/), { clipboardData });
    await said('Copied 1 item.');
    fireEvent.paste(option(/Hello/), { clipboardData });
    expect(items()).toEqual([
      'Text “Hello”, column 2, row 2, 4 wide, 2 high',
      'Text “Hello”, column 2, row 4, 4 wide, 2 high',
    ]);
    fireEvent.cut(document.activeElement!, { clipboardData });
    expect(items()).toHaveLength(1);
    fireEvent.paste(option(/Hello/), { clipboardData });
    expect(items()).toHaveLength(2);
    // What is not seen is not cut.
    await userEvent.click(screen.getByRole('radio', { name: 'Phone' }));
    fireEvent.cut(document.body, { clipboardData });
    await userEvent.click(screen.getByRole('radio', { name: 'Edit' }));
    expect(items()).toHaveLength(2);
    text = 'something else';
    fireEvent.paste(option(/Hello.*row 2/), { clipboardData });
    await said('The clipboard holds no items of a mockup.');
  });
});

describe('containers', () => {
  const section = (i: string, y: number, ...held: LayoutItem[]) => ({
    ...item(i, 0, y, ''),
    component: 'container-section',
    props: { title: `Section ${i}`, items: held },
  });

  it('are filled, left and undone by the keyboard, and saved with what they hold', async () => {
    const backend = new Backend(
      item('a', 0, 0, 'Hello'),
      section('one', 4, item('b', 2, 0, 'Within')),
    );
    await open(backend);
    focus(option(/Section one/));
    await press('{Control>}{Enter}{/Control}');
    await said('You are in Section “Section one”.');
    expect(items()).toEqual(['Text “Within”, column 3, row 1, 4 wide, 2 high']);
    await waitFor(() => expect(option(/Within/)).toHaveFocus());

    focus(button('Add Button'));
    await press('{Enter}');
    await said('Added Button “Button”.');
    expect(items()).toHaveLength(2);
    await waitFor(() => expect(option(/“Button”/)).toHaveFocus());
    await userEvent.click(button(/^Move out of Section/));
    await said('Moved 1 item out.');
    // Below the section.
    expect(items()).toEqual([
      expect.stringMatching(/^Text “Hello”/),
      expect.stringMatching(/^Section “Section one”/),
      expect.stringMatching(/^Button “Button”, column 1, row 7/),
    ]);
    await press('{Control>}z{/Control}');
    expect(items()).toHaveLength(2);
    expect(
      screen.getByRole('navigation', { name: 'Where you are' }),
    ).toHaveTextContent('PageSection “Section one”');
    expect(await seriousProblems()).toEqual([]);

    focus(option(/Within/));
    await press('{Escape}{Escape}');
    await said('You are on the page.');
    await waitFor(() => expect(option(/Section one/)).toHaveFocus());
    await press('{Escape}');
    focus(option(/Hello/));
    await press(' ');
    await userEvent.click(button('Move into Section “Section one”'));
    await said('Moved 1 item into it.');
    await press('{Control>}s{/Control}');
    await screen.findByText('All changes are saved.');
    const [{ layoutData }] = backend.saved;
    expect(layoutData.map(({ i }) => i)).toEqual(['one']);
    expect(layoutData[0].props).toEqual({
      title: 'Section one',
      items: [
        item('b', 2, 0, 'Within'),
        expect.objectContaining({ component: 'button', x: 0, y: 2 }),
        { ...item('a', 0, 0, 'Hello'), y: 3 },
      ],
    });
  });
});

describe('the arrangement for phones', () => {
  it('has an order and leaves out items, is undone, and drawn by components as before', async () => {
    const backend = new Backend(
      item('a', 0, 0, 'Above'),
      item('b', 0, 4, 'Below'),
    );
    await open(backend);
    await userEvent.click(screen.getByRole('radio', { name: 'Phone' }));
    const texts = () =>
      [...document.querySelectorAll('[data-item]')].map(
        each => each.textContent,
      );
    await waitFor(() => expect(texts()).toEqual(['Above', 'Below']));
    expect(button('Show all as on the page')).toBeDisabled();
    await userEvent.click(button('Move Text “Below” up'));
    expect(texts()).toEqual(['Below', 'Above']);
    await userEvent.click(screen.getByRole('checkbox', { name: /Above/ }));
    expect(document.querySelector('[data-item=a]')).toHaveAttribute(
      'data-phone-hidden',
    );
    await expectAccessible();
    await press('{Control>}s{/Control}');
    await screen.findByText('All changes are saved.');
    expect(backend.saved[0].layoutData.map(({ props }) => props)).toEqual([
      { text: 'Above', $phone: { order: 1, hidden: true } },
      { text: 'Below', $phone: { order: 0 } },
    ]);
    await press('{Control>}z{/Control}');
    expect(document.querySelector('[data-phone-hidden]')).toBeNull();
    await userEvent.click(button('Show all as on the page'));
    expect(texts()).toEqual(['Above', 'Below']);
  });
});

it('keeps the focus at what orders the items for phones, and says where they are', async () => {
  await open(
    new Backend(
      ...['One', 'Two', 'Three'].map((text, at) => item(text, 0, 2 * at, text)),
    ),
  );
  await userEvent.click(screen.getByRole('radio', { name: 'Phone' }));
  focus(button('Move Text “One” down'));
  await press('{Enter}');
  await said('Text “One” is at place 2 of 3 now.');
  await waitFor(() => expect(button('Move Text “One” down')).toHaveFocus());
  await press('{Enter}');
  await said('Text “One” is at place 3 of 3 now.');
  await waitFor(() => expect(button('Move Text “One” up')).toHaveFocus());
});

it('keeps the focus among the tools where the last step is undone', async () => {
  await open(new Backend(item('a', 0, 0, 'Hello')));
  focus(option(/Hello/));
  await press(' {ArrowRight}');
  focus(button('Undo'));
  await press('{Enter}');
  await said('Undone.');
  await waitFor(() => expect(button('Redo')).toHaveFocus());
});

describe('a mockup of a thousand items', () => {
  it('draws what is in sight, and what the keyboard comes to', async () => {
    await open(
      new Backend(
        ...Array.from({ length: 1000 }, (_, n) =>
          item(`${n}`, 0, 2 * n, `Item ${n}`),
        ),
      ),
    );
    expect(items().length).toBeLessThan(100);
    focus(option(/“Item 0”/));
    await press('{End}');
    await waitFor(() => expect(option(/“Item 999”/)).toHaveFocus());
    expect(option(/“Item 999”/)).toHaveAttribute('aria-posinset', '1000');
    expect(option(/“Item 999”/)).toHaveAttribute('aria-setsize', '1000');
    await press('{Control>}a{/Control}{ArrowRight}');
    await said('Moved 1000 items.');
  });
});

describe('the editor by a pointer', () => {
  it('selects several items with Shift, and none beside them', async () => {
    await open(new Backend(item('a', 0, 0, 'Above'), item('b', 0, 4, 'Below')));
    const user = userEvent.setup();
    await user.click(option(/Above/));
    await user.keyboard('{Shift>}');
    await user.click(option(/Below/));
    await user.keyboard('{/Shift}');
    expect(
      within(canvas()).getAllByRole('option', { selected: true }),
    ).toHaveLength(2);
    fireEvent.pointerDown(canvas());
    expect(
      within(canvas()).queryAllByRole('option', { selected: true }),
    ).toHaveLength(0);
  });

  const dataTransfer = { setData: jest.fn(), dropEffect: '' };
  const startDrag = (name: string) =>
    fireEvent.dragStart(button(name), { dataTransfer });
  const fireAt = (kind: 'dragOver' | 'drop', clientX: number, y: number) => {
    // jsdom has no events of drags, and so no place of them.
    const event = createEvent[kind](canvas(), { dataTransfer });
    Object.assign(event, { clientX, clientY: y });
    fireEvent(canvas(), event);
  };

  it('takes what is dropped from the list of components', async () => {
    await open(new Backend());
    startDrag('Add Header');
    fireAt('dragOver', 700, 100);
    fireAt('drop', 700, 100);
    expect(items()).toEqual([
      expect.stringMatching(/^Header “Header”, column 1, row 3, 12 wide/),
    ]);
    await said('Added Header “Header”.');
  });

  const holding = (kind: string, i: string, ...held: LayoutItem[]) => ({
    ...{ ...item(i, 0, 0, ''), w: 12, h: 6 },
    component: `container-${kind}`,
    props: { title: i, items: held },
  });

  it.each(['section', 'columns', 'tabs'])(
    'puts a component that is dropped on %s into it, and the keyboard what it adds',
    async kind => {
      const held = item('a', 0, 0, 'First');
      const backend = new Backend(holding(kind, 'Box', held));
      await open(backend);
      canvas().getBoundingClientRect = () => new DOMRect(0, 0, 1200, 800);
      startDrag('Add Button');
      fireAt('dragOver', 700, 100);
      expect(option(/“Box”, column 1, row 1/)).toHaveAttribute('data-target');
      fireAt('drop', 700, 100);
      await said(/Added Button “Button” to .* “Box”\.$/);
      await waitFor(() => expect(option(/“Box”/)).toHaveFocus());
      expect(items()).toHaveLength(1);

      focus(button('Add Chart'));
      await press('{Enter}');
      await waitFor(() => expect(option(/^Chart/)).toHaveFocus());
      focus(button(/^Move into .* “Box”/));
      await press('{Enter}{Control>}s{/Control}');
      await screen.findByText('All changes are saved.');
      expect(backend.saved[0].layoutData[0].props.items).toMatchObject([
        { i: 'a', y: 0 },
        { component: 'button', x: 0, y: 2 },
        { component: 'chart' },
      ]);
    },
  );
});

describe('saving', () => {
  const change = async () => {
    focus(option(/Hello/));
    await press(' {ArrowRight}');
  };

  it('saves a version with a tag and a message, over what was read', async () => {
    const backend = new Backend(item('a', 0, 0, 'Hello'));
    const { etag } = backend;
    await open(backend);
    expect(screen.getByText('All changes are saved.')).toBeInTheDocument();
    await change();
    expect(screen.getByText('Not saved yet.')).toBeInTheDocument();
    await screen.findByText('Not saved yet. This browser keeps a draft.');
    await userEvent.click(button('Save with a tag or message'));
    await userEvent.type(screen.getByLabelText('Tag'), 'for review');
    await userEvent.type(screen.getByLabelText('Message'), 'Moved it');
    await userEvent.click(
      within(screen.getByRole('dialog')).getByRole('button', { name: 'Save' }),
    );
    await screen.findByText('All changes are saved.');
    expect(backend.api.saveVersion.mock.calls).toEqual([
      [
        mockupId,
        {
          layoutData: [{ ...item('a', 1, 0, 'Hello') }],
          versionTag: 'for review',
          message: 'Moved it',
        },
        { ifMatch: etag },
      ],
    ]);
  });

  const saveWithTag = async (tag: string) => {
    await userEvent.click(button('Save with a tag or message'));
    await userEvent.type(screen.getByLabelText('Tag'), tag);
    await userEvent.click(
      within(screen.getByRole('dialog')).getByRole('button', { name: 'Save' }),
    );
  };

  it('keeps the tag until it is saved, also where that is done in another way', async () => {
    const backend = new Backend(item('a', 0, 0, 'Hello'));
    await open(backend);
    backend.api.saveVersion.mockRejectedValueOnce(new TypeError('No answer'));
    await saveWithTag('for review');
    await screen.findByRole('alert');
    await userEvent.click(button('Save with a tag or message'));
    expect(screen.getByLabelText('Tag')).toHaveValue('for review');
    await userEvent.click(button('Cancel'));
    await userEvent.click(button('Save'));
    await said('Saved.');
    expect(backend.saved).toMatchObject([{ versionTag: 'for review' }]);
    await change();
    await userEvent.click(button('Save'));
    await screen.findByText('All changes are saved.');
    expect(backend.saved.at(-1)).not.toHaveProperty('versionTag');
  });

  it('takes no tag while it is still saving, which would be lost', async () => {
    const backend = new Backend(item('a', 0, 0, 'Hello'));
    await open(backend);
    await change();
    let answer: () => void = () => {};
    const { saveVersion } = backend.api;
    const save = saveVersion.getMockImplementation()!;
    saveVersion.mockImplementationOnce(async (...request) => {
      await new Promise<void>(resolve => {
        answer = resolve;
      });
      return save(...request);
    });
    await userEvent.click(button('Save'));
    await saveWithTag('for review');
    expect(screen.getByLabelText('Tag')).toHaveValue('for review');
    await act(async () => answer());
  });

  it('says aloud that the backend does not answer', async () => {
    const backend = new Backend(item('a', 0, 0, 'Hello'));
    await open(backend);
    await change();
    backend.api.saveVersion.mockReturnValue(new Promise(() => {}));
    // A region that comes with its text is not read out.
    const regions = screen.getAllByRole('status');
    jest.useFakeTimers();
    try {
      act(() => button('Save').click());
      await act(() => jest.advanceTimersByTimeAsync(5_000));
      const text = screen.getByText(/^Saving: the backend has not answered/);
      expect(regions).toContain(text.closest('[role="status"]'));
    } finally {
      jest.useRealTimers();
    }
  });

  it('saves a tag of what is saved, also where the mockup was shared meanwhile', async () => {
    const backend = new Backend(item('a', 0, 0, 'Hello'));
    await open(backend);
    backend.share([{ group: 'group:default/designers', access: 'read' }]);
    await saveWithTag('for review');
    await said('Saved.');
    expect(backend.saved).toEqual([
      expect.objectContaining({ versionTag: 'for review' }),
    ]);
  });

  it('saves the name and description beside the layout', async () => {
    const backend = new Backend(item('a', 0, 0, 'Hello'));
    await open(backend);
    await userEvent.click(button('Name and description'));
    const name = screen.getByRole('textbox', { name: /^Name/ });
    await userEvent.clear(name);
    await userEvent.click(button('Done'));
    expect(screen.getByText('Name is missing.')).toBeInTheDocument();
    await userEvent.type(name, 'Home');
    await userEvent.click(button('Done'));
    await screen.findByRole('heading', { name: 'Home' });
    await userEvent.click(button('Save'));
    await screen.findByText('All changes are saved.');
    expect(button('Save')).toBeEnabled();
    expect(button('Save')).toHaveFocus();
    expect(backend.mockup.name).toBe('Home');
    expect(backend.api.saveVersion).not.toHaveBeenCalled();
  });

  it.each([
    [403, /You may not do this/],
    [404, /was deleted, or is no longer shared/],
    [401, /Your session has ended. Sign in again in another tab/],
    [503, /No database \(Try again in 10 seconds\.\)/],
  ])('loses nothing where the backend answers %s', async (status, text) => {
    const backend = new Backend(item('a', 0, 0, 'Hello'));
    await open(backend);
    await change();
    backend.api.saveVersion.mockRejectedValueOnce(
      await refusal(
        status,
        'Error',
        'No database',
        status === 503 ? { 'Retry-After': '10' } : {},
      ),
    );
    await userEvent.click(button('Save'));
    expect(await screen.findByRole('alert')).toHaveTextContent(text);
    expect(items()).toEqual(['Text “Hello”, column 2, row 1, 4 wide, 2 high']);
    await expectAccessible();
    await userEvent.click(
      within(screen.getByRole('alert')).getByRole('button', {
        name: 'Try again',
      }),
    );
    await screen.findByText('All changes are saved.');
  });

  const share = async () => {
    await userEvent.click(button('Share'));
    await userEvent.type(
      await screen.findByRole('combobox'),
      'default/designers{Enter}',
    );
    await userEvent.click(
      within(screen.getByRole('dialog')).getByRole('button', { name: 'Save' }),
    );
    await said(/The sharing of “Start page” is saved/);
  };

  it('overwrites nothing that was saved before the mockup was shared here', async () => {
    const backend = new Backend(item('a', 0, 0, 'Hello'));
    await open(backend);
    await change();
    backend.save([item('a', 0, 8, 'Hello')], 'user:default/peter');
    await share();
    await userEvent.click(button('Save'));
    await screen.findByRole('dialog', {
      name: 'Somebody has changed this mockup meanwhile',
    });
    expect(backend.saved).toEqual([]);
  });

  it('says so where there is no answer, and knows what was saved without one', async () => {
    const backend = new Backend(item('a', 0, 0, 'Hello'));
    await open(backend);
    await change();
    backend.api.saveVersion.mockImplementationOnce(async (_, request) => {
      backend.save(request.layoutData, 'user:default/guest');
      throw new TypeError('Failed to fetch');
    });
    await userEvent.click(button('Save'));
    expect(await screen.findByRole('alert')).toHaveTextContent(
      /does not answer/,
    );
    await userEvent.click(button('Try again'));
    await screen.findByText('All changes are saved.');
    expect(backend.revision).toBe(3);
  });

  it('goes on over what it has saved without an answer, whose tag it does not give twice', async () => {
    const backend = new Backend(item('a', 0, 0, 'Hello'));
    await open(backend);
    await change();
    backend.api.saveVersion.mockImplementationOnce(async (_, request) => {
      const { layoutData, versionTag } = request;
      backend.save(layoutData, 'user:default/guest', versionTag);
      throw new TypeError('Failed to fetch');
    });
    await saveWithTag('for review');
    await screen.findByRole('alert');
    focus(option(/Hello/));
    await press('{ArrowRight}');
    await userEvent.click(button('Save'));
    await screen.findByText('All changes are saved.');
    expect(backend.saved).toEqual([{ layoutData: [item('a', 2, 0, 'Hello')] }]);
  });

  it('saves the rest where the answer to the first half was lost', async () => {
    const backend = new Backend(item('a', 0, 0, 'Hello'));
    await open(backend);
    await change();
    await userEvent.click(button('Name and description'));
    await userEvent.type(
      screen.getByRole('textbox', { name: /^Name/ }),
      ' of us',
    );
    await userEvent.click(button('Done'));
    backend.api.updateMockup.mockImplementationOnce(async () => {
      backend.rename('Start page of us');
      throw new TypeError('Failed to fetch');
    });
    await userEvent.click(button('Save'));
    await screen.findByRole('alert');
    await userEvent.click(button('Try again'));
    await screen.findByText('All changes are saved.');
    expect(backend.saved).toMatchObject([{ layoutData: [{ x: 1 }] }]);
  });

  it('saves a copy where the original may not be changed', async () => {
    const backend = new Backend(item('a', 0, 0, 'Hello'));
    await open(backend, { mayUpdate: false });
    await screen.findByText('You may look at this mockup, but not change it');
    expect(screen.queryByRole('button', { name: 'Save' })).toBeNull();
    focus(option(/Hello/));
    await press(' {ArrowRight}{Delete}');
    expect(items()).toEqual(['Text “Hello”, column 1, row 1, 4 wide, 2 high']);
    await userEvent.click(button('Save a copy'));
    expect(screen.getByRole('textbox', { name: /^Name/ })).toHaveValue(
      'Copy of Start page',
    );
    await userEvent.click(
      within(screen.getByRole('dialog')).getByRole('button', {
        name: 'Save a copy',
      }),
    );
    await waitFor(() =>
      expect(backend.api.saveVersion.mock.calls).toEqual([
        [
          'another',
          { layoutData: [item('a', 0, 0, 'Hello')] },
          { ifMatch: '"2"' },
        ],
      ]),
    );
    await waitFor(() => expect(screen.queryByRole('dialog')).toBeNull());
  });

  it.each([true, false])(
    'offers to publish what may not be changed where there is a version (%s)',
    async isThere => {
      const backend = new Backend(item('a', 0, 0, 'Hello'));
      const latestVersion = isThere ? backend.mockup.latestVersion : null;
      backend.mockup = { ...backend.mockup, latestVersion };
      await open(backend, { mayUpdate: false, mayPublish: true });
      await screen.findByText('You may look at this mockup, but not change it');
      await act(async () => {
        await Promise.all(authorize.mock.results.map(({ value }) => value));
      });
      const publish = screen.queryByRole('button', { name: 'Publish' });
      expect(publish !== null).toBe(isThere);
    },
  );

  it('opens the copy as it is saved, once that is read', async () => {
    const backend = new Backend(item('a', 0, 0, 'Hello'));
    await open(backend);
    let answer: (copy: {
      mockup: MockupWithLatestVersion;
      etag: string;
    }) => void;
    backend.api.getMockup.mockReturnValue(
      new Promise(resolve => {
        answer = resolve;
      }),
    );
    backend.api.saveVersion.mockRejectedValueOnce(new TypeError('No answer'));
    await userEvent.click(button('Save a copy'));
    const dialog = screen.getByRole('dialog');
    const submit = () =>
      userEvent.click(
        within(dialog).getByRole('button', { name: 'Save a copy' }),
      );
    await submit();
    await within(dialog).findByRole('alert');
    const name = screen.getByRole('textbox', { name: /^Name/ });
    await userEvent.clear(name);
    await userEvent.type(name, 'Mine');
    await submit();
    await waitFor(() => expect(screen.queryByRole('dialog')).toBeNull());
    expect(backend.api.createMockup).toHaveBeenCalledTimes(1);
    expect(backend.api.updateMockup.mock.calls).toEqual([
      ['another', { name: 'Mine', description: null }],
    ]);

    await waitFor(() =>
      expect(authorize).toHaveBeenCalledWith(
        expect.objectContaining({ resourceRef: 'another' }),
      ),
    );
    await act(async () => {
      await authorize.mock.results.at(-1)?.value;
    });
    await act(async () => {
      answer({
        mockup: { ...backend.mockup, id: 'another', name: 'Mine' },
        etag: '"1"',
      });
    });
    expect(
      await screen.findByRole('heading', { name: 'Mine' }),
    ).toBeInTheDocument();
  });
});

describe('two people in one mockup', () => {
  const meet = async (theirs: LayoutItem[]) => {
    const backend = new Backend(
      item('a', 0, 0, 'Hello'),
      item('b', 4, 0, 'World'),
    );
    await open(backend);
    focus(option(/Hello/));
    await press(' {ArrowDown}');
    backend.save(theirs, 'user:default/peter');
    await userEvent.click(button('Save'));
    const dialog = await screen.findByRole('dialog', {
      name: 'Somebody has changed this mockup meanwhile',
    });
    return { backend, dialog };
  };
  const choose = async (name: string) =>
    userEvent.click(
      within(screen.getByRole('dialog')).getByRole('button', { name }),
    );

  it('see what has changed, and take it', async () => {
    const { backend, dialog } = await meet([item('a', 0, 0, 'Hello')]);
    expect(dialog).toHaveTextContent(
      'Text “World”: Removed from column 5, row 1',
    );
    const [mine, theirs] = ['Yours', 'Theirs'].map(name =>
      within(within(dialog).getByRole('region', { name })),
    );
    for (const pane of [mine, theirs]) {
      expect(
        pane.getByRole('button', {
          name: /“Hello”.*Moved from column 1, row 2/,
        }),
      ).toBeInTheDocument();
    }
    expect(
      mine.getByRole('button', { name: /“World”.*Removed/ }),
    ).toBeInTheDocument();
    expect(theirs.queryByRole('button', { name: /“World”/ })).toBeNull();
    await userEvent.click(button('Next difference'));
    expect(dialog).toHaveTextContent('Difference 1 of 2');
    await expectAccessible();
    await choose('Take theirs');
    expect(items()).toEqual(['Text “Hello”, column 1, row 1, 4 wide, 2 high']);
    expect(backend.saved).toEqual([]);
    await userEvent.click(button('Undo'));
    expect(items()[0]).toBe('Text “Hello”, column 1, row 2, 4 wide, 2 high');
  });

  it('save theirs on top of the other', async () => {
    const { backend } = await meet([item('a', 0, 0, 'Hello')]);
    await choose('Save mine on top');
    await screen.findByText('All changes are saved.');
    expect(backend.saved.map(({ layoutData }) => layoutData)).toEqual([
      [item('a', 0, 1, 'Hello'), item('b', 4, 0, 'World')],
    ]);
  });

  it('are told in the dialog that nothing was saved, and try again there', async () => {
    const { backend, dialog } = await meet([item('a', 0, 0, 'Hello')]);
    backend.api.saveVersion.mockRejectedValueOnce(new TypeError('No answer'));
    await choose('Save mine on top');
    expect(await within(dialog).findByRole('alert')).toHaveTextContent(
      /could not be saved.*does not answer/,
    );
    await choose('Save mine on top');
    await screen.findByText('All changes are saved.');
    expect(screen.queryByRole('dialog')).toBeNull();
  });

  it('merge what does not touch the same, and save it', async () => {
    const { backend } = await meet([
      item('a', 0, 0, 'Hello'),
      item('b', 4, 0, 'Everybody'),
    ]);
    await choose('Merge');
    await said(/both together, and not saved yet/);
    await userEvent.click(button('Save'));
    await screen.findByText('All changes are saved.');
    expect(backend.saved.map(({ layoutData }) => layoutData)).toEqual([
      [item('a', 0, 1, 'Hello'), item('b', 4, 0, 'Everybody')],
    ]);
  });

  it('choose where both have changed the same', async () => {
    await meet([item('a', 6, 6, 'Hello'), item('b', 4, 0, 'World')]);
    await choose('Merge');
    const dialog = screen.getByRole('dialog', { name: 'Merge both' });
    await expectAccessible();
    await userEvent.click(
      within(dialog).getByRole('radio', { name: /^Theirs: .*column 7, row 7/ }),
    );
    await choose('Use the result');
    expect(items()[0]).toBe('Text “Hello”, column 7, row 7, 4 wide, 2 high');
  });

  it('are told that the other has deleted it', async () => {
    const backend = new Backend(item('a', 0, 0, 'Hello'));
    await open(backend);
    focus(option(/Hello/));
    await press(' {ArrowDown}');
    backend.revision += 1;
    backend.api.getMockup.mockResolvedValueOnce(undefined);
    await userEvent.click(button('Save'));
    expect(await screen.findByRole('alert')).toHaveTextContent(
      /was deleted, or is no longer shared/,
    );
  });
});

describe('a draft', () => {
  const draftOf = () =>
    new DraftStore('user:default/test').read(mockupId).at(0);

  it('is kept soon after a change, offered at the next visit, and gone once saved', async () => {
    const backend = new Backend(item('a', 0, 0, 'Hello'));
    const { unmount } = await open(backend);
    focus(option(/Hello/));
    await press(' {ArrowRight}');
    await waitFor(() => expect(draftOf()?.content.items[0].x).toBe(1));
    // In the browser itself: a portal may keep its settings in the backend.
    expect(Object.keys(window.localStorage).join()).toContain(mockupId);
    unmount();

    await open(backend);
    const dialog = await screen.findByRole('dialog', {
      name: 'There is a draft that was never saved',
    });
    expect(dialog).toHaveTextContent('Text “Hello”: Moved');
    await expectAccessible();
    await press('{Escape}');
    expect(dialog).toBeInTheDocument();
    await userEvent.click(button('Continue with the draft'));
    expect(items()).toEqual(['Text “Hello”, column 2, row 1, 4 wide, 2 high']);
    await userEvent.click(button('Save'));
    await screen.findByText('All changes are saved.');
    await waitFor(() => expect(draftOf()).toBeUndefined());
  });

  it('is gone where it was saved although the page was loaded again meanwhile', async () => {
    const backend = new Backend(item('a', 0, 0, 'Hello'));
    const { unmount } = await open(backend);
    focus(option(/Hello/));
    await press(' {ArrowRight}');
    await waitFor(() => expect(draftOf()).toBeDefined());
    unmount();
    backend.save(draftOf()!.content.items as LayoutItem[], 'user:default/test');

    await open(backend);
    expect(items()).toEqual(['Text “Hello”, column 2, row 1, 4 wide, 2 high']);
    await waitFor(() => expect(draftOf()).toBeUndefined());
  });

  it('of each of two tabs is offered, until it is saved or discarded', async () => {
    const backend = new Backend(item('a', 0, 0, 'Hello'));
    const { unmount } = await open(backend);
    focus(option(/Hello/));
    await press(' {ArrowRight}');
    await waitFor(() => expect(draftOf()).toBeDefined());
    const own = draftOf()!;
    const theirs = { ...own.content, name: 'Of the other tab' };
    await new DraftStore('user:default/test').write(mockupId, {
      ...own,
      ...{ id: 'other', content: theirs, at: '2026-11-20T12:00:00.000Z' },
    });
    await press('{ArrowRight}');
    unmount();

    const { unmount: unmountAgain } = await open(backend);
    const dialog = () => screen.findByRole('dialog');
    expect(await dialog()).toHaveTextContent('Text “Hello”: Moved');
    await userEvent.click(button('Show another draft'));
    expect(await dialog()).toHaveTextContent('Of the other tab');
    await expectAccessible();
    await userEvent.click(button('Show another draft'));
    await userEvent.click(button('Continue with the draft'));
    expect(items()).toEqual(['Text “Hello”, column 3, row 1, 4 wide, 2 high']);
    await userEvent.click(button('Save'));
    await screen.findByText('All changes are saved.');
    unmountAgain();

    await open(backend);
    expect(await dialog()).toHaveTextContent('Of the other tab');
    await userEvent.click(button('Discard the draft'));
    await waitFor(() => expect(draftOf()).toBeUndefined());
  });

  it('is kept where another tab discards it, or goes on with it', async () => {
    const backend = new Backend(item('a', 0, 0, 'Hello'));
    await open(backend);
    focus(option(/Hello/));
    await press(' {ArrowRight}');
    await screen.findByText('Not saved yet. This browser keeps a draft.');
    const otherTab = new DraftStore('user:default/test');
    const key = `mockup.drafts/user%3Adefault%2Ftest/${mockupId}`;
    const inOtherTab = (change: () => Promise<void>) =>
      act(async () => {
        await change();
        window.dispatchEvent(new StorageEvent('storage', { key }));
      });
    await inOtherTab(() => otherTab.remove(mockupId, draftOf()!.id));
    expect(draftOf()?.content.items[0].x).toBe(1);

    const kept = draftOf()!;
    const theirs = { ...kept, content: { ...kept.content, name: 'Theirs' } };
    await inOtherTab(() =>
      otherTab.write(mockupId, { ...theirs, at: '2026-11-20T12:00:00.000Z' }),
    );
    expect(otherTab.read(mockupId).map(({ content }) => content.name)).toEqual([
      'Start page',
      'Theirs',
    ]);
  });

  it('is offered too where the backend refuses its layout for being beyond a limit', async () => {
    const backend = new Backend(item('a', 0, 0, 'Hello'));
    const { unmount } = await open(backend);
    focus(option(/Hello/));
    await press(' ');
    const row = screen.getByRole('textbox', { name: 'Row' });
    await userEvent.clear(row);
    await userEvent.type(row, '9000000{Tab}');
    await screen.findByText('Not saved yet. This browser keeps a draft.');
    unmount();

    await open(backend);
    await userEvent.click(
      await screen.findByRole('button', { name: 'Continue with the draft' }),
    );
    expect(items()).toEqual([
      'Text “Hello”, column 1, row 1000000, 4 wide, 2 high',
    ]);
  });

  it('is not said to be kept where it cannot be read again', async () => {
    await open(new Backend(item('a', 0, 0, 'Hello')));
    focus(option(/Hello/));
    await press(' ');
    fireEvent.change(await screen.findByRole('textbox', { name: /^Text/ }), {
      target: { value: 'Half of a pair: \ud800' },
    });
    expect(
      await screen.findByText(/this browser keeps no draft/),
    ).toBeVisible();
  });

  it('of an older version shows what others have saved since, before it is saved', async () => {
    const backend = new Backend(item('a', 0, 0, 'Hello'));
    const { unmount } = await open(backend);
    focus(option(/Hello/));
    await press(' {ArrowRight}');
    unmount();
    const before = backend.mockup.latestVersion ?? undefined;
    backend.api.getVersion.mockResolvedValue(before);
    backend.save(
      [item('a', 0, 0, 'Hello'), item('b', 0, 8, 'New')],
      'user:default/peter',
    );
    await open(backend);
    await userEvent.click(
      await screen.findByRole('button', { name: 'Continue with the draft' }),
    );
    await userEvent.click(button('Save'));
    const dialog = await screen.findByRole('dialog', {
      name: 'Somebody has changed this mockup meanwhile',
    });
    expect(
      within(dialog)
        .getAllByText(/: (Added|Moved)/)
        .map(({ textContent }) => textContent),
    ).toEqual([expect.stringMatching(/^Text “New”: Added at/)]);
  });
});

describe('leaving with something unsaved', () => {
  it('asks, and stays or goes', async () => {
    await open(new Backend(item('a', 0, 0, 'Hello')));
    focus(option(/Hello/));
    await press(' {ArrowRight}');
    const event = new Event('beforeunload', { cancelable: true });
    act(() => {
      window.dispatchEvent(event);
    });
    expect(event.defaultPrevented).toBe(true);

    await userEvent.click(screen.getByRole('link', { name: 'Versions' }));
    await userEvent.click(await screen.findByRole('button', { name: 'Stay' }));
    expect(items()).toHaveLength(1);
    await userEvent.click(screen.getByRole('link', { name: 'Versions' }));
    await userEvent.click(await screen.findByRole('button', { name: 'Leave' }));
    await waitFor(() => expect(screen.queryByRole('listbox')).toBeNull());
  });

  it('asks where JSON was typed and not applied, of which there is no draft', async () => {
    await open(new Backend(item('a', 0, 0, 'Hello')));
    await userEvent.click(screen.getByRole('radio', { name: 'JSON' }));
    fireEvent.change(screen.getByLabelText('The layout as JSON'), {
      target: { value: '[]' },
    });
    expect(screen.getByText('Not saved yet.')).toBeVisible();
    await userEvent.click(screen.getByRole('link', { name: 'Versions' }));
    expect(await screen.findByRole('dialog')).toHaveTextContent(
      'This browser keeps no draft: it would be lost.',
    );
  });
});

describe('the layout as JSON', () => {
  it('names what is wrong, where and what is expected, and applies what is right', async () => {
    await open(new Backend(item('a', 0, 0, 'Hello')));
    await userEvent.click(screen.getByRole('radio', { name: 'JSON' }));
    const text = screen.getByLabelText('The layout as JSON');
    fireEvent.change(text, { target: { value: '[{]' } });
    expect(screen.getByText(/Not valid JSON/)).toBeInTheDocument();
    fireEvent.change(text, {
      target: { value: JSON.stringify([{ ...item('a', 0, 0, ''), x: -1 }]) },
    });
    expect(
      screen.getByText(/\[0\]\.x must be an integer >= 0, got -1/),
    ).toBeInTheDocument();
    expect(button('Apply')).toBeDisabled();
    await expectAccessible();

    fireEvent.change(text, {
      target: { value: JSON.stringify([item('z', 3, 3, 'Typed')]) },
    });
    await userEvent.click(screen.getByRole('radio', { name: 'Edit' }));
    expect(items()[0]).toMatch(/Hello/);
    await userEvent.click(screen.getByRole('radio', { name: 'JSON' }));
    await userEvent.click(button('Apply'));
    // Both buttons are disabled now.
    expect(screen.getByLabelText('The layout as JSON')).toHaveFocus();
    await userEvent.click(screen.getByRole('radio', { name: 'Edit' }));
    expect(items()).toEqual(['Text “Typed”, column 4, row 4, 4 wide, 2 high']);
  });
});

describe('a mockup that is not there', () => {
  it('is said to be missing', async () => {
    const backend = new Backend();
    backend.api.getMockup.mockResolvedValue(undefined);
    // What the title says instead of a name.
    backend.mockup = { ...backend.mockup, name: 'Mockup' };
    await open(backend, { mayUpdate: false });
    const alert = await screen.findByRole('alert');
    expect(alert).toHaveTextContent('There is no such mockup');
    expect(
      within(alert).getByRole('link', { name: 'All mockups' }),
    ).toBeInTheDocument();
  });
});

it('has nothing that a screen reader stumbles over', async () => {
  await open(new Backend(item('a', 0, 0, 'Hello'), item('b', 4, 0, 'World')));
  await userEvent.click(option(/Hello/));
  await screen.findByRole('textbox', { name: /^Text/ });
  expect(await seriousProblems()).toEqual([]);
});
