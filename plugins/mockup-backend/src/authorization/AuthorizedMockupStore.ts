import { NotAllowedError } from '@backstage/errors';
import type { ResourcePermission } from '@backstage/plugin-permission-common';
import {
  mockupCreatePermission,
  mockupDeletePermission,
  mockupReadPermission,
  mockupReviewRequirePermission,
  mockupSharePermission,
  mockupUpdatePermission,
} from 'backstage-plugin-mockup-common';
import type {
  ImportedPart,
  MockupReadOptions,
  MockupStore,
} from 'backstage-plugin-mockup-node';
import { both, type MockupDecisions } from './MockupDecisions';

/** The mockup store as one caller may see and change it. */
export class AuthorizedMockupStore
  implements Omit<MockupStore, 'getLatestVersion'>
{
  readonly #store: MockupStore;
  readonly #decisions: MockupDecisions;

  constructor(options: { store: MockupStore; decisions: MockupDecisions }) {
    this.#store = options.store;
    this.#decisions = options.decisions;
  }

  readonly list: MockupStore['list'] = async (options = {}) =>
    this.#store.list(both(options, await this.#readable()));

  readonly get = async (id: string) =>
    this.#store.get(id, await this.#readable());

  readonly create: MockupStore['create'] = async (request, options) => {
    await this.#assertMayCreate();
    return this.#store.create(request, options);
  };

  readonly duplicate: MockupStore['duplicate'] = async (
    id,
    request,
    options,
  ) => {
    const readable = await this.#readable();
    if (!(await this.#isThere(id, readable))) {
      return undefined;
    }
    await this.#assertMayCreate();
    return this.#store.duplicate(id, request, { ...options, ...readable });
  };

  readonly update: MockupStore['update'] = (id, request, condition) =>
    this.#write(id, mockupUpdatePermission, allowed =>
      this.#store.update(id, request, { ...condition, ...allowed }),
    );

  readonly share: MockupStore['share'] = (id, request, condition) =>
    this.#write(id, mockupSharePermission, allowed =>
      this.#store.share(id, request, { ...condition, ...allowed }),
    );

  readonly delete: MockupStore['delete'] = (id, options) =>
    this.#write(id, mockupDeletePermission, allowed =>
      this.#store.delete(id, { ...options, ...allowed }),
    );

  readonly listTrash: MockupStore['listTrash'] = async (options = {}) =>
    this.#store.listTrash(both(options, await this.#readable()));

  readonly restore = (id: string) =>
    this.#write(
      id,
      mockupDeletePermission,
      allowed => this.#store.restore(id, allowed),
      { isTrashed: true },
    );

  readonly purge = (id: string) =>
    this.#write(
      id,
      mockupDeletePermission,
      allowed => this.#store.purge(id, allowed),
      { isTrashed: true },
    );

  readonly saveVersion: MockupStore['saveVersion'] = (id, request, options) =>
    this.#write(id, mockupUpdatePermission, allowed =>
      this.#store.saveVersion(id, request, { ...options, ...allowed }),
    );

  readonly restoreVersion: MockupStore['restoreVersion'] = (
    id,
    versionId,
    options,
  ) =>
    this.#write(id, mockupUpdatePermission, allowed =>
      this.#store.restoreVersion(id, versionId, { ...options, ...allowed }),
    );

  readonly updateVersion: MockupStore['updateVersion'] = (
    id,
    versionId,
    request,
    condition,
  ) =>
    this.#write(id, mockupUpdatePermission, allowed =>
      this.#store.updateVersion(id, versionId, request, {
        ...condition,
        ...allowed,
      }),
    );

  readonly listVersions: MockupStore['listVersions'] = async (
    id,
    options = {},
  ) => this.#store.listVersions(id, both(options, await this.#readable()));

  readonly getVersion = async (id: string, versionId: string) =>
    this.#store.getVersion(id, versionId, await this.#readable());

  readonly compareVersions = async (id: string, from: string, to: string) =>
    this.#store.compareVersions(id, from, to, await this.#readable());

  readonly importMockups: MockupStore['importMockups'] = async (
    parts,
    options,
  ) => {
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
  };

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
