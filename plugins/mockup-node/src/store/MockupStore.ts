import type { PermissionCriteria } from '@backstage/plugin-permission-common';
import type {
  CreateMockupRequest,
  DuplicateMockupRequest,
  ListMockupsQuery,
  ListTrashQuery,
  Mockup,
  MockupAccess,
  MockupFileMockup,
  MockupFileVersion,
  MockupWithLatestVersion,
  Page,
  Pagination,
  SaveVersionRequest,
  ShareMockupRequest,
  TrashedMockup,
  UpdateMockupRequest,
  UpdateVersionRequest,
  Version,
  VersionDifference,
} from 'backstage-plugin-mockup-common';

/**
 * A condition on a mockup that a query can evaluate: its owner is among the given
 * user references, its id among the given ids, or it is shared with one of the given groups
 * for what is given. What is shared for writing is shared for reading, too.
 *
 * @public
 */
export type MockupCondition =
  | { owner: string[] }
  | { id: string[] }
  | { sharedWith: string[]; access: MockupAccess };

/**
 * Conditions on a mockup, combined with `allOf`, `anyOf` and `not`.
 *
 * @public
 */
export type MockupFilter = PermissionCriteria<MockupCondition>;

/**
 * Which mockups to list.
 *
 * @public
 */
export interface ListMockupsOptions
  extends ListMockupsQuery,
    MockupReadOptions {}

/**
 * Which deleted mockups to list.
 *
 * @public
 */
export interface ListTrashOptions extends ListTrashQuery, MockupReadOptions {}

/**
 * Which mockups there are for an operation.
 *
 * @public
 */
export interface MockupReadOptions {
  /**
   * A mockup that does not match is treated as if it did not exist. It matches in the
   * state that the operation reads or changes, whatever others change at the same time.
   */
  filter?: MockupFilter;
}

/**
 * The condition of a write.
 *
 * @public
 */
export interface MockupWriteCondition extends MockupReadOptions {
  /**
   * The revisions that the caller accepts. At any other the write fails with a
   * {@link PreconditionFailedError}.
   */
  ifRevisionIn?: string[];
}

/**
 * A part of what is imported: a mockup, or the next version of the mockup before it, the
 * oldest first. With a `digest` of all parts, an idempotency key is of attempts at the same parts.
 *
 * @public
 */
export type ImportedPart =
  | { mockup: MockupFileMockup; digest?: string }
  | { version: MockupFileVersion };

/**
 * Which versions to list.
 *
 * @public
 */
export interface ListVersionsOptions extends Pagination, MockupReadOptions {
  /** The oldest first, instead of the newest. */
  oldestFirst?: boolean;
}

/**
 * The stores of all tenants: an operation always is one on the mockups of a tenant.
 *
 * @remarks
 *
 * While multi-tenancy is off, all mockups are the default tenant's, and there is no
 * other.
 *
 * @public
 */
export interface MockupStores {
  /**
   * The mockups of a tenant. In a request, that is the tenant of the request: it is not
   * asked whether the caller is a member of it.
   *
   * @throws `InputError` if the id is no UUID; `ConflictError` for a tenant other than
   * the default one while multi-tenancy is off
   */
  forTenant(tenantId: string): MockupStore;

  /** The mockups of the default tenant. */
  forDefaultTenant(): MockupStore;
}

/**
 * Stores mockups of one tenant and their versions. It checks no permissions: its holder
 * may read and change all of them. The mockups of other tenants are not there.
 *
 * @remarks
 *
 * A `revision` identifies one state of a mockup. Every change of the mockup or of the
 * tag of a version, and every saved version gives it a new one, which never repeats.
 *
 * It expects input that the request schemas of `backstage-plugin-mockup-common`
 * accept, and does not check it again; parse foreign input with those. The
 * database still refuses values beyond the bounds of the specification, with an
 * `InputError`. While the database is unreachable, every operation rejects with a
 * `ServiceUnavailableError`.
 *
 * @public
 */
export interface MockupStore {
  /** Lists mockups, by default the most recently changed first. */
  list(options?: ListMockupsOptions): Promise<Page<Mockup>>;

  /** Gets a mockup with its newest version, or `undefined`. */
  get(
    id: string,
    options?: MockupReadOptions,
  ): Promise<{ mockup: MockupWithLatestVersion; revision: string } | undefined>;

  /**
   * Creates a mockup. `owner` has the form `user:<namespace>/<name>`. Of calls with the same
   * `idempotencyKey`, owner and request, the first creates, and the others return that mockup.
   */
  create(
    request: CreateMockupRequest,
    options: { owner: string; idempotencyKey?: string },
  ): Promise<{ mockup: Mockup; revision: string }>;

  /**
   * Copies a mockup, as its state is at one moment; `undefined` if it does not exist.
   * `owner` has the form `user:<namespace>/<name>`, and owns the copy. A copy without
   * history has one version, saved by `owner`, or none if the original has none.
   * `idempotencyKey` works as for `create`.
   */
  duplicate(
    id: string,
    request: DuplicateMockupRequest,
    options: { owner: string; idempotencyKey?: string } & MockupReadOptions,
  ): Promise<{ mockup: MockupWithLatestVersion; revision: string } | undefined>;

  /** Changes a mockup; `undefined` if it does not exist. */
  update(
    id: string,
    request: UpdateMockupRequest,
    condition?: MockupWriteCondition,
  ): Promise<{ mockup: Mockup; revision: string } | undefined>;

  /**
   * Shares a mockup with these groups, instead of those it was shared with; `undefined` if
   * it does not exist. The references of the groups are in lower case.
   */
  share(
    id: string,
    request: ShareMockupRequest,
    condition?: MockupWriteCondition,
  ): Promise<{ mockup: Mockup; revision: string } | undefined>;

  /**
   * Moves a mockup and its versions to the trash; false if it does not exist.
   * `deletedBy` has the form `user:<namespace>/<name>`.
   */
  delete(
    id: string,
    options?: MockupWriteCondition & { deletedBy?: string },
  ): Promise<boolean>;

  /** Lists the mockups in the trash, the most recently deleted first. */
  listTrash(options?: ListTrashOptions): Promise<Page<TrashedMockup>>;

  /**
   * Takes a mockup out of the trash, with its versions, under the ids that they had;
   * `undefined` if it is not there. It has a new revision, and the shares that it had.
   */
  restore(
    id: string,
    options?: MockupReadOptions,
  ): Promise<{ mockup: Mockup; revision: string } | undefined>;

  /** Deletes a mockup in the trash for good; false if it is not there. */
  purge(id: string, options?: MockupReadOptions): Promise<boolean>;

  /**
   * Saves a layout as the next version of a mockup; `undefined` if the mockup does
   * not exist. The revision is the mockup's new one.
   * `createdBy` has the form `user:<namespace>/<name>`.
   */
  saveVersion(
    mockupId: string,
    request: SaveVersionRequest,
    options: { createdBy: string } & MockupWriteCondition,
  ): Promise<{ version: Version; revision: string } | undefined>;

  /**
   * Saves the layout of a version as the next version of its mockup; `undefined` if
   * one of them does not exist. The revision is the mockup's new one.
   * `createdBy` has the form `user:<namespace>/<name>`.
   */
  restoreVersion(
    mockupId: string,
    versionId: string,
    options: { createdBy: string } & MockupWriteCondition,
  ): Promise<{ version: Version; revision: string } | undefined>;

  /**
   * Changes the tag of a version, whose layout stays as it is; `undefined` if the
   * version or its mockup does not exist. The revision is the mockup's new one.
   */
  updateVersion(
    mockupId: string,
    versionId: string,
    request: UpdateVersionRequest,
    condition?: MockupWriteCondition,
  ): Promise<{ version: Version; revision: string } | undefined>;

  /**
   * Lists the versions of a mockup, the newest first; `undefined` if the mockup
   * does not exist. A page ends early if its layouts would exceed 4 MiB together.
   */
  listVersions(
    mockupId: string,
    options?: ListVersionsOptions,
  ): Promise<Page<Version> | undefined>;

  /** Gets one version of a mockup, or `undefined`. */
  getVersion(
    mockupId: string,
    versionId: string,
    options?: MockupReadOptions,
  ): Promise<Version | undefined>;

  /** Gets the newest version of a mockup, or `undefined`. */
  getLatestVersion(
    mockupId: string,
    options?: MockupReadOptions,
  ): Promise<Version | undefined>;

  /**
   * Compares two versions of a mockup: what became of the items from one to the other;
   * `undefined` if the mockup does not have both.
   */
  compareVersions(
    mockupId: string,
    from: string,
    to: string,
    options?: MockupReadOptions,
  ): Promise<VersionDifference | undefined>;

  /**
   * Creates mockups with their versions, all of them or, if the parts or the database fail, none.
   * Their `owner` has the form `user:<namespace>/<name>`. Who saved a version, and times that are not
   * in the future, are taken over. The parts should not wait for anybody: a transaction is open meanwhile.
   * The same mockups with the same `digest` that were imported with the same `idempotencyKey` are returned
   * instead.
   */
  importMockups(
    parts: AsyncIterable<ImportedPart>,
    options: { owner: string; idempotencyKey?: string },
  ): Promise<Mockup[]>;
}
