import { etagOf, HttpClient, pathOf, toSearch } from '@internal/http-client';
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
 * Options of calls that create something.
 *
 * @public
 */
export interface MockupCreateOptions extends MockupRequestOptions {
  /**
   * Any text of 1 to 255 characters, the same for each attempt. An attempt after one whose answer
   * was lost gets what that has created.
   */
  idempotencyKey?: string;
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
  listMockups(
    query: ListMockupsQuery = {},
    options?: MockupRequestOptions,
  ): Promise<Page<Mockup>> {
    return this.#http.page('/mockups', query, options);
  }

  /** Gets a mockup with its newest version, or `undefined`. */
  async getMockup(
    id: string,
    options?: MockupRequestOptions,
  ): Promise<{ mockup: MockupWithLatestVersion; etag: string } | undefined> {
    const response = await this.#http.fetchIfThere(
      pathOf`/mockups/${id}`,
      options,
    );
    return (
      response && { mockup: await response.json(), etag: readETag(response) }
    );
  }

  /** Creates a mockup that the caller owns. */
  createMockup(
    request: CreateMockupRequest,
    options?: MockupCreateOptions,
  ): Promise<{ mockup: Mockup; etag: string }> {
    return this.#mockup('POST', '/mockups', request, options);
  }

  /**
   * Copies a mockup, with all its versions or with the newest layout alone. The caller
   * owns the copy.
   */
  duplicateMockup(
    id: string,
    request: DuplicateMockupRequest = {},
    options?: MockupCreateOptions,
  ): Promise<{ mockup: MockupWithLatestVersion; etag: string }> {
    return this.#mockup(
      'POST',
      pathOf`/mockups/${id}/duplicate`,
      request,
      options,
    );
  }

  /** Changes the name or the description of a mockup. */
  updateMockup(
    id: string,
    request: UpdateMockupRequest,
    options?: MockupWriteOptions,
  ): Promise<{ mockup: Mockup; etag: string }> {
    return this.#mockup('PATCH', pathOf`/mockups/${id}`, request, options);
  }

  /**
   * Shares a mockup with these groups, instead of those that it was shared with. What they
   * may do is for the permission policy to decide.
   */
  shareMockup(
    id: string,
    request: ShareMockupRequest,
    options?: MockupWriteOptions,
  ): Promise<{ mockup: Mockup; etag: string }> {
    return this.#mockup('PUT', pathOf`/mockups/${id}/shares`, request, options);
  }

  /** Moves a mockup and its versions to the trash. */
  deleteMockup(id: string, options?: MockupWriteOptions): Promise<void> {
    return this.#http.delete(pathOf`/mockups/${id}`, options);
  }

  /** Lists the mockups in the trash, the most recently deleted first. */
  listTrash(
    query: ListTrashQuery = {},
    options?: MockupRequestOptions,
  ): Promise<Page<TrashedMockup>> {
    return this.#http.page('/trash', query, options);
  }

  /** Takes a mockup out of the trash, with its versions. */
  restoreMockup(
    id: string,
    options?: MockupRequestOptions,
  ): Promise<{ mockup: Mockup; etag: string }> {
    return this.#mockup(
      'POST',
      pathOf`/trash/${id}/restore`,
      undefined,
      options,
    );
  }

  /** Deletes a mockup in the trash for good. */
  purgeMockup(id: string, options?: MockupRequestOptions): Promise<void> {
    return this.#http.delete(pathOf`/trash/${id}`, options);
  }

  /**
   * Saves a layout as the next version of a mockup. The result has the mockup's new
   * entity tag.
   */
  saveVersion(
    mockupId: string,
    request: SaveVersionRequest,
    options?: MockupWriteOptions,
  ): Promise<{ version: Version; etag: string }> {
    return this.#version(
      'POST',
      pathOf`/mockups/${mockupId}/versions`,
      request,
      options,
    );
  }

  /**
   * Saves the layout of a version as the next version of its mockup, whose
   * `restoredFrom` names that version. The result has the mockup's new entity tag.
   */
  restoreVersion(
    mockupId: string,
    versionId: string,
    options?: MockupWriteOptions,
  ): Promise<{ version: Version; etag: string }> {
    return this.#version(
      'POST',
      pathOf`/mockups/${mockupId}/versions/${versionId}/restore`,
      undefined,
      options,
    );
  }

  /**
   * Changes or removes the tag of a version. The result has the mockup's new entity
   * tag.
   */
  updateVersion(
    mockupId: string,
    versionId: string,
    request: UpdateVersionRequest,
    options?: MockupWriteOptions,
  ): Promise<{ version: Version; etag: string }> {
    return this.#version(
      'PATCH',
      pathOf`/mockups/${mockupId}/versions/${versionId}`,
      request,
      options,
    );
  }

  /** Lists the versions of a mockup, the newest first. */
  listVersions(
    mockupId: string,
    query: Pagination = {},
    options?: MockupRequestOptions,
  ): Promise<Page<Version>> {
    return this.#http.page(
      pathOf`/mockups/${mockupId}/versions`,
      query,
      options,
    );
  }

  /** Gets one version of a mockup, or `undefined`. */
  getVersion(
    mockupId: string,
    versionId: string,
    options?: MockupRequestOptions,
  ): Promise<Version | undefined> {
    return this.#http.jsonIfThere(
      pathOf`/mockups/${mockupId}/versions/${versionId}`,
      options,
    );
  }

  /**
   * Compares two versions of a mockup: what became of the items from one to the other.
   * Layouts at hand, such as a draft, are compared by `compareLayouts`.
   */
  compareVersions(
    mockupId: string,
    from: string,
    to: string,
    options?: MockupRequestOptions,
  ): Promise<VersionDifference> {
    const path = pathOf`/mockups/${mockupId}/versions/${from}/diff`;
    return this.#http.json(`${path}${toSearch({ to })}`, options);
  }

  /** Lists the pages that there are for the caller, by path. */
  listPages(options?: MockupRequestOptions): Promise<PublishedPage[]> {
    return this.#http.json('/pages', options);
  }

  /** Gets a page, or `undefined` where there is none for the caller. */
  getPage(
    path: string,
    options?: MockupRequestOptions,
  ): Promise<PublishedPageWithLayout | undefined> {
    return this.#http.jsonIfThere(pathOf`/pages/${path}`, options);
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
    return this.#http.json(pathOf`/mockups/${mockupId}/pages`, options);
  }

  /** Shows a version of a mockup at a path that is free, or has a page of the same mockup. */
  publishPage(
    path: string,
    request: PublishPageRequest,
    options?: MockupRequestOptions,
  ): Promise<PublishedPage> {
    return this.#http.send('PUT', pathOf`/pages/${path}`, request, options);
  }

  /** Takes a page back: it is gone for everybody. */
  takePageBack(path: string, options?: MockupRequestOptions): Promise<void> {
    return this.#http.delete(pathOf`/pages/${path}`, options);
  }

  /** Lists the comments of a mockup, the oldest first. */
  listComments(
    mockupId: string,
    options?: MockupRequestOptions,
  ): Promise<MockupComment[]> {
    return this.#http.json(pathOf`/mockups/${mockupId}/comments`, options);
  }

  /** Says something of a mockup or of an item on it, and notifies those whom it mentions. */
  createComment(
    mockupId: string,
    request: CreateCommentRequest,
    options?: MockupCreateOptions,
  ): Promise<MockupComment> {
    return this.#http.send(
      'POST',
      pathOf`/mockups/${mockupId}/comments`,
      request,
      options,
    );
  }

  /** Resolves a comment, or opens it again. */
  updateComment(
    mockupId: string,
    commentId: string,
    request: UpdateCommentRequest,
    options?: MockupRequestOptions,
  ): Promise<MockupComment> {
    return this.#http.send(
      'PATCH',
      pathOf`/mockups/${mockupId}/comments/${commentId}`,
      request,
      options,
    );
  }

  /** Deletes a comment, for good. */
  deleteComment(
    mockupId: string,
    commentId: string,
    options?: MockupRequestOptions,
  ): Promise<void> {
    return this.#http.delete(
      pathOf`/mockups/${mockupId}/comments/${commentId}`,
      options,
    );
  }

  /** Says which versions of a mockup are ready, and whether they have to be. */
  getReview(
    mockupId: string,
    options?: MockupRequestOptions,
  ): Promise<MockupReview> {
    return this.#http.json(pathOf`/mockups/${mockupId}/review`, options);
  }

  /** Marks a version that somebody else has saved as ready. */
  markReady(
    mockupId: string,
    versionId: string,
    options?: MockupRequestOptions,
  ): Promise<ReadyVersion> {
    return this.#http.send(
      'PUT',
      pathOf`/mockups/${mockupId}/versions/${versionId}/ready`,
      undefined,
      options,
    );
  }

  /** Takes back that a version is ready. A page that shows it stays. */
  unmarkReady(
    mockupId: string,
    versionId: string,
    options?: MockupRequestOptions,
  ): Promise<void> {
    return this.#http.delete(
      pathOf`/mockups/${mockupId}/versions/${versionId}/ready`,
      options,
    );
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
    return this.#http.send('PUT', '/settings', settings, options);
  }

  /**
   * Says that the user has the mockup in an editor, which is true for 45 seconds. Returns the
   * references of the other users for whom it is, at most 20.
   */
  announceEditor(
    mockupId: string,
    options?: MockupRequestOptions,
  ): Promise<string[]> {
    return this.#http.send(
      'POST',
      pathOf`/mockups/${mockupId}/editors`,
      undefined,
      options,
    );
  }

  /**
   * Exports a mockup with all of its versions. The body of the response is a JSON file, which can be
   * read as it comes in; where it breaks off, reading it rejects.
   */
  exportMockup(id: string, options?: MockupRequestOptions): Promise<Response> {
    return this.#http.fetch(pathOf`/mockups/${id}/export`, options);
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
    options?: MockupCreateOptions,
  ): Promise<Mockup[]> {
    const { mockups } = await this.#http.json<{ mockups: Mockup[] }>(
      '/import',
      { ...options, method: 'POST', jsonText: file },
    );
    return mockups;
  }

  /** Writes a mockup, and reads it with its new entity tag. */
  async #mockup<T extends Mockup>(
    method: 'PATCH' | 'POST' | 'PUT',
    path: string,
    body: unknown,
    options: MockupWriteOptions | undefined,
  ): Promise<{ mockup: T; etag: string }> {
    const request = { ...options, method, body };
    const response = await this.#http.fetch(path, request);
    return { mockup: await response.json(), etag: readETag(response) };
  }

  /** Writes a version, and reads it with the new entity tag of its mockup. */
  async #version(
    method: 'PATCH' | 'POST',
    path: string,
    body: unknown,
    options: MockupWriteOptions | undefined,
  ): Promise<{ version: Version; etag: string }> {
    const request = { ...options, method, body };
    const response = await this.#http.fetch(path, request);
    return { version: await response.json(), etag: readETag(response) };
  }
}

function readETag(response: Response): string {
  const etag = etagOf(response);
  if (etag === undefined) {
    throw new Error(
      'The answer of the mockup plugin has lost its ETag header on the way',
    );
  }
  return etag;
}
