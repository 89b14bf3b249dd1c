import { renderInTestApp } from '@backstage/frontend-test-utils';
import { screen, waitFor, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import type {
  LayoutItem,
  MockupApi,
  Version,
} from 'backstage-plugin-mockup-common';
import { componentThatShows } from '../__testUtils__/components';
import { method, refusal, seriousProblems } from '../__testUtils__/mockups';
import { mockupApiRef } from '../api';
import { mockupComponentsApiRef } from '../components/registry/MockupComponentBlueprint';
import { MockupsPage } from '../MockupsPage';
import { rootRouteRef } from '../routes';

const MOCKUP = {
  id: 'm',
  name: 'Start page',
  owner: 'user:default/anna',
  createdAt: '2026-11-20T10:00:00.000Z',
  updatedAt: '2026-11-20T10:00:00.000Z',
};

const COMPONENTS = componentThatShows('text', 'Button');

const item = (i: string, more: Partial<LayoutItem> = {}): LayoutItem => ({
  i,
  x: 0,
  y: 0,
  w: 4,
  h: 2,
  component: 'button',
  props: { text: i },
  ...more,
});

const versionOf = (id: string, more: Partial<Version> = {}): Version => ({
  id,
  mockupId: 'm',
  versionTag: id,
  layoutData: [],
  createdBy: 'user:default/anna',
  createdAt: '2026-11-20T10:00:00.000Z',
  ...more,
});

/** A mockup with versions, the newest first. */
function mockHistory(versions: Version[]) {
  return {
    getMockup: method('getMockup', async () => ({
      mockup: { ...MOCKUP, latestVersion: versions[0] ?? null },
      etag: '"1"',
    })),
    listVersions: method('listVersions', async () => ({
      items: versions,
      totalItems: versions.length,
    })),
    listPagesOf: method('listPagesOf', async () => []),
    getReview: method('getReview', async () => ({
      isRequired: false,
      ready: [],
    })),
    getVersion: method('getVersion', async (_, id) =>
      versions.find(version => version.id === id),
    ),
    restoreVersion: method('restoreVersion', async (_, id) => ({
      version: versionOf('restored', { restoredFrom: id }),
      etag: '"2"',
    })),
    updateVersion: method('updateVersion', async (_, id, { versionTag }) => ({
      version: versionOf(id, { versionTag: versionTag ?? undefined }),
      etag: '"2"',
    })),
  };
}

const render = (api: ReturnType<typeof mockHistory>, at: string) =>
  renderInTestApp(<MockupsPage />, {
    apis: [
      [mockupApiRef, api as unknown as MockupApi],
      [mockupComponentsApiRef, COMPONENTS],
    ],
    mountedRoutes: { '/': rootRouteRef },
    initialRouteEntries: [at],
  });

const button = (name: string | RegExp) => screen.findByRole('button', { name });

describe('the versions of a mockup', () => {
  const THREE = [
    versionOf('three', { restoredFrom: 'one', layoutData: [item('a')] }),
    versionOf('two', {
      createdBy: 'user:default/peter',
      message: 'The button has moved.',
    }),
    versionOf('one', { versionTag: undefined }),
  ];

  it('says who has saved each, when, and what it was restored from', async () => {
    await render(mockHistory(THREE), '/m/versions');
    const list = await screen.findByRole('list', { name: 'Versions' });
    const rows = within(list).getAllByRole('listitem');
    expect(rows.map(row => row.textContent)).toEqual([
      expect.stringMatching(
        /^No\. 3threeNewest.*anna, .*ago \(.*2026.*\), 1 item.*Restored from Version of .*2026/,
      ),
      expect.stringMatching(
        /^No\. 2two.*The button has moved\..*peter, .*0 items/,
      ),
      expect.stringMatching(/^No\. 1Version of .*2026.*anna/),
    ]);
    expect(screen.getByText('The button has moved.')).toHaveAttribute(
      'dir',
      'auto',
    );
    // What it looks like: a box for each item.
    expect(rows.map(row => row.querySelectorAll('rect').length)).toEqual([
      1, 0, 0,
    ]);
    expect(within(rows[1]).getByRole('link', { name: 'two' })).toHaveAttribute(
      'href',
      '/m/versions/two',
    );
    expect(await seriousProblems()).toEqual([]);
  });

  it('calls one by its time where its tag is only blanks', async () => {
    await render(
      mockHistory([versionOf('one', { versionTag: '  ' })]),
      '/m/versions',
    );
    expect(
      await screen.findByRole('link', { name: /^Version of .*2026/ }),
    ).toBeVisible();
  });

  it('restores one, if nobody has saved meanwhile', async () => {
    const api = mockHistory(THREE);
    await render(api, '/m/versions');
    await userEvent.click(await button('Restore two'));
    const dialog = await screen.findByRole('dialog');
    expect(dialog).toHaveTextContent('saves its layout as a new version');
    expect(api.restoreVersion).not.toHaveBeenCalled();
    expect(await seriousProblems()).toEqual([]);
    await userEvent.click(
      within(dialog).getByRole('button', { name: 'Restore' }),
    );
    expect(
      await screen.findByText('two was restored as a new version.'),
    ).toBeInTheDocument();
    expect(api.restoreVersion).toHaveBeenCalledWith('m', 'two', {
      ifMatch: '"1"',
    });
    await waitFor(() => expect(api.listVersions).toHaveBeenCalledTimes(2));
  });

  it('reads the list again where that has failed after a version was restored', async () => {
    const api = mockHistory(THREE);
    await render(api, '/m/versions');
    await userEvent.click(await button('Restore two'));
    api.listVersions.mockRejectedValueOnce(new TypeError('No answer'));
    await userEvent.click(
      within(await screen.findByRole('dialog')).getByRole('button', {
        name: 'Restore',
      }),
    );
    await userEvent.click(await button('Try again'));
    await waitFor(() => expect(screen.queryByRole('alert')).toBeNull());
    expect(
      within(screen.getByRole('list', { name: 'Versions' })).getAllByRole(
        'listitem',
      ),
    ).toHaveLength(3);
  });

  it('says who has saved meanwhile, and restores only if asked again', async () => {
    const api = mockHistory(THREE);
    await render(api, '/m/versions');
    await userEvent.click(await button('Restore two'));
    api.restoreVersion.mockRejectedValueOnce(
      await refusal(412, 'PreconditionFailedError', 'It has changed'),
    );
    api.getMockup.mockResolvedValue({
      mockup: {
        ...MOCKUP,
        latestVersion: versionOf('four', { createdBy: 'user:default/peter' }),
      },
      etag: '"9"',
    });
    const dialog = await screen.findByRole('dialog');
    await userEvent.click(
      within(dialog).getByRole('button', { name: 'Restore' }),
    );
    const alert = await within(dialog).findByRole('alert');
    expect(alert).toHaveTextContent(/Nothing was restored.*four, peter/);
    expect(
      within(alert).getByRole('link', { name: /Compare/ }),
    ).toHaveAttribute('href', '/m/versions/four/compare/two');
    await userEvent.click(
      within(dialog).getByRole('button', { name: 'Restore anyway' }),
    );
    await waitFor(() =>
      expect(api.restoreVersion).toHaveBeenLastCalledWith('m', 'two', {
        ifMatch: '"9"',
      }),
    );
  });

  it('restores one once where the answer was lost', async () => {
    const api = mockHistory(THREE);
    await render(api, '/m/versions');
    await userEvent.click(await button('Restore two'));
    api.restoreVersion.mockRejectedValueOnce(new TypeError('No answer'));
    api.restoreVersion.mockRejectedValueOnce(
      await refusal(412, 'PreconditionFailedError', 'It has changed'),
    );
    const latestVersion = versionOf('restored', {
      versionTag: undefined,
      restoredFrom: 'two',
    });
    api.getMockup.mockResolvedValue({
      mockup: { ...MOCKUP, latestVersion },
      etag: '"2"',
    });
    const dialog = await screen.findByRole('dialog');
    const submit = within(dialog).getByRole('button', { name: 'Restore' });
    await userEvent.click(submit);
    await within(dialog).findByRole('alert');
    await userEvent.click(submit);
    expect(
      await screen.findByText('two was restored as a new version.'),
    ).toBeInTheDocument();
    expect(dialog).not.toBeInTheDocument();
  });

  it('renames and removes a tag where it stands', async () => {
    const api = mockHistory(THREE);
    await render(api, '/m/versions');
    await userEvent.click(await button('Change the tag of two'));
    const field = await screen.findByRole('textbox', { name: 'Tag' });
    expect(field).toHaveFocus();
    await userEvent.keyboard('second{Enter}');
    expect(
      await screen.findByText('The tag second was saved.'),
    ).toBeInTheDocument();
    expect(api.updateVersion).toHaveBeenCalledWith(
      'm',
      'two',
      { versionTag: 'second' },
      { ifMatch: '"1"' },
    );
    const again = await button('Change the tag of second');
    await waitFor(() => expect(again).toHaveFocus());

    await userEvent.click(await button('Change the tag of second'));
    await userEvent.clear(await screen.findByRole('textbox', { name: 'Tag' }));
    await userEvent.click(await button('Save tag'));
    expect(await screen.findByText('The tag was removed.')).toBeInTheDocument();
    expect(api.updateVersion).toHaveBeenLastCalledWith(
      'm',
      'two',
      { versionTag: null },
      { ifMatch: '"2"' },
    );
  });

  it('keeps a tag that was typed where somebody has saved meanwhile', async () => {
    const api = mockHistory(THREE);
    await render(api, '/m/versions');
    await userEvent.click(await button('Change the tag of two'));
    await screen.findByRole('textbox', { name: 'Tag' });
    api.updateVersion.mockRejectedValueOnce(
      await refusal(412, 'PreconditionFailedError', 'It has changed'),
    );
    api.getMockup.mockResolvedValue({
      mockup: { ...MOCKUP, latestVersion: THREE[0] },
      etag: '"9"',
    });
    await userEvent.keyboard('second{Enter}');
    expect(await screen.findByRole('alert')).toHaveTextContent(
      'Somebody has saved meanwhile',
    );
    expect(api.listVersions).toHaveBeenCalledTimes(2);
    api.updateVersion.mockRejectedValueOnce(new TypeError('Failed to fetch'));
    await userEvent.click(await button('Save tag'));
    expect(await screen.findByText(/does not answer/)).toBeVisible();
    expect(screen.getAllByRole('alert')).toHaveLength(1);
    await userEvent.click(await button('Save tag'));
    await screen.findByText('The tag second was saved.');
    expect(api.updateVersion).toHaveBeenLastCalledWith(
      'm',
      'two',
      { versionTag: 'second' },
      { ifMatch: '"9"' },
    );
  });

  it('leads to the comparison of two, the older one first', async () => {
    // The second one is among older versions, which are not read yet.
    await render(mockHistory(THREE), '/m/versions?chosen=three,older');
    const submit = await button('Compare');
    expect(submit).toBeDisabled();
    const boxes = await screen.findAllByRole('checkbox');
    expect(boxes[0]).toBeChecked();
    expect(
      screen.getByText('Choose one more version to compare.'),
    ).toBeInTheDocument();
    await userEvent.click(boxes[1]);
    expect(boxes[2]).toBeDisabled();
    await userEvent.click(submit);
    expect(
      await screen.findByRole('heading', { name: 'two compared with three' }),
    ).toBeInTheDocument();
  });
});

describe('one version', () => {
  const TWO = [
    versionOf('two'),
    versionOf('one', { layoutData: [item('Create')] }),
  ];

  it('is shown without restoring it', async () => {
    const api = mockHistory(TWO);
    await render(api, '/m/versions/one');
    expect(
      await screen.findByText(/Looking at it changes nothing/),
    ).toBeInTheDocument();
    expect(
      await within(screen.getByRole('region', { name: 'one' })).findByText(
        'Create',
      ),
    ).toBeInTheDocument();
    expect(
      screen.getByRole('link', { name: 'Compare with the newest' }),
    ).toHaveAttribute('href', '/m/versions/one/compare/two');
    expect(await seriousProblems()).toEqual([]);
    expect(api.restoreVersion).not.toHaveBeenCalled();
  });
});

describe('the comparison of two versions', () => {
  const BEFORE = [
    item('gone', { y: 9 }),
    item('moved', { props: { text: 'Move me' } }),
    item('same', { y: 20 }),
    item('text', { y: 4, props: { text: 'Our old page' } }),
  ];
  const AFTER = [
    item('moved', { x: 4, y: 2, props: { text: 'Move me' } }),
    item('same', { y: 20 }),
    item('text', { y: 4, props: { text: 'Our new page' } }),
    item('new', { y: 30, w: 6 }),
  ];
  const VERSIONS = [
    versionOf('b', { layoutData: AFTER }),
    versionOf('a', { layoutData: BEFORE }),
  ];
  const announced = () =>
    screen
      .getAllByRole('status')
      .map(status => status.textContent)
      .find(text => text?.includes(' of 4:'));

  it('lists what differs in words, and marks it on both sides', async () => {
    await render(mockHistory(VERSIONS), '/m/versions/a/compare/b');
    const list = await screen.findByRole('region', { name: 'Differences' });
    expect(
      within(list)
        .getAllByRole('listitem')
        .map(each => each.textContent),
    ).toEqual([
      expect.stringContaining(
        'Button “Move me” Moved from column 1, row 1 to column 5, row 3.',
      ),
      expect.stringMatching(/Properties changed\.textOur old pageOur new page/),
      expect.stringContaining('Removed from column 1, row 10, 4 × 2.'),
      expect.stringContaining('Added at column 1, row 31, 6 × 2.'),
    ]);
    const marks = (name: string) =>
      within(screen.getByRole('group', { name }))
        .getAllByRole('button')
        .map(mark => mark.textContent);
    expect(marks('Before: a').sort()).toEqual([
      '1Moved',
      '2Properties',
      '3Removed',
    ]);
    expect(marks('After: b').sort()).toEqual([
      '1Moved',
      '2Properties',
      '4Added',
    ]);
    expect(await seriousProblems()).toEqual([]);
  });

  it('is walked by buttons, and says where one is', async () => {
    await render(mockHistory(VERSIONS), '/m/versions/a/compare/b');
    await screen.findByText('4 differences');
    await userEvent.click(await button('Next difference'));
    expect(announced()).toMatch(/^Difference 1 of 4: Button “Move me”\. Moved/);
    await userEvent.click(await button('Previous difference'));
    expect(announced()).toMatch(/^Difference 4 of 4: .*Added/);

    const list = screen.getByRole('region', { name: 'Differences' });
    const entries = within(list).getAllByRole('button');
    await userEvent.click(entries[2]);
    expect(announced()).toMatch(/^Difference 3 of 4: .*Removed/);
    expect(entries[2]).toHaveAttribute('aria-current', 'true');
  });

  it('restores the older one', async () => {
    const api = mockHistory(VERSIONS);
    await render(api, '/m/versions/a/compare/b');
    expect(screen.queryByRole('button', { name: 'Restore b' })).toBeNull();
    await userEvent.click(await button('Restore a'));
    const dialog = await screen.findByRole('dialog');
    await userEvent.click(
      within(dialog).getByRole('button', { name: 'Restore' }),
    );
    expect(
      await screen.findByText('a was restored as a new version.'),
    ).toBeInTheDocument();
    expect(api.restoreVersion).toHaveBeenCalledWith('m', 'a', {
      ifMatch: '"1"',
    });
  });

  async function compareMany() {
    const many = Array.from({ length: 150 }, (_, y) => item(`n${y}`, { y }));
    const versions = [versionOf('b', { layoutData: many }), versionOf('a')];
    await render(mockHistory(versions), '/m/versions/a/compare/b');
    return screen.findByRole('region', { name: 'Differences' });
  }

  it('draws a hundred differences in words at once, and more when asked or walked to', async () => {
    const list = await compareMany();
    expect(within(list).getAllByRole('listitem')).toHaveLength(100);
    await userEvent.click(await button('Previous difference'));
    expect(within(list).getAllByRole('listitem')).toHaveLength(150);
  });

  it('keeps the focus in the list where the last ones are asked for', async () => {
    const list = await compareMany();
    await userEvent.click(await button('Show 50 more'));
    expect(within(list).getAllByRole('listitem')).toHaveLength(150);
    await waitFor(() =>
      expect(list).toContainElement(document.activeElement as HTMLElement),
    );
  });
});
