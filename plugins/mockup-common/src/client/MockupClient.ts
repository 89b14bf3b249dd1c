import {
  HttpClient,
  readPage as readItems,
  toSearch,
} from '@internal/http-client';
import type {
  CreateCommentRequest,
  CreateMockupRequest,
  DuplicateMockupRequest,
  ListMockupsQuery,
  ListTrashQuery,
  Mockup,
  MockupComment,
  MockupReview,
  MockupSettings,
  MockupWithLatestVersion,
  Pagination,
  PublishedPage,
  PublishedPageWithLayout,
  PublishPageRequest,
  ReadyVersion,
  RestoreVersionRequest,
  SaveVersionRequest,
  ShareMockupRequest,
  TrashedMockup,
  UpdateCommentRequest,
  UpdateMockupRequest,
  UpdateVersionRequest,
  Version,
  VersionDifference,
} from '../schemas';
import type { Page } from '../types';

/**
 * Options of every call.
 *
 * @public
 */
export interface MockupRequestOptions {
  /** A Backstage token, if the `fetchApi` of the client adds none. */
  token?: string;
}

/**
 * Options of calls that change a mockup.
 *
 * @public
 */
export interface MockupWriteOptions extends MockupRequestOptions {
  /**
   * The entity tag that the mockup had when the caller last saw it. The call fails
   * with status 412 if the mockup changed since.
   */
  ifMatch?: string;
}

/**
 * The HTTP interface of the mockup plugin. Every failure rejects with a
 * `ResponseError` of `@backstage/errors`, except that `getMockup` and `getVersion`
 * return `undefined` for a missing one.
 *
 * @public
 */
export type MockupApi = Pick<MockupClient, keyof MockupClient>;

/**
 * Calls the mockup plugin over HTTP, from a frontend or from another backend.
 *
 * @public
 */
export class MockupClient {
  readonly #http: HttpClient;

  /**
   * @param options - `discoveryApi` finds the plugin (the frontend's discovery
   * API, or the backend's discovery service); `fetchApi` is the frontend's,
   * which adds the token of the signed-in user, and the platform's `fetch`
   * where none is given.
   */
  constructor(options: {
    discoveryApi: { getBaseUrl(pluginId: string): Promise<string> };
    fetchApi?: { fetch: typeof fetch };
  }) {
    this.#http = new HttpClient('mockup', options);
  }

  /** Lists mockups, the most recently changed first. */
  async listMockups(
    query: ListMockupsQuery = {},
    options?: MockupRequestOptions,
  ): Promise<Page<Mockup>> {
    const response = await this.#http.fetch(
      `/mockups${toSearch(query)}`,
      options,
    );
    return readPage(response);
  }

  /** Gets a mockup with its newest version, or `undefined`. */
  async getMockup(
    id: string,
    options?: MockupRequestOptions,
  ): Promise<{ mockup: MockupWithLatestVersion; etag: string } | undefined> {
    const response = await this.#http.fetchIfThere(mockupPath(id), options);
    return (
      response && { mockup: await response.json(), etag: readETag(response) }
    );
  }

  /** Creates a mockup that the caller owns. */
  async createMockup(
    request: CreateMockupRequest,
    options?: MockupRequestOptions,
  ): Promise<{ mockup: Mockup; etag: string }> {
    const response = await this.#http.fetch('/mockups', {
      ...options,
      method: 'POST',
      body: request,
    });
    return { mockup: await response.json(), etag: readETag(response) };
  }

  /**
   * Copies a mockup, with all its versions or with the newest layout alone. The caller
   * owns the copy.
   */
  async duplicateMockup(
    id: string,
    request: DuplicateMockupRequest = {},
    options?: MockupRequestOptions,
  ): Promise<{ mockup: MockupWithLatestVersion; etag: string }> {
    const response = await this.#http.fetch(`${mockupPath(id)}/duplicate`, {
      ...options,
      method: 'POST',
      body: request,
    });
    return { mockup: await response.json(), etag: readETag(response) };
  }

  /** Changes the name or the description of a mockup. */
  async updateMockup(
    id: string,
    request: UpdateMockupRequest,
    options?: MockupWriteOptions,
  ): Promise<{ mockup: Mockup; etag: string }> {
    const response = await this.#http.fetch(mockupPath(id), {
      ...options,
      method: 'PATCH',
      body: request,
    });
    return { mockup: await response.json(), etag: readETag(response) };
  }

  /**
   * Shares a mockup with these groups, instead of those that it was shared with. What they
   * may do is for the permission policy to decide.
   */
  async shareMockup(
    id: string,
    request: ShareMockupRequest,
    options?: MockupWriteOptions,
  ): Promise<{ mockup: Mockup; etag: string }> {
    const response = await this.#http.fetch(`${mockupPath(id)}/shares`, {
      ...options,
      method: 'PUT',
      body: request,
    });
    return { mockup: await response.json(), etag: readETag(response) };
  }

  /** Moves a mockup and its versions to the trash. */
  async deleteMockup(id: string, options?: MockupWriteOptions): Promise<void> {
    await this.#http.fetch(mockupPath(id), { ...options, method: 'DELETE' });
  }

  /** Lists the mockups in the trash, the most recently deleted first. */
  async listTrash(
    query: ListTrashQuery = {},
    options?: MockupRequestOptions,
  ): Promise<Page<TrashedMockup>> {
    const response = await this.#http.fetch(
      `/trash${toSearch(query)}`,
      options,
    );
    return readPage(response);
  }

  /** Takes a mockup out of the trash, with its versions. */
  async restoreMockup(
    id: string,
    options?: MockupRequestOptions,
  ): Promise<{ mockup: Mockup; etag: string }> {
    const response = await this.#http.fetch(`${trashPath(id)}/restore`, {
      ...options,
      method: 'POST',
    });
    return { mockup: await response.json(), etag: readETag(response) };
  }

  /** Deletes a mockup in the trash for good. */
  async purgeMockup(id: string, options?: MockupRequestOptions): Promise<void> {
    await this.#http.fetch(trashPath(id), { ...options, method: 'DELETE' });
  }

  /**
   * Saves a layout as the next version of a mockup. The result has the mockup's new
   * entity tag.
   */
  async saveVersion(
    mockupId: string,
    request: SaveVersionRequest,
    options?: MockupWriteOptions,
  ): Promise<{ version: Version; etag: string }> {
    const response = await this.#http.fetch(
      `${mockupPath(mockupId)}/versions`,
      {
        ...options,
        method: 'POST',
        body: request,
      },
    );
    return { version: await response.json(), etag: readETag(response) };
  }

  /**
   * Saves the layout of a version as the next version of its mockup, whose
   * `restoredFrom` names that version. The result has the mockup's new entity tag.
   */
  async restoreVersion(
    mockupId: string,
    versionId: string,
    request: RestoreVersionRequest = {},
    options?: MockupWriteOptions,
  ): Promise<{ version: Version; etag: string }> {
    const response = await this.#http.fetch(
      `${versionPath(mockupId, versionId)}/restore`,
      { ...options, method: 'POST', body: request },
    );
    return { version: await response.json(), etag: readETag(response) };
  }

  /**
   * Changes or removes the tag of a version. The result has the mockup's new entity
   * tag.
   */
  async updateVersion(
    mockupId: string,
    versionId: string,
    request: UpdateVersionRequest,
    options?: MockupWriteOptions,
  ): Promise<{ version: Version; etag: string }> {
    const response = await this.#http.fetch(versionPath(mockupId, versionId), {
      ...options,
      method: 'PATCH',
      body: request,
    });
    return { version: await response.json(), etag: readETag(response) };
  }

  /** Lists the versions of a mockup, the newest first. */
  async listVersions(
    mockupId: string,
    query: Pagination = {},
    options?: MockupRequestOptions,
  ): Promise<Page<Version>> {
    const path = `${mockupPath(mockupId)}/versions${toSearch(query)}`;
    return readPage(await this.#http.fetch(path, options));
  }

  /**
   * Reads all mockups, page after page, with `for await`. Every mockup that is there from the
   * first page to the last comes exactly once, whatever others change meanwhile.
   */
  pagesOfMockups(
    query: ListMockupsQuery = {},
    options?: MockupRequestOptions,
  ): AsyncIterable<Mockup[]> {
    return readPages(query, each => this.listMockups(each, options));
  }

  /**
   * Reads all versions of a mockup, page after page, with `for await`. Those that are saved
   * meanwhile do not come, every other exactly once.
   */
  pagesOfVersions(
    mockupId: string,
    query: Pagination = {},
    options?: MockupRequestOptions,
  ): AsyncIterable<Version[]> {
    return readPages(query, each => this.listVersions(mockupId, each, options));
  }

  /** Gets one version of a mockup, or `undefined`. */
  async getVersion(
    mockupId: string,
    versionId: string,
    options?: MockupRequestOptions,
  ): Promise<Version | undefined> {
    const response = await this.#http.fetchIfThere(
      versionPath(mockupId, versionId),
      options,
    );
    return response?.json();
  }

  /**
   * Compares two versions of a mockup: what became of the items from one to the other.
   * Layouts at hand, such as a draft, are compared by `compareLayouts`.
   */
  async compareVersions(
    mockupId: string,
    from: string,
    to: string,
    options?: MockupRequestOptions,
  ): Promise<VersionDifference> {
    const version = `${mockupPath(mockupId)}/versions/${encodeURIComponent(
      from,
    )}`;
    return this.#http.json(`${version}/diff${toSearch({ to })}`, options);
  }

  /** Lists the pages that there are for the caller, by path. */
  listPages(options?: MockupRequestOptions): Promise<PublishedPage[]> {
    return this.#http.json('/pages', options);
  }

  /** Gets a page, or `undefined` where there is none for the caller. */
  async getPage(
    path: string,
    options?: MockupRequestOptions,
  ): Promise<PublishedPageWithLayout | undefined> {
    const response = await this.#http.fetchIfThere(pagePath(path), options);
    return response?.json();
  }

  /** Gets the home page of the caller, or `undefined` where there is none. */
  async getHomePage(
    options?: MockupRequestOptions,
  ): Promise<PublishedPageWithLayout | undefined> {
    const response = await this.#http.fetch('/home', options);
    return response.status === 204 ? undefined : response.json();
  }

  /** Lists the pages of a mockup that the caller may read, by path. */
  listPagesOf(
    mockupId: string,
    options?: MockupRequestOptions,
  ): Promise<PublishedPage[]> {
    return this.#http.json(`${mockupPath(mockupId)}/pages`, options);
  }

  /** Shows a version of a mockup at a path that is free, or has a page of the same mockup. */
  publishPage(
    path: string,
    request: PublishPageRequest,
    options?: MockupRequestOptions,
  ): Promise<PublishedPage> {
    return this.#http.json(pagePath(path), {
      ...options,
      method: 'PUT',
      body: request,
    });
  }

  /** Takes a page back: it is gone for everybody. */
  async takePageBack(
    path: string,
    options?: MockupRequestOptions,
  ): Promise<void> {
    await this.#http.fetch(pagePath(path), { ...options, method: 'DELETE' });
  }

  /** Lists the comments of a mockup, the oldest first. */
  listComments(
    mockupId: string,
    options?: MockupRequestOptions,
  ): Promise<MockupComment[]> {
    return this.#http.json(commentPath(mockupId), options);
  }

  /** Says something of a mockup or of an item on it, and notifies those whom it mentions. */
  createComment(
    mockupId: string,
    request: CreateCommentRequest,
    options?: MockupRequestOptions,
  ): Promise<MockupComment> {
    return this.#http.json(commentPath(mockupId), {
      ...options,
      method: 'POST',
      body: request,
    });
  }

  /** Resolves a comment, or opens it again. */
  updateComment(
    mockupId: string,
    commentId: string,
    request: UpdateCommentRequest,
    options?: MockupRequestOptions,
  ): Promise<MockupComment> {
    return this.#http.json(commentPath(mockupId, commentId), {
      ...options,
      method: 'PATCH',
      body: request,
    });
  }

  /** Deletes a comment, for good. */
  async deleteComment(
    mockupId: string,
    commentId: string,
    options?: MockupRequestOptions,
  ): Promise<void> {
    await this.#http.fetch(commentPath(mockupId, commentId), {
      ...options,
      method: 'DELETE',
    });
  }

  /** Says which versions of a mockup are ready, and whether they have to be. */
  getReview(
    mockupId: string,
    options?: MockupRequestOptions,
  ): Promise<MockupReview> {
    return this.#http.json(`${mockupPath(mockupId)}/review`, options);
  }

  /** Marks a version that somebody else has saved as ready. */
  markReady(
    mockupId: string,
    versionId: string,
    options?: MockupRequestOptions,
  ): Promise<ReadyVersion> {
    return this.#http.json(`${versionPath(mockupId, versionId)}/ready`, {
      ...options,
      method: 'PUT',
    });
  }

  /** Takes back that a version is ready. A page that shows it stays. */
  async unmarkReady(
    mockupId: string,
    versionId: string,
    options?: MockupRequestOptions,
  ): Promise<void> {
    await this.#http.fetch(`${versionPath(mockupId, versionId)}/ready`, {
      ...options,
      method: 'DELETE',
    });
  }

  /** Gets what the tenant has decided on its mockups. */
  getSettings(options?: MockupRequestOptions): Promise<MockupSettings> {
    return this.#http.json('/settings', options);
  }

  /** Decides for the tenant. */
  updateSettings(
    settings: MockupSettings,
    options?: MockupRequestOptions,
  ): Promise<MockupSettings> {
    return this.#http.json('/settings', {
      ...options,
      method: 'PUT',
      body: settings,
    });
  }

  /**
   * Says that the user has the mockup in an editor, which is true for 45 seconds. Returns the
   * references of the other users for whom it is, at most 20.
   */
  announceEditor(
    mockupId: string,
    options?: MockupRequestOptions,
  ): Promise<string[]> {
    return this.#http.json(`${mockupPath(mockupId)}/editors`, {
      ...options,
      method: 'POST',
    });
  }

  /**
   * Exports a mockup with all of its versions. The body of the response is a JSON file, which can be
   * read as it comes in; where it breaks off, reading it rejects.
   */
  exportMockup(id: string, options?: MockupRequestOptions): Promise<Response> {
    return this.#http.fetch(`${mockupPath(id)}/export`, options);
  }

  /** Exports all mockups that the caller may read, otherwise like `exportMockup`. */
  exportMockups(options?: MockupRequestOptions): Promise<Response> {
    return this.#http.fetch('/export', options);
  }

  /**
   * Imports the mockups of an exported file, all or none. They are new ones, which the
   * caller owns.
   */
  async importMockups(
    file: string | Blob,
    options?: MockupRequestOptions,
  ): Promise<Mockup[]> {
    const { mockups } = await this.#http.json<{ mockups: Mockup[] }>(
      '/import',
      { ...options, method: 'POST', jsonText: file },
    );
    return mockups;
  }
}

function mockupPath(id: string): string {
  return `/mockups/${encodeURIComponent(id)}`;
}

function commentPath(mockupId: string, commentId?: string): string {
  const comments = `${mockupPath(mockupId)}/comments`;
  return commentId === undefined
    ? comments
    : `${comments}/${encodeURIComponent(commentId)}`;
}

function pagePath(path: string): string {
  return `/pages/${encodeURIComponent(path)}`;
}

function trashPath(id: string): string {
  return `/trash/${encodeURIComponent(id)}`;
}

function versionPath(mockupId: string, versionId: string): string {
  return `${mockupPath(mockupId)}/versions/${encodeURIComponent(versionId)}`;
}

async function readPage<TItem>(response: Response): Promise<Page<TItem>> {
  const nextCursor = /[?&]cursor=([^&>]+)[^>]*>; *rel="next"/.exec(
    response.headers.get('Link') ?? '',
  )?.[1];
  return {
    ...(await readItems<TItem>(response)),
    ...(nextCursor && { nextCursor: decodeURIComponent(nextCursor) }),
  };
}

/**
 * Reads page after page. A mockup that changes meanwhile may be on two pages, and is
 * left out of the second.
 */
async function* readPages<
  TQuery extends Pagination,
  TItem extends { id: string },
>(
  query: TQuery,
  read: (query: TQuery) => Promise<Page<TItem>>,
): AsyncGenerator<TItem[]> {
  const seen = new Set<string>();
  let at: TQuery | undefined = query;
  while (at) {
    const { items, nextCursor }: Page<TItem> = await read(at);
    const fresh = items.filter(({ id }) => !seen.has(id));
    fresh.forEach(({ id }) => seen.add(id));
    if (fresh.length > 0) {
      yield fresh;
    }
    const { offset: _offset, ...rest } = at;
    at = nextCursor
      ? ({ ...rest, cursor: nextCursor } as unknown as TQuery)
      : undefined;
  }
}

function readETag(response: Response): string {
  const etag = response.headers.get('ETag');
  if (etag === null) {
    throw new Error(
      'The answer of the mockup plugin has lost its ETag header on the way',
    );
  }
  return etag;
}
