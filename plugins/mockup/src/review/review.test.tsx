import { renderInTestApp } from '@backstage/frontend-test-utils';
import { act, screen, waitFor, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import type {
  CreateCommentRequest,
  MockupApi,
  MockupComment,
  MockupCreateOptions,
  ReadyVersion,
} from 'backstage-plugin-mockup-common';
import { componentThatShows } from '../__testUtils__/components';
import {
  itemOf,
  method,
  mockupOf,
  refusal,
  seriousProblems,
} from '../__testUtils__/mockups';
import { renderPortal } from '../__testUtils__/render';
import { mockupApiRef } from '../api';
import { OtherEditors } from './OtherEditors';

const ME = 'user:default/test';
const ANNA = 'user:default/anna';
const AT = '2026-11-20T10:00:00.000Z';

const COMPONENTS = componentThatShows('title', 'Header');

// Another one in each test: what the browser knows of a permission stays for a while.
let mockups = 0;

/** A backend with a mockup of one version, and what is said of it. */
class Backend {
  readonly mockup = mockupOf(`Start ${(mockups += 1)}`, {
    id: `0b0d6f2e-6a4b-4a55-9ef1-${String(mockups).padStart(12, '1')}`,
  });
  comments: MockupComment[] = [];
  ready: ReadyVersion[] = [];
  reviewRequired = false;
  may = true;
  readonly version = {
    id: 'v1',
    mockupId: this.mockup.id,
    versionTag: 'first',
    layoutData: [itemOf('header', { title: 'Welcome' }, { i: 'h' })],
    createdBy: ANNA,
    createdAt: AT,
  };

  readonly api = {
    getMockup: method('getMockup', async () => ({
      mockup: { ...this.mockup, latestVersion: this.version },
      etag: '"1"',
    })),
    listVersions: async () => ({ items: [this.version], totalItems: 1 }),
    getVersion: async () => this.version,
    listPages: async () => [],
    listPagesOf: async () => [],
    listComments: method('listComments', async () => this.comments),
    createComment: jest.fn(
      async (
        _: string,
        request: CreateCommentRequest,
        options?: MockupCreateOptions,
      ) => ({
        ...request,
        id: `new ${options?.idempotencyKey}`,
        mockupId: this.mockup.id,
        author: ME,
        createdAt: AT,
      }),
    ),
    updateComment: jest.fn(
      async (_: string, id: string, { resolved }: { resolved: boolean }) => ({
        ...this.comments.find(each => each.id === id)!,
        ...(resolved && { resolvedBy: ME, resolvedAt: AT }),
      }),
    ),
    deleteComment: jest.fn(async () => {}),
    getReview: jest.fn(async () => ({
      isRequired: this.reviewRequired,
      ready: this.ready,
    })),
    markReady: jest.fn(async (_: string, versionId: string) => {
      this.ready = [{ versionId, readyBy: ME, readyAt: AT }];
      return this.ready[0];
    }),
    unmarkReady: jest.fn(async () => {
      this.ready = [];
    }),
    getSettings: jest.fn(async () => ({
      reviewRequired: this.reviewRequired,
    })),
    updateSettings: jest.fn(async (settings: { reviewRequired: boolean }) => {
      this.reviewRequired = settings.reviewRequired;
      return settings;
    }),
    announceEditor: jest.fn(async () => [ANNA, 'user:default/peter']),
  };

  say(text: string, more: Partial<MockupComment> = {}) {
    const id = `c${this.comments.length + 1}`;
    const mockupId = this.mockup.id;
    this.comments = [
      ...this.comments,
      { id, mockupId, text, author: ANNA, createdAt: AT, ...more },
    ];
  }

  render(at: string) {
    const { api, may: allows } = this;
    return renderPortal({ at, api, components: COMPONENTS, allows, user: ME });
  }

  renderComments() {
    return this.render(`/mockups/${this.mockup.id}/comments`);
  }
}

const button = (name: string | RegExp) => screen.findByRole('button', { name });

describe('the comments of a mockup', () => {
  it('are said of the whole, and of an item that is chosen in the drawing', async () => {
    const backend = new Backend();
    await backend.renderComments();
    expect(await screen.findByText('There are no comments yet.')).toBeVisible();
    await userEvent.click(await button('Comment'));
    expect(await screen.findByText('Comment is missing.')).toBeVisible();
    const field = screen.getByRole('textbox', { name: /^Comment/ });
    await userEvent.type(field, 'Too wide');
    await userEvent.click(await button('Comment'));
    expect(await screen.findByText('Your comment is saved.')).toBeVisible();
    expect(screen.getByText('Too wide', { selector: 'p' })).toHaveAttribute(
      'dir',
      'auto',
    );
    expect(field).toHaveValue('');

    const item = await button('Comment on Header “Welcome”: 0 open comments');
    await userEvent.click(item);
    expect(item).toHaveAttribute('aria-pressed', 'true');
    await userEvent.type(field, 'No date');
    await userEvent.click(await button('Comment'));
    expect(
      await button('Comment on Header “Welcome”: 1 open comment'),
    ).toBeVisible();
    expect(
      backend.api.createComment.mock.calls.map(([, request]) => request),
    ).toEqual([{ text: 'Too wide' }, { text: 'No date', item: 'h' }]);
    expect(await seriousProblems()).toEqual([]);
  });

  it('are those of a mockup that is there', async () => {
    const backend = new Backend();
    backend.api.getMockup.mockResolvedValue(undefined);
    const missing = await refusal(404, 'NotFoundError', 'No such mockup');
    backend.api.listComments.mockRejectedValue(missing);
    await backend.renderComments();
    expect(await screen.findByRole('alert')).toHaveTextContent(
      'There is no such mockup, or you may not see it.',
    );
    expect(screen.getByRole('link', { name: 'All mockups' })).toBeVisible();
  });

  it('are of no item whose name no comment can have', async () => {
    const backend = new Backend();
    backend.version.layoutData.push(
      itemOf('header', { title: 'Nameless' }, { i: '' }),
      itemOf('header', { title: 'Long' }, { i: 'x'.repeat(256) }),
    );
    await backend.renderComments();
    await button('Comment on Header “Welcome”: 0 open comments');
    expect(screen.getAllByRole('button', { name: /^Comment on/ })).toHaveLength(
      1,
    );
  });

  it('are kept while they are typed: until they are saved, and before the page is left', async () => {
    const backend = new Backend();
    let answer = () => {};
    backend.api.createComment.mockImplementationOnce(async (_, request) => {
      await new Promise<void>(resolve => {
        answer = resolve;
      });
      return { ...backend.comments[0], ...request, id: 'new' };
    });
    backend.say('Old');
    await backend.renderComments();
    const field = await screen.findByRole('textbox', { name: /^Comment/ });
    await userEvent.type(field, 'Too wide');
    await userEvent.click(await button('Comment'));
    await userEvent.type(field, ', and too high');
    await act(async () => answer());
    expect(await screen.findByText('Your comment is saved.')).toBeVisible();
    expect(field).toHaveValue('Too wide, and too high');

    await userEvent.click(screen.getByRole('link', { name: 'All versions' }));
    const dialog = await screen.findByRole('dialog', {
      name: 'Leave without saving?',
    });
    await userEvent.click(within(dialog).getByRole('button', { name: 'Stay' }));
    expect(field).toHaveValue('Too wide, and too high');
    expect(backend.api.createComment).toHaveBeenCalledTimes(1);
  });

  it('are said again as the same one where the answer was lost, and then as another', async () => {
    const backend = new Backend();
    await backend.renderComments();
    const field = await screen.findByRole('textbox', { name: /^Comment/ });
    await userEvent.type(field, 'Too wide');
    const { createComment } = backend.api;
    createComment.mockRejectedValueOnce(new TypeError('Failed to fetch'));
    await userEvent.click(await button('Comment'));
    await screen.findByRole('alert');
    await userEvent.click(await button('Comment'));
    await screen.findByText('Your comment is saved.');
    await userEvent.type(field, 'Too wide');
    await userEvent.click(await button('Comment'));
    await waitFor(() => expect(createComment).toHaveBeenCalledTimes(3));
    const [first, second, other] = createComment.mock.calls.map(
      ([, , options]) => options?.idempotencyKey,
    );
    expect(first).toEqual(expect.any(String));
    expect(second).toBe(first);
    expect(other).not.toBe(first);
  });

  it('are said on a phone too, of items that stand one below the other', async () => {
    const backend = new Backend();
    backend.version.layoutData = [
      itemOf('header', { title: 'Welcome', $phone: { hidden: true } }),
    ];
    await backend.renderComments();
    // A phone leaves the item out, but not here.
    const item = await button(/^Comment on Header/);
    expect(item.closest('.stacked')).toBeInTheDocument();
  });

  it('are resolved, and then behind the open ones', async () => {
    const backend = new Backend();
    backend.say('Too wide', { item: 'gone' });
    await backend.renderComments();
    expect(
      await screen.findByText(
        'About an item that the newest version does not have',
      ),
    ).toBeVisible();
    await userEvent.click(await button(`Resolve the comment of ${ANNA}`));
    const resolved = await screen.findByText('The comment is resolved.');
    // What had the focus is gone.
    await waitFor(() => expect(resolved.parentElement).toHaveFocus());
    expect(screen.getByText('1 resolved comment')).toBeVisible();
    expect(backend.api.updateComment).toHaveBeenCalledWith(
      backend.mockup.id,
      'c1',
      { resolved: true },
    );
  });

  it('are deleted by their author alone, where the user may not delete the mockup', async () => {
    const backend = new Backend();
    backend.may = false;
    backend.say('Hers');
    backend.say('Mine', { author: ME });
    await backend.renderComments();
    await userEvent.click(await button(`Delete the comment of ${ME}`));
    const deleted = await screen.findByText('The comment is deleted.');
    await waitFor(() => expect(deleted.parentElement).toHaveFocus());
    expect(screen.queryByText('Mine')).not.toBeInTheDocument();
    expect(
      screen.queryByRole('button', { name: `Delete the comment of ${ANNA}` }),
    ).not.toBeInTheDocument();
  });
});

describe('a version', () => {
  it.each(['versions', 'versions/v1'])(
    'is marked as ready and taken back at %s',
    async page => {
      const backend = new Backend();
      backend.reviewRequired = true;
      await backend.render(`/mockups/${backend.mockup.id}/${page}`);
      expect(
        await screen.findByText(/somebody other than their author has marked/),
      ).toBeVisible();
      await userEvent.click(await button('Mark first as ready'));
      expect(await screen.findByText('first is ready.')).toBeVisible();
      await userEvent.click(await button('Say that first is not ready'));
      expect(
        await screen.findByText('first is not ready any more.'),
      ).toBeVisible();
      expect(backend.ready).toEqual([]);
    },
  );

  it('says that it is not known whether it is ready, and reads it again', async () => {
    const backend = new Backend();
    backend.api.getReview.mockRejectedValueOnce(new TypeError('No answer'));
    await backend.render(`/mockups/${backend.mockup.id}/versions`);
    expect(await screen.findByRole('alert')).toHaveTextContent(
      'What is ready could not be read',
    );
    await userEvent.click(await button('Try again'));
    expect(await button('Mark first as ready')).toBeVisible();
  });

  it('says why it is not marked, and is not marked by others', async () => {
    const backend = new Backend();
    backend.api.markReady.mockRejectedValue(
      await refusal(403, 'NotAllowedError', 'Ask somebody else to review it'),
    );
    await backend.render(`/mockups/${backend.mockup.id}/versions`);
    await userEvent.click(await button('Mark first as ready'));
    expect(await screen.findByRole('alert')).toHaveTextContent(
      'Ask somebody else to review it',
    );
  });
});

describe('a tenant', () => {
  afterEach(() => jest.useRealTimers());

  it('is told that the backend takes long for what was decided', async () => {
    const backend = new Backend();
    backend.api.updateSettings.mockReturnValue(new Promise(() => {}));
    await backend.render('/pages');
    const box = await screen.findByRole('checkbox', {
      name: /^Publish only versions/,
    });
    jest.useFakeTimers();
    act(() => box.click());
    act(() => jest.advanceTimersByTime(5_000));
    expect(screen.getByText(/has not answered yet/)).toBeVisible();
    act(() => box.click());
    expect(backend.api.updateSettings).toHaveBeenCalledTimes(1);
  });

  it('demands a review where somebody who may decides so', async () => {
    const backend = new Backend();
    backend.api.getSettings.mockRejectedValueOnce(new TypeError('No answer'));
    await backend.render('/pages');
    expect(await screen.findByRole('alert')).toHaveTextContent(
      'Whether pages have to be reviewed could not be read',
    );
    await userEvent.click(await button('Try again'));
    const box = await screen.findByRole('checkbox', {
      name: /^Publish only versions/,
    });
    await userEvent.click(box);
    expect(
      await screen.findByText(/are reviewed before they are published/),
    ).toBeVisible();
    await waitFor(() => expect(box).toBeChecked());
    expect(backend.api.updateSettings).toHaveBeenCalledWith({
      reviewRequired: true,
    });
  });
});

describe('an editor', () => {
  it('says who else has the mockup open', async () => {
    const backend = new Backend();
    await renderInTestApp(<OtherEditors mockupId={backend.mockup.id} />, {
      apis: [[mockupApiRef, backend.api as unknown as MockupApi]],
    });
    const status = await screen.findByText(/have this mockup open, too/);
    expect(within(status).getByText(/peter/)).toBeVisible();
    expect(backend.api.announceEditor).toHaveBeenCalledWith(backend.mockup.id);
  });
});
