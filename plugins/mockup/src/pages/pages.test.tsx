import { screen, waitFor, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { slugOf } from '@internal/pages';
import type {
  PublishedPage,
  PublishPageRequest,
  SaveVersionRequest,
  Version,
} from 'backstage-plugin-mockup-common';
import { componentThatShows } from '../__testUtils__/components';
import {
  itemOf,
  mockupOf,
  refusal,
  seriousProblems,
} from '../__testUtils__/mockups';
import { renderPortal } from '../__testUtils__/render';

const COMPONENTS = componentThatShows('text', 'Text');

// Another one in each test: what the browser knows of a permission stays for a while.
let mockups = 0;

/** A backend with a mockup of two versions, and the pages that were published of it. */
class Backend {
  readonly mockup = mockupOf(`Start page ${(mockups += 1)}`, {
    id: `0b0d6f2e-6a4b-4a55-9ef1-${String(mockups).padStart(12, '0')}`,
  });
  readonly pages = new Map<
    string,
    PublishedPage & { request: PublishPageRequest }
  >();
  mayPublish = true;
  readonly versions: Version[] = ['second', 'first'].map(versionTag => ({
    id: versionTag,
    mockupId: this.mockup.id,
    versionTag,
    layoutData: [itemOf('text', { text: `The ${versionTag}` })],
    createdBy: 'user:default/anna',
    createdAt: '2026-11-20T10:00:00.000Z',
  }));

  readonly api = {
    getMockup: async () => ({
      mockup: { ...this.mockup, latestVersion: this.versions[0] },
      etag: '"1"',
    }),
    saveVersion: async (_: string, { layoutData }: SaveVersionRequest) => {
      const version = { ...this.versions[0], id: 'third', layoutData };
      this.versions.unshift(version);
      return { version, etag: '"2"' };
    },
    listVersions: async () => ({ items: this.versions, totalItems: 2 }),
    listPages: jest.fn(async () => [...this.pages.values()]),
    listPagesOf: async () => [...this.pages.values()],
    getReview: async () => ({ isRequired: false, ready: [] }),
    getPage: jest.fn(async (path: string) => {
      const page = this.pages.get(path);
      return (
        page && {
          path,
          title: page.title,
          ...(this.mayPublish && { publication: page.publication }),
          layoutData: this.versions.find(
            ({ id }) => id === page.request.versionId,
          )!.layoutData,
        }
      );
    }),
    publishPage: jest.fn(async (path: string, request: PublishPageRequest) => {
      const old = this.pages.get(path);
      const { title = old?.title ?? '', home = false, ...more } = request;
      const page = {
        path,
        title,
        publication: {
          audience: 'everybody' as const,
          home,
          ...old?.publication,
          ...more,
          versionTag: request.versionId,
          publishedBy: 'user:default/anna',
          publishedAt: '2026-11-21T10:00:00.000Z',
        },
        request,
      };
      this.pages.set(path, page);
      return page;
    }),
    takePageBack: jest.fn(async (path: string) => {
      this.pages.delete(path);
    }),
  };

  publish(path: string, versionId: string, more: object = {}) {
    return this.api.publishPage(path, {
      mockupId: this.mockup.id,
      versionId,
      audience: 'everybody',
      title: 'Welcome',
      ...more,
    });
  }

  render(at: string) {
    const { api, mayPublish: allows } = this;
    return renderPortal({ at, api, components: COMPONENTS, allows });
  }

  renderVersions() {
    return this.render(`/mockups/${this.mockup.id}/versions`);
  }
}

const button = (name: string | RegExp) => screen.findByRole('button', { name });

describe('a page', () => {
  it('shows the published version to its readers, and nothing of where it is from', async () => {
    const backend = new Backend();
    await backend.publish('start', 'first');
    backend.mayPublish = false;
    await backend.render('/pages/start');
    expect(await screen.findByText('The first')).toBeVisible();
    expect(screen.getByRole('heading', { name: 'Welcome' })).toBeVisible();
    expect(document.title).toMatch(/^Welcome/);
    expect(screen.queryByText('Published by')).toBeNull();
    expect(await seriousProblems()).toEqual([]);
  });

  it.each([
    ['/pages/start/component/default/website', 'component:default/website'],
    ['/pages/start?entity=component:default/a', 'component:default/a'],
    [
      '/pages/start/component/default/website?entity=x',
      'component:default/website',
    ],
  ])('takes its entity from the address %s', async (address, entity) => {
    const backend = new Backend();
    backend.versions[1].layoutData = [itemOf('text', { text: '{{entity}}' })];
    await backend.publish('start', 'first');
    await backend.render(address);
    expect(await screen.findByText(entity)).toBeVisible();
  });

  it('says who has published what to those who may change that', async () => {
    const backend = new Backend();
    await backend.publish('start', 'first', { audience: 'role:admin' });
    await backend.render('/pages/start');
    expect(await screen.findByText('Published by')).toBeVisible();
    expect(screen.getByText('Admins of the tenant')).toBeVisible();
    expect(screen.getByRole('link', { name: 'first' })).toHaveAttribute(
      'href',
      `/mockups/${backend.mockup.id}/versions/first`,
    );
  });

  it('is in the list of pages, which says where there are none', async () => {
    const backend = new Backend();
    const { unmount } = await backend.render('/pages');
    expect(
      await screen.findByText(/There is no page for you yet/),
    ).toBeVisible();
    unmount();
    await backend.publish('start', 'first');
    await backend.render('/pages');
    expect(
      await screen.findByRole('link', { name: 'Welcome' }),
    ).toHaveAttribute('href', '/pages/start');
  });
});

describe('the editor', () => {
  it('publishes what is in it, which is saved first', async () => {
    const backend = new Backend();
    await backend.render(`/mockups/${backend.mockup.id}`);
    await userEvent.click(await button('Add Text'));
    await userEvent.click(await button('Publish'));
    const dialog = await screen.findByRole('dialog', {
      name: 'Publish the newest version',
    });
    await userEvent.click(
      within(dialog).getByRole('button', { name: 'Publish' }),
    );
    expect(
      await screen.findByRole('link', { name: 'Open the page' }),
    ).toHaveAttribute('href', `/pages/${slugOf(backend.mockup.name, 100)}`);
    expect(backend.versions[0].layoutData).toHaveLength(2);
    expect(backend.api.publishPage).toHaveBeenCalledWith(
      slugOf(backend.mockup.name, 100),
      expect.objectContaining({ versionId: backend.versions[0].id }),
    );
    expect(await seriousProblems()).toEqual([]);
  });

  it('does not offer that to those who may not', async () => {
    const backend = new Backend();
    backend.mayPublish = false;
    await backend.render(`/mockups/${backend.mockup.id}`);
    expect(await button('Share')).toBeVisible();
    expect(screen.queryByRole('button', { name: 'Publish' })).toBeNull();
  });
});

describe('the versions of a mockup', () => {
  it('are published at a path, to a group, and then put there by one click', async () => {
    const backend = new Backend();
    await backend.renderVersions();
    await userEvent.click(await button('Publish first'));
    const dialog = await screen.findByRole('dialog');
    const path = within(dialog).getByRole('textbox', { name: /Address/ });
    expect(path).toHaveValue(slugOf(backend.mockup.name, 100));
    await userEvent.clear(path);
    await userEvent.type(path, 'Team Start');
    const submit = within(dialog).getByRole('button', { name: 'Publish' });
    await userEvent.click(submit);
    expect(
      await within(dialog).findByText(/^Use 1 to 100 lower-case/),
    ).toBeVisible();
    await userEvent.clear(path);
    await userEvent.type(path, 'team-start');
    await userEvent.click(submit);
    expect(
      await screen.findByText('first is on the page team-start now.'),
    ).toBeVisible();
    expect(backend.api.publishPage).toHaveBeenCalledWith('team-start', {
      mockupId: backend.mockup.id,
      versionId: 'first',
      audience: 'everybody',
      title: backend.mockup.name,
      home: false,
      template: false,
    });
    expect(await screen.findByText('On the page')).toBeVisible();
    expect(await seriousProblems()).toEqual([]);

    await userEvent.click(await button('Put second on the page team-start'));
    expect(
      await screen.findByText('second is on the page team-start now.'),
    ).toBeVisible();
    expect(backend.pages.get('team-start')?.request.versionId).toBe('second');
  });

  it('keep the page where publishing fails, and take it back by one click', async () => {
    const backend = new Backend();
    await backend.publish('start', 'first', {
      audience: 'group:default/designers',
      home: true,
    });
    await backend.renderVersions();
    const list = await screen.findByRole('list', {
      name: 'Pages of this mockup',
    });
    expect(within(list).getByText('Home page')).toBeVisible();
    backend.api.publishPage.mockRejectedValueOnce(
      await refusal(403, 'NotAllowedError', 'You may not publish'),
    );
    await userEvent.click(await button('Put second on the page start'));
    expect(await screen.findByRole('alert')).toHaveTextContent(
      'Nothing was published',
    );
    await userEvent.click(await button('Put second on the page start'));
    await waitFor(() =>
      // For whom it is may have changed since it was read.
      expect(backend.pages.get('start')?.request).toEqual({
        mockupId: backend.mockup.id,
        versionId: 'second',
      }),
    );
    await userEvent.click(await button('Unpublish the page start'));
    const takenBack = await screen.findByText(
      'The page start is unpublished. Publish a version to have it again.',
    );
    // What had the focus is gone.
    await waitFor(() => expect(takenBack.parentElement).toHaveFocus());
    expect(backend.pages.size).toBe(0);
  });

  it('offer nothing of that to those who may not', async () => {
    const backend = new Backend();
    await backend.publish('start', 'first');
    backend.mayPublish = false;
    await backend.renderVersions();
    expect(await screen.findByText('On the page')).toBeVisible();
    expect(screen.queryByRole('button', { name: /page|Publish/ })).toBeNull();
  });
});
