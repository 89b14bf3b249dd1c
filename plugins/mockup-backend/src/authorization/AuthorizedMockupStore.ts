import { NotAllowedError } from '@backstage/errors';
import type { ResourcePermission } from '@backstage/plugin-permission-common';
import {
  type CreateMockupRequest,
  type DuplicateMockupRequest,
  type Mockup,
  mockupCreatePermission,
  mockupDeletePermission,
  mockupReadPermission,
  mockupReviewRequirePermission,
  mockupSharePermission,
  mockupUpdatePermission,
  type Page,
  type RestoreVersionRequest,
  type SaveVersionRequest,
  type ShareMockupRequest,
  type TrashedMockup,
  type UpdateMockupRequest,
  type UpdateVersionRequest,
  type Version,
  type VersionDifference,
} from 'backstage-plugin-mockup-common';
import type {
  ImportedPart,
  ListMockupsOptions,
  ListVersionsOptions,
  ListTrashOptions,
  MockupReadOptions,
  MockupStore,
  MockupWriteCondition,
} from 'backstage-plugin-mockup-node';
import { both, type MockupDecisions } from './MockupDecisions';

/** The mockup store as one caller may see and change it. */
export class AuthorizedMockupStore implements MockupStore {
  readonly #store: MockupStore;
  readonly #decisions: MockupDecisions;

  constructor(options: { store: MockupStore; decisions: MockupDecisions }) {
    this.#store = options.store;
    this.#decisions = options.decisions;
  }

  async list(options: ListMockupsOptions = {}): Promise<Page<Mockup>> {
    return this.#store.list(both(options, await this.#readable()));
  }

  async get(id: string) {
    return this.#store.get(id, await this.#readable());
  }

  async create(
    request: CreateMockupRequest,
    options: { owner: string; idempotencyKey?: string },
  ) {
    await this.#assertMayCreate();
    return this.#store.create(request, options);
  }

  async duplicate(
    id: string,
    request: DuplicateMockupRequest,
    options: { owner: string; idempotencyKey?: string },
  ) {
    const readable = await this.#readable();
    if (!(await this.#isThere(id, readable))) {
      return undefined;
    }
    await this.#assertMayCreate();
    return this.#store.duplicate(id, request, { ...options, ...readable });
  }

  async update(
    id: string,
    request: UpdateMockupRequest,
    condition: MockupWriteCondition = {},
  ) {
    return this.#write(id, mockupUpdatePermission, allowed =>
      this.#store.update(id, request, { ...condition, ...allowed }),
    );
  }

  async share(
    id: string,
    request: ShareMockupRequest,
    condition: MockupWriteCondition = {},
  ) {
    return this.#write(id, mockupSharePermission, allowed =>
      this.#store.share(id, request, { ...condition, ...allowed }),
    );
  }

  async delete(
    id: string,
    options: MockupWriteCondition & { deletedBy?: string } = {},
  ): Promise<boolean> {
    return this.#write(id, mockupDeletePermission, allowed =>
      this.#store.delete(id, { ...options, ...allowed }),
    );
  }

  async listTrash(
    options: ListTrashOptions = {},
  ): Promise<Page<TrashedMockup>> {
    return this.#store.listTrash(both(options, await this.#readable()));
  }

  async restore(id: string) {
    return this.#write(
      id,
      mockupDeletePermission,
      allowed => this.#store.restore(id, allowed),
      { isTrashed: true },
    );
  }

  async purge(id: string): Promise<boolean> {
    return this.#write(
      id,
      mockupDeletePermission,
      allowed => this.#store.purge(id, allowed),
      { isTrashed: true },
    );
  }

  async saveVersion(
    mockupId: string,
    request: SaveVersionRequest,
    options: { createdBy: string } & MockupWriteCondition,
  ) {
    return this.#write(mockupId, mockupUpdatePermission, allowed =>
      this.#store.saveVersion(mockupId, request, { ...options, ...allowed }),
    );
  }

  async restoreVersion(
    mockupId: string,
    versionId: string,
    request: RestoreVersionRequest,
    options: { createdBy: string } & MockupWriteCondition,
  ) {
    return this.#write(mockupId, mockupUpdatePermission, allowed =>
      this.#store.restoreVersion(mockupId, versionId, request, {
        ...options,
        ...allowed,
      }),
    );
  }

  async updateVersion(
    mockupId: string,
    versionId: string,
    request: UpdateVersionRequest,
    condition: MockupWriteCondition = {},
  ) {
    return this.#write(mockupId, mockupUpdatePermission, allowed =>
      this.#store.updateVersion(mockupId, versionId, request, {
        ...condition,
        ...allowed,
      }),
    );
  }

  async listVersions(
    mockupId: string,
    options: ListVersionsOptions = {},
  ): Promise<Page<Version> | undefined> {
    return this.#store.listVersions(
      mockupId,
      both(options, await this.#readable()),
    );
  }

  async getVersion(
    mockupId: string,
    versionId: string,
  ): Promise<Version | undefined> {
    return this.#store.getVersion(mockupId, versionId, await this.#readable());
  }

  async getLatestVersion(mockupId: string): Promise<Version | undefined> {
    return this.#store.getLatestVersion(mockupId, await this.#readable());
  }

  async compareVersions(
    mockupId: string,
    from: string,
    to: string,
  ): Promise<VersionDifference | undefined> {
    return this.#store.compareVersions(
      mockupId,
      from,
      to,
      await this.#readable(),
    );
  }

  async importMockups(
    parts: AsyncIterable<ImportedPart>,
    options: { owner: string; idempotencyKey?: string },
  ): Promise<Mockup[]> {
    await this.#assertMayCreate();
    // By a file that names others as authors, a caller could review their own versions.
    const keepsAuthors = await this.#decisions.may(
      mockupReviewRequirePermission,
    );
    return this.#store.importMockups(
      // The caller may be removed while the file arrives.
      checked(keepsAuthors ? parts : savedBy(options.owner, parts), () =>
        this.#assertMayCreate(),
      ),
      options,
    );
  }

  /** @throws NotAllowedError if the caller may create no mockups */
  async #assertMayCreate(): Promise<void> {
    if (!(await this.#decisions.may(mockupCreatePermission))) {
      throw new NotAllowedError('You may not create mockups');
    }
  }

  /** The filter of the mockups that the caller may see. */
  async #readable(): Promise<MockupReadOptions> {
    const [read] = await this.#decisions.on(mockupReadPermission);
    return read;
  }

  /**
   * Writes if the caller may see and change the mockup. Both conditions are part of the writing
   * statement, so a concurrent removal of a share takes effect either before or after it.
   *
   * @param write - returns undefined or false if the mockup does not exist for the caller
   * @throws NotAllowedError if the caller may see the mockup but not change it
   */
  async #write<T>(
    id: string,
    permission: ResourcePermission,
    write: (allowed: MockupReadOptions) => Promise<T>,
    where: { isTrashed?: boolean } = {},
  ): Promise<T> {
    const [read, change] = await this.#decisions.on(
      mockupReadPermission,
      permission,
    );
    const allowed = both(read, change);
    const written = await write(allowed);
    if (
      !written &&
      change.filter &&
      (await this.#isThere(id, read, where)) &&
      !(await this.#isThere(id, allowed, where))
    ) {
      const verb = permission.name.replace(/^.*\./, '');
      throw new NotAllowedError(`You may not ${verb} the mockup '${id}'`);
    }
    return written;
  }

  async #isThere(
    id: string,
    options: MockupReadOptions,
    { isTrashed }: { isTrashed?: boolean } = {},
  ): Promise<boolean> {
    const one = both({ filter: { id: [id] }, limit: 1 }, options);
    const { items } = await (isTrashed
      ? this.#store.listTrash(one)
      : this.#store.list(one));
    return items.length > 0;
  }
}

async function* savedBy(
  user: string,
  parts: AsyncIterable<ImportedPart>,
): AsyncGenerator<ImportedPart> {
  for await (const part of parts) {
    yield 'version' in part
      ? { version: { ...part.version, createdBy: user } }
      : part;
  }
}

/** Yields the parts after a check once the first is there. */
async function* checked(
  parts: AsyncIterable<ImportedPart>,
  check: () => Promise<void>,
): AsyncGenerator<ImportedPart> {
  let isFirst = true;
  for await (const part of parts) {
    if (isFirst) {
      await check();
      isFirst = false;
    }
    yield part;
  }
}
