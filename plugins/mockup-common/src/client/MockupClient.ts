import {
  HttpClient,
  readPage as readItems,
  toSearch,
} from '@internal/http-client';
import type { VersionDifference } from '../differences';
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
  Page,
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
} from '../types';
import type {
  MockupApi,
  MockupRequestOptions,
  MockupWriteOptions,
} from './MockupApi';

/**
 * Calls the mockup plugin over HTTP, from a frontend or from another backend.
 *
 * @public
 */
export class MockupClient implements MockupApi {
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

  /** {@inheritdoc MockupApi.listMockups} */
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

  /** {@inheritdoc MockupApi.getMockup} */
  async getMockup(
    id: string,
    options?: MockupRequestOptions,
  ): Promise<{ mockup: MockupWithLatestVersion; etag: string } | undefined> {
    const response = await this.#http.fetchIfThere(mockupPath(id), options);
    return (
      response && { mockup: await response.json(), etag: readETag(response) }
    );
  }

  /** {@inheritdoc MockupApi.createMockup} */
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

  /** {@inheritdoc MockupApi.duplicateMockup} */
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

  /** {@inheritdoc MockupApi.updateMockup} */
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

  /** {@inheritdoc MockupApi.shareMockup} */
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

  /** {@inheritdoc MockupApi.deleteMockup} */
  async deleteMockup(id: string, options?: MockupWriteOptions): Promise<void> {
    await this.#http.fetch(mockupPath(id), { ...options, method: 'DELETE' });
  }

  /** {@inheritdoc MockupApi.listTrash} */
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

  /** {@inheritdoc MockupApi.restoreMockup} */
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

  /** {@inheritdoc MockupApi.purgeMockup} */
  async purgeMockup(id: string, options?: MockupRequestOptions): Promise<void> {
    await this.#http.fetch(trashPath(id), { ...options, method: 'DELETE' });
  }

  /** {@inheritdoc MockupApi.saveVersion} */
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

  /** {@inheritdoc MockupApi.restoreVersion} */
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

  /** {@inheritdoc MockupApi.updateVersion} */
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

  /** {@inheritdoc MockupApi.listVersions} */
  async listVersions(
    mockupId: string,
    query: Pagination = {},
    options?: MockupRequestOptions,
  ): Promise<Page<Version>> {
    const path = `${mockupPath(mockupId)}/versions${toSearch(query)}`;
    return readPage(await this.#http.fetch(path, options));
  }

  /** {@inheritdoc MockupApi.pagesOfMockups} */
  pagesOfMockups(
    query: ListMockupsQuery = {},
    options?: MockupRequestOptions,
  ): AsyncIterable<Mockup[]> {
    return readPages(query, each => this.listMockups(each, options));
  }

  /** {@inheritdoc MockupApi.pagesOfVersions} */
  pagesOfVersions(
    mockupId: string,
    query: Pagination = {},
    options?: MockupRequestOptions,
  ): AsyncIterable<Version[]> {
    return readPages(query, each => this.listVersions(mockupId, each, options));
  }

  /** {@inheritdoc MockupApi.getVersion} */
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

  /** {@inheritdoc MockupApi.compareVersions} */
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

  /** {@inheritdoc MockupApi.listPages} */
  listPages(options?: MockupRequestOptions): Promise<PublishedPage[]> {
    return this.#http.json('/pages', options);
  }

  /** {@inheritdoc MockupApi.getPage} */
  async getPage(
    path: string,
    options?: MockupRequestOptions,
  ): Promise<PublishedPageWithLayout | undefined> {
    const response = await this.#http.fetchIfThere(pagePath(path), options);
    return response?.json();
  }

  /** {@inheritdoc MockupApi.getHomePage} */
  async getHomePage(
    options?: MockupRequestOptions,
  ): Promise<PublishedPageWithLayout | undefined> {
    const response = await this.#http.fetch('/home', options);
    return response.status === 204 ? undefined : response.json();
  }

  /** {@inheritdoc MockupApi.listPagesOf} */
  listPagesOf(
    mockupId: string,
    options?: MockupRequestOptions,
  ): Promise<PublishedPage[]> {
    return this.#http.json(`${mockupPath(mockupId)}/pages`, options);
  }

  /** {@inheritdoc MockupApi.publishPage} */
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

  /** {@inheritdoc MockupApi.takePageBack} */
  async takePageBack(
    path: string,
    options?: MockupRequestOptions,
  ): Promise<void> {
    await this.#http.fetch(pagePath(path), { ...options, method: 'DELETE' });
  }

  /** {@inheritdoc MockupApi.listComments} */
  listComments(
    mockupId: string,
    options?: MockupRequestOptions,
  ): Promise<MockupComment[]> {
    return this.#http.json(commentPath(mockupId), options);
  }

  /** {@inheritdoc MockupApi.createComment} */
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

  /** {@inheritdoc MockupApi.updateComment} */
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

  /** {@inheritdoc MockupApi.deleteComment} */
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

  /** {@inheritdoc MockupApi.getReview} */
  getReview(
    mockupId: string,
    options?: MockupRequestOptions,
  ): Promise<MockupReview> {
    return this.#http.json(`${mockupPath(mockupId)}/review`, options);
  }

  /** {@inheritdoc MockupApi.markReady} */
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

  /** {@inheritdoc MockupApi.unmarkReady} */
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

  /** {@inheritdoc MockupApi.getSettings} */
  getSettings(options?: MockupRequestOptions): Promise<MockupSettings> {
    return this.#http.json('/settings', options);
  }

  /** {@inheritdoc MockupApi.updateSettings} */
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

  /** {@inheritdoc MockupApi.announceEditor} */
  announceEditor(
    mockupId: string,
    options?: MockupRequestOptions,
  ): Promise<string[]> {
    return this.#http.json(`${mockupPath(mockupId)}/editors`, {
      ...options,
      method: 'POST',
    });
  }

  /** {@inheritdoc MockupApi.exportMockup} */
  exportMockup(id: string, options?: MockupRequestOptions): Promise<Response> {
    return this.#http.fetch(`${mockupPath(id)}/export`, options);
  }

  /** {@inheritdoc MockupApi.exportMockups} */
  exportMockups(options?: MockupRequestOptions): Promise<Response> {
    return this.#http.fetch('/export', options);
  }

  /** {@inheritdoc MockupApi.importMockups} */
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
