/**
 * One positioned component of a mockup (specification, A.3). Beside the fields
 * of the specification it can carry those by which react-grid-layout
 * constrains an item.
 *
 * @public
 */
export interface LayoutItem {
  /** Identifies the item within its layout. */
  i: string;
  /** Column of the left edge in grid units, from 0. */
  x: number;
  /** Row of the upper edge in grid units, from 0. */
  y: number;
  /** Width in grid units, at least 1. */
  w: number;
  /** Height in grid units, at least 1. */
  h: number;
  /** The component type. */
  component: string;
  /** The properties of the component, kept exactly as they are. */
  props: Record<string, unknown>;
  /** Least width in grid units. */
  minW?: number;
  /** Greatest width in grid units. */
  maxW?: number;
  /** Least height in grid units. */
  minH?: number;
  /** Greatest height in grid units. */
  maxH?: number;
  /** Whether the item can neither be dragged nor resized. */
  static?: boolean;
  /** Whether the item can be dragged. */
  isDraggable?: boolean;
  /** Whether the item can be resized. */
  isResizable?: boolean;
  /** Whether the item can be dragged only within the grid. */
  isBounded?: boolean;
  /** The edges and corners by which the item can be resized. */
  resizeHandles?: ResizeHandle[];
}

/**
 * An edge or corner of a layout item, by compass direction.
 *
 * @public
 */
export type ResizeHandle = 's' | 'w' | 'e' | 'n' | 'sw' | 'nw' | 'se' | 'ne';

/**
 * A UI mockup (specification, A.1).
 *
 * @public
 */
export interface Mockup {
  /** A UUID. */
  id: string;
  /** 1 to 255 characters. */
  name: string;
  /** At most 1000 characters. */
  description?: string;
  /** The user who created it, as `user:<namespace>/<name>`. */
  owner: string;
  /** When it was created, in ISO 8601 and UTC. */
  createdAt: string;
  /** When it last changed or a version was saved, in ISO 8601 and UTC. */
  updatedAt: string;
  /** The groups that it is shared with, by name; left out where there are none. */
  shares?: MockupShare[];
}

/**
 * A group that a mockup is shared with. What that allows is for the permission policy to
 * decide, with the rule `IS_SHARED_WITH`.
 *
 * @public
 */
export interface MockupShare {
  /** The group, as `group:<namespace>/<name>` in lower case. */
  group: string;
  /** Whether the members only read the mockup, or change it and save versions, too. */
  access: MockupAccess;
}

/**
 * What a mockup is shared for.
 *
 * @public
 */
export type MockupAccess = 'read' | 'write';

/**
 * With whom to share a mockup, instead of those it is shared with.
 *
 * @public
 */
export interface ShareMockupRequest {
  /** At most 50, each group once. */
  shares: MockupShare[];
}

/**
 * A saved layout of a mockup (specification, A.2). Only its tag can change.
 *
 * @public
 */
export interface Version {
  /** A UUID. */
  id: string;
  /** The id of the mockup. */
  mockupId: string;
  /** A name for the version, at most 50 characters. */
  versionTag?: string;
  /** What has changed, at most 1000 characters. */
  message?: string;
  /** The layout. */
  layoutData: LayoutItem[];
  /** The user who saved it, as `user:<namespace>/<name>`. */
  createdBy: string;
  /** When it was saved, in ISO 8601 and UTC. */
  createdAt: string;
  /**
   * The id of the version whose layout this one took over, where it was made by
   * restoring that.
   */
  restoredFrom?: string;
}

/**
 * A mockup together with its newest version.
 *
 * @public
 */
export interface MockupWithLatestVersion extends Mockup {
  /** The newest version, `null` while there is none. */
  latestVersion: Version | null;
}

/**
 * A deleted mockup that can still be restored.
 *
 * @public
 */
export interface TrashedMockup extends Mockup {
  /** When it was deleted, in ISO 8601 and UTC. */
  deletedAt: string;
  /**
   * The user who deleted it, as `user:<namespace>/<name>`; left out where no request did.
   */
  deletedBy?: string;
  /**
   * When the trash ceases to keep it, in ISO 8601 and UTC; left out where it is kept for
   * ever.
   */
  purgedAfter?: string;
}

/**
 * What a caller says of a new mockup.
 *
 * @public
 */
export interface CreateMockupRequest {
  /** 1 to 255 characters. */
  name: string;
  /** At most 1000 characters. */
  description?: string;
}

/**
 * What a caller changes of a mockup, at least one field.
 *
 * @public
 */
export interface UpdateMockupRequest {
  /** 1 to 255 characters. */
  name?: string;
  /** At most 1000 characters; `null` removes the description. */
  description?: string | null;
}

/**
 * A layout to keep as the next version of a mockup.
 *
 * @public
 */
export interface SaveVersionRequest {
  /** At most 1000 items, no two with the same `i`. */
  layoutData: LayoutItem[];
  /** A name for the version, at most 50 characters. */
  versionTag?: string;
  /** What has changed, at most 1000 characters. */
  message?: string;
}

/**
 * What a caller changes of a version.
 *
 * @public
 */
export interface UpdateVersionRequest {
  /** A name for the version, at most 50 characters; `null` removes it. */
  versionTag: string | null;
}

/**
 * What a caller says of the version that restoring another one makes.
 *
 * @public
 */
export interface RestoreVersionRequest {
  /** A name for the new version, at most 50 characters. */
  versionTag?: string;
}

/**
 * What a caller says of the copy of a mockup.
 *
 * @public
 */
export interface DuplicateMockupRequest {
  /**
   * 1 to 255 characters; where it is not given, the name of the original with
   * ` (copy)` behind it.
   */
  name?: string;
  /**
   * Whether the copy gets all versions of the original, with who saved them and when.
   * Otherwise it gets the newest layout, as a version that the caller saves now.
   */
  withHistory?: boolean;
}

/**
 * Which page of a list to return.
 *
 * @public
 */
export interface Pagination {
  /** How many entries at most, from 1 to 500; 100 where it is not given. */
  limit?: number;
  /** How many entries to skip first. */
  offset?: number;
  /**
   * The `nextCursor` of the page before, instead of an `offset`: goes on behind that page, whatever
   * was added, changed or deleted since. The rest of the query must be the same, but for `limit`.
   */
  cursor?: string;
}

/**
 * By which field and in which direction mockups are listed.
 *
 * @public
 */
export type MockupOrder = `${'name' | 'createdAt' | 'updatedAt'},${
  | 'asc'
  | 'desc'}`;

/**
 * Which mockups to list, and in which order.
 *
 * @public
 */
export interface ListMockupsQuery extends Pagination {
  /** Only those of this user, as `user:<namespace>/<name>`. */
  owner?: string;
  /** Only those with this text in their name or description, in any case. */
  search?: string;
  /** `updatedAt,desc` where it is not given. */
  orderBy?: MockupOrder;
}

/**
 * Which deleted mockups to list.
 *
 * @public
 */
export type ListTrashQuery = Omit<ListMockupsQuery, 'orderBy'>;

/**
 * One page of a list.
 *
 * @public
 */
export interface Page<TItem> {
  /** The entries on this page. */
  items: TItem[];
  /** How many there are on all pages together. */
  totalItems: number;
  /** Leads to the next page, where there is one. */
  nextCursor?: string;
}

/**
 * A mockup in a file of exported ones, without its versions.
 *
 * @public
 */
export interface MockupFileMockup {
  /** 1 to 255 characters. */
  name: string;
  /** At most 1000 characters. */
  description?: string;
  /** Whose it was where it was exported. An import makes the caller its owner. */
  owner?: string;
  /** When it was created, in ISO 8601 and UTC. */
  createdAt: string;
  /** When it last changed, in ISO 8601 and UTC. */
  updatedAt: string;
}

/**
 * A version in a file of exported mockups.
 *
 * @public
 */
export interface MockupFileVersion {
  /** A name for the version, at most 50 characters. */
  versionTag?: string;
  /** What has changed, at most 1000 characters. */
  message?: string;
  /** The layout. */
  layoutData: LayoutItem[];
  /** The user who saved it, as `user:<namespace>/<name>`. */
  createdBy: string;
  /** When it was saved, in ISO 8601 and UTC. */
  createdAt: string;
  /** The version that it restored, by its place among those of the mockup, from 0. */
  restoredFrom?: number;
}

/**
 * For whom a page is, beside the user who published it: everybody in the tenant, the members of a
 * group, or those who have a role in the tenant or a higher one.
 *
 * @public
 */
export type PageAudience =
  | 'everybody'
  | `group:${string}`
  | `role:${'viewer' | 'member' | 'admin'}`;

/**
 * A version of a mockup to show as a page.
 *
 * @public
 */
export interface PublishPageRequest {
  /** The id of the mockup. */
  mockupId: string;
  /** The id of the version. */
  versionId: string;
  /** For whom it is. */
  audience: PageAudience;
  /** 1 to 255 characters; the name of the mockup where it is not given. */
  title?: string;
  /**
   * Whether it is the home page of its audience, in place of the one before. In a tenant with
   * roles, only admins make a page one.
   */
  home?: boolean;
  /** Whether its readers may begin mockups with its layout. */
  template?: boolean;
}

/**
 * Which version of a mockup is a page, and who has published it.
 *
 * @public
 */
export interface PagePublication {
  /** The id of the mockup. */
  mockupId: string;
  /** The id of the version. */
  versionId: string;
  /** The tag of the version, where it has one. */
  versionTag?: string;
  /** For whom the page is. */
  audience: PageAudience;
  /** Whether it is the home page of its audience. */
  home: boolean;
  /** The user who published it, as `user:<namespace>/<name>`. */
  publishedBy: string;
  /** When it was published, in ISO 8601 and UTC. */
  publishedAt: string;
}

/**
 * A page of the portal, without what is on it.
 *
 * @public
 */
export interface PublishedPage {
  /** The last segment of its address: lower-case letters, digits and single hyphens. */
  path: string;
  /** What it is called. */
  title: string;
  /** Set if mockups may begin with its layout. */
  template?: true;
  /** Where it comes from; left out for those who may not publish it. */
  publication?: PagePublication;
}

/**
 * A page of the portal.
 *
 * @public
 */
export interface PublishedPageWithLayout extends PublishedPage {
  /** The layout of the published version. */
  layoutData: LayoutItem[];
}

/**
 * What somebody says of a mockup.
 *
 * @public
 */
export interface MockupComment {
  /** A UUID. */
  id: string;
  /** The id of the mockup. */
  mockupId: string;
  /** The item that it is about, by its `i`; left out where it is about the whole. */
  item?: string;
  /** 1 to 2000 characters. `@user:<namespace>/<name>` or `@<name>` mentions a user. */
  text: string;
  /** The user who said it, as `user:<namespace>/<name>`. */
  author: string;
  /** When it was said, in ISO 8601 and UTC. */
  createdAt: string;
  /** The user who has resolved it; left out while it is open. */
  resolvedBy?: string;
  /** When it was resolved, in ISO 8601 and UTC; left out while it is open. */
  resolvedAt?: string;
}

/**
 * What a caller says of a mockup.
 *
 * @public
 */
export interface CreateCommentRequest {
  /** 1 to 2000 characters. Users of the tenant's catalog that it mentions are notified. */
  text: string;
  /** The item that it is about, by its `i`, at most 255 characters. */
  item?: string;
}

/**
 * What a caller changes of a comment.
 *
 * @public
 */
export interface UpdateCommentRequest {
  /** Whether it is resolved, or open again. */
  resolved: boolean;
}

/**
 * A version that a reviewer has marked as ready.
 *
 * @public
 */
export interface ReadyVersion {
  /** The id of the version. */
  versionId: string;
  /** The reviewer, as `user:<namespace>/<name>`. */
  readyBy: string;
  /** When it was marked, in ISO 8601 and UTC. */
  readyAt: string;
}

/**
 * How far the review of a mockup is.
 *
 * @public
 */
export interface MockupReview {
  /** Whether a version has to be ready before it is published. */
  isRequired: boolean;
  /** The versions that are ready, the last one that was marked first, at most 500. */
  ready: ReadyVersion[];
}

/**
 * What a tenant has decided on its mockups.
 *
 * @public
 */
export interface MockupSettings {
  /** Whether a version has to be ready before it is published. */
  reviewRequired: boolean;
}
