import type { PermissionCriteria } from '@backstage/plugin-permission-common';
import type {
  CreateMockupRequest,
  ListMockupsQuery,
  Mockup,
  MockupWithLatestVersion,
  Page,
  Pagination,
  SaveVersionRequest,
  UpdateMockupRequest,
  Version,
} from 'backstage-plugin-mockup-common';

/**
 * Something that can be asked of a mockup in a query: that its owner is among
 * the given user references, or its id among the given ids.
 *
 * @public
 */
export type MockupCondition = { owner: string[] } | { id: string[] };

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
export interface ListMockupsOptions extends ListMockupsQuery {
  /** Leaves out every mockup that does not match. */
  filter?: MockupFilter;
}

/**
 * Under which condition a write goes ahead.
 *
 * @public
 */
export interface MockupWriteCondition {
  /**
   * The revisions at which the caller is content to find the mockup. At any
   * other the write is refused with a {@link PreconditionFailedError}.
   */
  ifRevisionIn?: string[];
}

/**
 * Keeps mockups and their versions. It does not ask who is calling: whoever
 * holds it may read and change everything.
 *
 * @remarks
 *
 * A `revision` names one state of a mockup. Every change of the mockup and
 * every saved version gives it another one, which never comes back.
 *
 * It takes what the request schemas of `backstage-plugin-mockup-common` let
 * through, and does not check it again; parse what you did not make yourself
 * with `parseInput`. Of what slips past, the database refuses what breaks a
 * bound of the specification, with an `InputError`. While the database cannot
 * be reached, every operation rejects with a `ServiceUnavailableError`.
 *
 * @public
 */
export interface MockupStore {
  /** Lists mockups, by default the most recently changed first. */
  list(options?: ListMockupsOptions): Promise<Page<Mockup>>;

  /** Gets a mockup with its newest version; nothing where there is none. */
  get(
    id: string,
  ): Promise<{ mockup: MockupWithLatestVersion; revision: string } | undefined>;

  /** Creates a mockup. `owner` has the form `user:<namespace>/<name>`. */
  create(
    request: CreateMockupRequest,
    options: { owner: string },
  ): Promise<{ mockup: Mockup; revision: string }>;

  /** Changes a mockup; nothing where there is none. */
  update(
    id: string,
    request: UpdateMockupRequest,
    condition?: MockupWriteCondition,
  ): Promise<{ mockup: Mockup; revision: string } | undefined>;

  /** Deletes a mockup and its versions, and says whether there was one. */
  delete(id: string, condition?: MockupWriteCondition): Promise<boolean>;

  /**
   * Saves a layout as the next version of a mockup; nothing where there is no
   * such mockup. The revision is the one that the mockup has from now on.
   * `createdBy` has the form `user:<namespace>/<name>`.
   */
  saveVersion(
    mockupId: string,
    request: SaveVersionRequest,
    options: { createdBy: string } & MockupWriteCondition,
  ): Promise<{ version: Version; revision: string } | undefined>;

  /**
   * Lists the versions of a mockup, the newest first; nothing where there is
   * no such mockup. A page has fewer versions than asked for where their
   * layouts would be larger than 4 MiB together.
   */
  listVersions(
    mockupId: string,
    options?: Pagination,
  ): Promise<Page<Version> | undefined>;

  /** Gets one version of a mockup; nothing where there is none. */
  getVersion(mockupId: string, versionId: string): Promise<Version | undefined>;

  /** Gets the newest version of a mockup; nothing where there is none. */
  getLatestVersion(mockupId: string): Promise<Version | undefined>;
}
