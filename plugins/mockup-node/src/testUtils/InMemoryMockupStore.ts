import { InputError } from '@backstage/errors';
import { randomUUID } from 'node:crypto';
import type {
  CreateMockupRequest,
  DuplicateMockupRequest,
  Mockup,
  MockupWithLatestVersion,
  Page,
  RestoreVersionRequest,
  SaveVersionRequest,
  ShareMockupRequest,
  TrashedMockup,
  UpdateMockupRequest,
  UpdateVersionRequest,
  Version,
  VersionDifference,
} from 'backstage-plugin-mockup-common';
import {
  compareLayouts,
  listMockupsQuerySchema,
  listTrashQuerySchema,
  MOCKUP_LIMITS,
  paginationSchema,
  parseInput,
} from 'backstage-plugin-mockup-common';
import {
  type ImportedPart,
  type ListMockupsOptions,
  type ListVersionsOptions,
  type ListTrashOptions,
  type MockupFilter,
  type MockupReadOptions,
  type MockupStore,
  type MockupWriteCondition,
  PreconditionFailedError,
} from 'backstage-plugin-mockup-node';
import { matchesFilter } from './matchesFilter';

interface StoredMockup {
  mockup: Mockup;
  /** Orders creations and changes, which may share a millisecond. */
  createdAt: number;
  revision: number;
  /** The oldest first. */
  versions: Version[];
}

/**
 * A mockup store without a database, for the tests of plugins that use one. It
 * stores any input, and ends no page early.
 */
export class InMemoryMockupStore implements MockupStore {
  readonly #stored = new Map<string, StoredMockup>();
  /** The most recently deleted first. */
  readonly #trash: { stored: StoredMockup; trashed: TrashedMockup }[] = [];
  #revision = 0;
  /** What is left of lists that are being read, by their cursors. */
  readonly #unread = new Map<string, { list: string; ids: Set<string> }>();

  async list(options: ListMockupsOptions = {}): Promise<Page<Mockup>> {
    const { filter, ...query } = options;
    const { owner, search, orderBy, ...page } = parseInput(
      listMockupsQuerySchema,
      query,
      'query',
    );
    const matches = matching({ owner, search, filter });

    const found = [...this.#stored.values()]
      .filter(({ mockup }) => matches(mockup))
      .sort(compareBy(orderBy))
      .map(({ mockup }) => copyOf(mockup));

    return this.#pageOf([owner, search, orderBy], found, page);
  }

  async get(id: string, options?: MockupReadOptions) {
    const stored = this.#find(id, options);
    if (!stored) {
      return undefined;
    }
    const mockup: MockupWithLatestVersion = {
      ...copyOf(stored.mockup),
      latestVersion: copyOf(stored.versions.at(-1) ?? null),
    };
    return { mockup, revision: String(stored.revision) };
  }

  async create(request: CreateMockupRequest, options: { owner: string }) {
    const { mockup, revision } = this.#add(request, options.owner);
    return { mockup: copyOf(mockup), revision: String(revision) };
  }

  async duplicate(
    id: string,
    request: DuplicateMockupRequest,
    options: { owner: string } & MockupReadOptions,
  ) {
    const { owner } = options;
    const original = this.#find(id, options);
    if (!original) {
      return undefined;
    }
    const { name, description } = original.mockup;
    const copy = this.#add(
      {
        name: request.name ?? nameOfCopy(name),
        ...(description !== undefined && { description }),
      },
      owner,
    );
    const { id: mockupId, createdAt } = copy.mockup;
    const newest = original.versions.at(-1);
    if (request.withHistory) {
      const ids = new Map(original.versions.map(v => [v.id, randomUUID()]));
      copy.versions = copyOf(original.versions).map(version => ({
        ...version,
        id: ids.get(version.id)!,
        mockupId,
        ...(version.restoredFrom !== undefined && {
          restoredFrom: ids.get(version.restoredFrom),
        }),
      }));
    } else if (newest) {
      copy.versions = [
        {
          id: randomUUID(),
          mockupId,
          layoutData: copyOf(newest.layoutData),
          createdBy: owner,
          createdAt,
        },
      ];
    }
    return this.get(mockupId);
  }

  async update(
    id: string,
    request: UpdateMockupRequest,
    condition?: MockupWriteCondition,
  ) {
    const stored = this.#findForWrite(id, condition);
    if (!stored) {
      return undefined;
    }
    const { name = stored.mockup.name, description } = request;
    stored.mockup.name = name;
    if (description === null) {
      delete stored.mockup.description;
    } else if (description !== undefined) {
      stored.mockup.description = description;
    }
    this.#touch(stored);
    return {
      mockup: copyOf(stored.mockup),
      revision: String(stored.revision),
    };
  }

  async share(
    id: string,
    { shares }: ShareMockupRequest,
    condition?: MockupWriteCondition,
  ) {
    const stored = this.#findForWrite(id, condition);
    if (!stored) {
      return undefined;
    }
    delete stored.mockup.shares;
    if (shares.length > 0) {
      stored.mockup.shares = copyOf(shares).sort((a, b) =>
        a.group < b.group ? -1 : 1,
      );
    }
    this.#touch(stored);
    return {
      mockup: copyOf(stored.mockup),
      revision: String(stored.revision),
    };
  }

  async delete(
    id: string,
    options: MockupWriteCondition & { deletedBy?: string } = {},
  ): Promise<boolean> {
    const stored = this.#findForWrite(id, options);
    if (!stored) {
      return false;
    }
    const { deletedBy } = options;
    this.#stored.delete(id);
    this.#trash.unshift({
      stored,
      trashed: {
        ...stored.mockup,
        deletedAt: new Date().toISOString(),
        ...(deletedBy !== undefined && { deletedBy }),
      },
    });
    return true;
  }

  async listTrash(
    options: ListTrashOptions = {},
  ): Promise<Page<TrashedMockup>> {
    const { filter, ...query } = options;
    const { owner, search, ...page } = parseInput(
      listTrashQuerySchema,
      query,
      'query',
    );
    const found = this.#trash
      .map(({ trashed }) => trashed)
      .filter(matching({ owner, search, filter }))
      .map(copyOf);
    return this.#pageOf(['trash', owner, search], found, page);
  }

  async restore(id: string, options?: MockupReadOptions) {
    const stored = this.#takeFromTrash(id, options);
    if (!stored) {
      return undefined;
    }
    this.#stored.set(id, stored);
    this.#touch(stored);
    return {
      mockup: copyOf(stored.mockup),
      revision: String(stored.revision),
    };
  }

  async purge(id: string, options?: MockupReadOptions): Promise<boolean> {
    return this.#takeFromTrash(id, options) !== undefined;
  }

  async saveVersion(
    mockupId: string,
    request: SaveVersionRequest,
    options: { createdBy: string } & MockupWriteCondition,
  ) {
    const stored = this.#findForWrite(mockupId, options);
    if (!stored) {
      return undefined;
    }
    this.#touch(stored);
    const version: Version = {
      id: randomUUID(),
      mockupId,
      ...copyOf(request),
      createdBy: options.createdBy,
      createdAt: stored.mockup.updatedAt,
    };
    stored.versions.push(version);
    return { version: copyOf(version), revision: String(stored.revision) };
  }

  async restoreVersion(
    mockupId: string,
    versionId: string,
    request: RestoreVersionRequest,
    options: { createdBy: string } & MockupWriteCondition,
  ) {
    const restored = this.#findVersion(mockupId, versionId, options);
    const { versionTag } = request;
    const saved =
      restored &&
      (await this.saveVersion(
        mockupId,
        {
          layoutData: restored.layoutData,
          ...(versionTag !== undefined && { versionTag }),
        },
        options,
      ));
    if (!saved) {
      return undefined;
    }
    const version = this.#findVersion(mockupId, saved.version.id)!;
    version.restoredFrom = versionId;
    return { ...saved, version: copyOf(version) };
  }

  async updateVersion(
    mockupId: string,
    versionId: string,
    { versionTag }: UpdateVersionRequest,
    condition?: MockupWriteCondition,
  ) {
    const version = this.#findVersion(mockupId, versionId, condition);
    const stored = version && this.#findForWrite(mockupId, condition);
    if (!stored) {
      return undefined;
    }
    if (versionTag === null) {
      delete version.versionTag;
    } else {
      version.versionTag = versionTag;
    }
    this.#touch(stored);
    return { version: copyOf(version), revision: String(stored.revision) };
  }

  async listVersions(
    mockupId: string,
    options: ListVersionsOptions = {},
  ): Promise<Page<Version> | undefined> {
    const { oldestFirst = false, filter, ...query } = options;
    const stored = this.#find(mockupId, { filter });
    if (!stored) {
      return undefined;
    }
    const page = parseInput(paginationSchema, query, 'query');
    const versions = copyOf(stored.versions);
    return this.#pageOf(
      ['versions', mockupId, oldestFirst],
      oldestFirst ? versions : versions.reverse(),
      page,
    );
  }

  async getVersion(
    mockupId: string,
    versionId: string,
    options?: MockupReadOptions,
  ): Promise<Version | undefined> {
    return copyOf(this.#findVersion(mockupId, versionId, options));
  }

  async getLatestVersion(
    mockupId: string,
    options?: MockupReadOptions,
  ): Promise<Version | undefined> {
    return copyOf(this.#find(mockupId, options)?.versions.at(-1));
  }

  async compareVersions(
    mockupId: string,
    from: string,
    to: string,
    options?: MockupReadOptions,
  ): Promise<VersionDifference | undefined> {
    const [before, after] = await Promise.all(
      [from, to].map(id => this.getVersion(mockupId, id, options)),
    );
    return (
      before &&
      after && {
        from: before.id,
        to: after.id,
        ...compareLayouts(before.layoutData, after.layoutData),
      }
    );
  }

  #add(request: CreateMockupRequest, owner: string): StoredMockup {
    const now = new Date().toISOString();
    const mockup: Mockup = {
      id: randomUUID(),
      ...copyOf(request),
      owner,
      createdAt: now,
      updatedAt: now,
    };
    const revision = this.#nextRevision();
    const stored = { mockup, createdAt: revision, revision, versions: [] };
    this.#stored.set(mockup.id, stored);
    return stored;
  }

  #takeFromTrash(
    id: string,
    { filter }: MockupReadOptions = {},
  ): StoredMockup | undefined {
    const matches = matching({ filter });
    const index = this.#trash.findIndex(
      ({ trashed }) => trashed.id === id && matches(trashed),
    );
    return index === -1 ? undefined : this.#trash.splice(index, 1)[0].stored;
  }

  #find(
    id: string,
    { filter }: MockupReadOptions = {},
  ): StoredMockup | undefined {
    const stored = this.#stored.get(id);
    return stored && matching({ filter })(stored.mockup) ? stored : undefined;
  }

  #findVersion(
    mockupId: string,
    versionId: string,
    options?: MockupReadOptions,
  ): Version | undefined {
    const versions = this.#find(mockupId, options)?.versions;
    return versions?.find(({ id }) => id === versionId);
  }

  async importMockups(
    parts: AsyncIterable<ImportedPart>,
    options: { owner: string },
  ): Promise<Mockup[]> {
    const imported: StoredMockup[] = [];
    for await (const part of parts) {
      if ('mockup' in part) {
        const revision = this.#nextRevision();
        imported.push({
          mockup: {
            ...copyOf(part.mockup),
            id: randomUUID(),
            owner: options.owner,
          },
          createdAt: revision,
          revision,
          versions: [],
        });
      } else {
        const stored = imported.at(-1);
        if (!stored) {
          throw new InputError('A version comes before the first mockup');
        }
        const { restoredFrom, ...version } = copyOf(part.version);
        const source = stored.versions[restoredFrom ?? -1];
        stored.versions.push({
          ...version,
          id: randomUUID(),
          mockupId: stored.mockup.id,
          ...(source && { restoredFrom: source.id }),
        });
      }
    }
    imported.forEach(stored => this.#stored.set(stored.mockup.id, stored));
    return imported.map(({ mockup }) => copyOf(mockup));
  }

  #findForWrite(
    id: string,
    condition: MockupWriteCondition = {},
  ): StoredMockup | undefined {
    const stored = this.#find(id, condition);
    const { ifRevisionIn } = condition;
    if (stored && ifRevisionIn?.includes(String(stored.revision)) === false) {
      throw new PreconditionFailedError(
        `The mockup '${id}' was changed since it was read`,
      );
    }
    return stored;
  }

  #pageOf<TItem extends { id: string }>(
    scope: unknown[],
    items: TItem[],
    page: { limit: number; offset: number; cursor?: string },
  ): Page<TItem> {
    const { limit, offset, cursor } = page;
    const list = JSON.stringify(scope);
    let unread = items.slice(offset);
    if (cursor !== undefined) {
      const known = this.#unread.get(cursor);
      if (known?.list !== list) {
        throw new InputError(
          `Invalid query: cursor must be one that a page of this list led on by, got '${cursor}'`,
        );
      }
      unread = items.filter(({ id }) => known.ids.has(id));
    }
    const nextCursor = randomUUID();
    const ids = new Set(unread.slice(limit).map(({ id }) => id));
    if (ids.size > 0) {
      this.#unread.set(nextCursor, { list, ids });
    }
    return {
      items: unread.slice(0, limit),
      totalItems: items.length,
      ...(ids.size > 0 && { nextCursor }),
    };
  }

  #touch(stored: StoredMockup): void {
    stored.mockup.updatedAt = new Date().toISOString();
    stored.revision = this.#nextRevision();
  }

  #nextRevision(): number {
    this.#revision += 1;
    return this.#revision;
  }
}

/** Copies, so that callers cannot change stored values. */
function copyOf<T>(value: T): T {
  return structuredClone(value);
}

function nameOfCopy(name: string): string {
  const suffix = ' (copy)';
  const kept = Array.from(name).slice(0, MOCKUP_LIMITS.name - suffix.length);
  return `${kept.join('')}${suffix}`;
}

function matching(selection: {
  owner?: string;
  search?: string;
  filter?: MockupFilter;
}): (mockup: Mockup) => boolean {
  const { owner, search, filter } = selection;
  const needle = search?.toLocaleLowerCase('en-US');
  return mockup =>
    (!owner || mockup.owner === owner) &&
    (!needle || containsText(mockup, needle)) &&
    (!filter || matchesFilter(mockup, filter));
}

function containsText(mockup: Mockup, needle: string): boolean {
  return [mockup.name, mockup.description ?? ''].some(text =>
    text.toLocaleLowerCase('en-US').includes(needle),
  );
}

function compareBy(orderBy: string) {
  const [field, direction] = orderBy.split(',');
  const sign = direction === 'asc' ? 1 : -1;
  return (a: StoredMockup, b: StoredMockup): number => {
    if (field === 'name') {
      return sign * a.mockup.name.localeCompare(b.mockup.name, 'en-US');
    }
    if (field === 'createdAt') {
      return sign * (a.createdAt - b.createdAt);
    }
    return sign * (a.revision - b.revision);
  };
}
