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
export interface MockupApi {
  /** Lists mockups, the most recently changed first. */
  listMockups(
    query?: ListMockupsQuery,
    options?: MockupRequestOptions,
  ): Promise<Page<Mockup>>;

  /**
   * Reads all mockups, page after page, with `for await`. Every mockup that is there from the
   * first page to the last comes exactly once, whatever others change meanwhile.
   */
  pagesOfMockups(
    query?: ListMockupsQuery,
    options?: MockupRequestOptions,
  ): AsyncIterable<Mockup[]>;

  /** Gets a mockup with its newest version, or `undefined`. */
  getMockup(
    id: string,
    options?: MockupRequestOptions,
  ): Promise<{ mockup: MockupWithLatestVersion; etag: string } | undefined>;

  /** Creates a mockup that the caller owns. */
  createMockup(
    request: CreateMockupRequest,
    options?: MockupRequestOptions,
  ): Promise<{ mockup: Mockup; etag: string }>;

  /**
   * Copies a mockup, with all its versions or with the newest layout alone. The caller
   * owns the copy.
   */
  duplicateMockup(
    id: string,
    request?: DuplicateMockupRequest,
    options?: MockupRequestOptions,
  ): Promise<{ mockup: MockupWithLatestVersion; etag: string }>;

  /** Changes the name or the description of a mockup. */
  updateMockup(
    id: string,
    request: UpdateMockupRequest,
    options?: MockupWriteOptions,
  ): Promise<{ mockup: Mockup; etag: string }>;

  /**
   * Shares a mockup with these groups, instead of those that it was shared with. What they
   * may do is for the permission policy to decide.
   */
  shareMockup(
    id: string,
    request: ShareMockupRequest,
    options?: MockupWriteOptions,
  ): Promise<{ mockup: Mockup; etag: string }>;

  /** Moves a mockup and its versions to the trash. */
  deleteMockup(id: string, options?: MockupWriteOptions): Promise<void>;

  /** Lists the mockups in the trash, the most recently deleted first. */
  listTrash(
    query?: ListTrashQuery,
    options?: MockupRequestOptions,
  ): Promise<Page<TrashedMockup>>;

  /** Takes a mockup out of the trash, with its versions. */
  restoreMockup(
    id: string,
    options?: MockupRequestOptions,
  ): Promise<{ mockup: Mockup; etag: string }>;

  /** Deletes a mockup in the trash for good. */
  purgeMockup(id: string, options?: MockupRequestOptions): Promise<void>;

  /**
   * Saves a layout as the next version of a mockup. The result has the mockup's new
   * entity tag.
   */
  saveVersion(
    mockupId: string,
    request: SaveVersionRequest,
    options?: MockupWriteOptions,
  ): Promise<{ version: Version; etag: string }>;

  /**
   * Saves the layout of a version as the next version of its mockup, whose
   * `restoredFrom` names that version. The result has the mockup's new entity tag.
   */
  restoreVersion(
    mockupId: string,
    versionId: string,
    request?: RestoreVersionRequest,
    options?: MockupWriteOptions,
  ): Promise<{ version: Version; etag: string }>;

  /**
   * Changes or removes the tag of a version. The result has the mockup's new entity
   * tag.
   */
  updateVersion(
    mockupId: string,
    versionId: string,
    request: UpdateVersionRequest,
    options?: MockupWriteOptions,
  ): Promise<{ version: Version; etag: string }>;

  /** Lists the versions of a mockup, the newest first. */
  listVersions(
    mockupId: string,
    query?: Pagination,
    options?: MockupRequestOptions,
  ): Promise<Page<Version>>;

  /**
   * Reads all versions of a mockup, page after page, with `for await`. Those that are saved
   * meanwhile do not come, every other exactly once.
   */
  pagesOfVersions(
    mockupId: string,
    query?: Pagination,
    options?: MockupRequestOptions,
  ): AsyncIterable<Version[]>;

  /** Gets one version of a mockup, or `undefined`. */
  getVersion(
    mockupId: string,
    versionId: string,
    options?: MockupRequestOptions,
  ): Promise<Version | undefined>;

  /**
   * Compares two versions of a mockup: what became of the items from one to the other.
   * Layouts at hand, such as a draft, are compared by `compareLayouts`.
   */
  compareVersions(
    mockupId: string,
    from: string,
    to: string,
    options?: MockupRequestOptions,
  ): Promise<VersionDifference>;

  /** Lists the pages that there are for the caller, by path. */
  listPages(options?: MockupRequestOptions): Promise<PublishedPage[]>;

  /** Gets a page, or `undefined` where there is none for the caller. */
  getPage(
    path: string,
    options?: MockupRequestOptions,
  ): Promise<PublishedPageWithLayout | undefined>;

  /** Gets the home page of the caller, or `undefined` where there is none. */
  getHomePage(
    options?: MockupRequestOptions,
  ): Promise<PublishedPageWithLayout | undefined>;

  /** Lists the pages of a mockup that the caller may read, by path. */
  listPagesOf(
    mockupId: string,
    options?: MockupRequestOptions,
  ): Promise<PublishedPage[]>;

  /** Shows a version of a mockup at a path that is free, or has a page of the same mockup. */
  publishPage(
    path: string,
    request: PublishPageRequest,
    options?: MockupRequestOptions,
  ): Promise<PublishedPage>;

  /** Takes a page back: it is gone for everybody. */
  takePageBack(path: string, options?: MockupRequestOptions): Promise<void>;

  /** Lists the comments of a mockup, the oldest first. */
  listComments(
    mockupId: string,
    options?: MockupRequestOptions,
  ): Promise<MockupComment[]>;

  /** Says something of a mockup or of an item on it, and notifies those whom it mentions. */
  createComment(
    mockupId: string,
    request: CreateCommentRequest,
    options?: MockupRequestOptions,
  ): Promise<MockupComment>;

  /** Resolves a comment, or opens it again. */
  updateComment(
    mockupId: string,
    commentId: string,
    request: UpdateCommentRequest,
    options?: MockupRequestOptions,
  ): Promise<MockupComment>;

  /** Deletes a comment, for good. */
  deleteComment(
    mockupId: string,
    commentId: string,
    options?: MockupRequestOptions,
  ): Promise<void>;

  /** Says which versions of a mockup are ready, and whether they have to be. */
  getReview(
    mockupId: string,
    options?: MockupRequestOptions,
  ): Promise<MockupReview>;

  /** Marks a version that somebody else has saved as ready. */
  markReady(
    mockupId: string,
    versionId: string,
    options?: MockupRequestOptions,
  ): Promise<ReadyVersion>;

  /** Takes back that a version is ready. A page that shows it stays. */
  unmarkReady(
    mockupId: string,
    versionId: string,
    options?: MockupRequestOptions,
  ): Promise<void>;

  /** Gets what the tenant has decided on its mockups. */
  getSettings(options?: MockupRequestOptions): Promise<MockupSettings>;

  /** Decides for the tenant. */
  updateSettings(
    settings: MockupSettings,
    options?: MockupRequestOptions,
  ): Promise<MockupSettings>;

  /**
   * Says that the user has the mockup in an editor, which is true for 45 seconds. Returns the
   * references of the other users for whom it is, at most 20.
   */
  announceEditor(
    mockupId: string,
    options?: MockupRequestOptions,
  ): Promise<string[]>;

  /**
   * Exports a mockup with all of its versions. The body of the response is a JSON file, which can be
   * read as it comes in; where it breaks off, reading it rejects.
   */
  exportMockup(id: string, options?: MockupRequestOptions): Promise<Response>;

  /** Exports all mockups that the caller may read, otherwise like `exportMockup`. */
  exportMockups(options?: MockupRequestOptions): Promise<Response>;

  /**
   * Imports the mockups of an exported file, all or none. They are new ones, which the
   * caller owns.
   */
  importMockups(
    file: string | Blob,
    options?: MockupRequestOptions,
  ): Promise<Mockup[]>;
}
