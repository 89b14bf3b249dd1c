import type {
  BackstageCredentials,
  PermissionsService,
} from '@backstage/backend-plugin-api';
import { NotAllowedError } from '@backstage/errors';
import {
  AuthorizeResult,
  type PolicyDecision,
  type QueryPermissionResponse,
  type ResourcePermission,
} from '@backstage/plugin-permission-common';
import {
  createConditionAuthorizer,
  createConditionTransformer,
  type PermissionRuleset,
} from '@backstage/plugin-permission-node';
import {
  type CreateMockupRequest,
  type DuplicateMockupRequest,
  type Mockup,
  mockupCreatePermission,
  mockupDeletePermission,
  mockupReadPermission,
  mockupUpdatePermission,
  type Page,
  type RestoreVersionRequest,
  type SaveVersionRequest,
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
  MockupFilter,
  MockupCondition,
  MockupStore,
  MockupWriteCondition,
} from 'backstage-plugin-mockup-node';

/** The mockup store as one caller may see and change it. */
export class AuthorizedMockupStore implements MockupStore {
  readonly #store: MockupStore;
  readonly #permissions: PermissionsService;
  readonly #ruleset: PermissionRuleset<Mockup, MockupCondition>;
  readonly #credentials: BackstageCredentials;

  constructor(options: {
    store: MockupStore;
    permissions: PermissionsService;
    ruleset: PermissionRuleset<Mockup, MockupCondition>;
    credentials: BackstageCredentials;
  }) {
    this.#store = options.store;
    this.#permissions = options.permissions;
    this.#ruleset = options.ruleset;
    this.#credentials = options.credentials;
  }

  async list(options: ListMockupsOptions = {}): Promise<Page<Mockup>> {
    return this.#listReadable(options, readable => this.#store.list(readable));
  }

  async get(id: string) {
    const [decision] = await this.#decide(mockupReadPermission);
    if (decision.result === AuthorizeResult.DENY) {
      return undefined;
    }
    const found = await this.#store.get(id);
    return found && this.#isAllowed(decision, found.mockup) ? found : undefined;
  }

  async create(request: CreateMockupRequest, options: { owner: string }) {
    await this.#assertMayCreate();
    return this.#store.create(request, options);
  }

  async duplicate(
    id: string,
    request: DuplicateMockupRequest,
    options: { owner: string },
  ) {
    if (!(await this.#mayRead(id))) {
      return undefined;
    }
    await this.#assertMayCreate();
    return this.#store.duplicate(id, request, options);
  }

  async update(
    id: string,
    request: UpdateMockupRequest,
    condition?: MockupWriteCondition,
  ) {
    return (await this.#mayWrite(id, mockupUpdatePermission))
      ? this.#store.update(id, request, condition)
      : undefined;
  }

  async delete(
    id: string,
    options?: MockupWriteCondition & { deletedBy?: string },
  ): Promise<boolean> {
    return (await this.#mayWrite(id, mockupDeletePermission))
      ? this.#store.delete(id, options)
      : false;
  }

  async listTrash(
    options: ListTrashOptions = {},
  ): Promise<Page<TrashedMockup>> {
    return this.#listReadable(options, readable =>
      this.#store.listTrash(readable),
    );
  }

  async restore(id: string) {
    return (await this.#mayWrite(id, mockupDeletePermission, true))
      ? this.#store.restore(id)
      : undefined;
  }

  async purge(id: string): Promise<boolean> {
    return (await this.#mayWrite(id, mockupDeletePermission, true))
      ? this.#store.purge(id)
      : false;
  }

  async saveVersion(
    mockupId: string,
    request: SaveVersionRequest,
    options: { createdBy: string } & MockupWriteCondition,
  ) {
    return (await this.#mayWrite(mockupId, mockupUpdatePermission))
      ? this.#store.saveVersion(mockupId, request, options)
      : undefined;
  }

  async restoreVersion(
    mockupId: string,
    versionId: string,
    request: RestoreVersionRequest,
    options: { createdBy: string } & MockupWriteCondition,
  ) {
    return (await this.#mayWrite(mockupId, mockupUpdatePermission))
      ? this.#store.restoreVersion(mockupId, versionId, request, options)
      : undefined;
  }

  async updateVersion(
    mockupId: string,
    versionId: string,
    request: UpdateVersionRequest,
    condition?: MockupWriteCondition,
  ) {
    return (await this.#mayWrite(mockupId, mockupUpdatePermission))
      ? this.#store.updateVersion(mockupId, versionId, request, condition)
      : undefined;
  }

  async listVersions(
    mockupId: string,
    options?: ListVersionsOptions,
  ): Promise<Page<Version> | undefined> {
    return (await this.#mayRead(mockupId))
      ? this.#store.listVersions(mockupId, options)
      : undefined;
  }

  async getVersion(
    mockupId: string,
    versionId: string,
  ): Promise<Version | undefined> {
    return (await this.#mayRead(mockupId))
      ? this.#store.getVersion(mockupId, versionId)
      : undefined;
  }

  async getLatestVersion(mockupId: string): Promise<Version | undefined> {
    return (await this.#mayRead(mockupId))
      ? this.#store.getLatestVersion(mockupId)
      : undefined;
  }

  async compareVersions(
    mockupId: string,
    from: string,
    to: string,
  ): Promise<VersionDifference | undefined> {
    return (await this.#mayRead(mockupId))
      ? this.#store.compareVersions(mockupId, from, to)
      : undefined;
  }

  async importMockups(
    parts: AsyncIterable<ImportedPart>,
    options: { owner: string },
  ): Promise<Mockup[]> {
    await this.#assertMayCreate();
    return this.#store.importMockups(parts, options);
  }

  /** Lists what the caller may read. */
  async #listReadable<TOptions extends { filter?: MockupFilter }, TItem>(
    options: TOptions,
    list: (options: TOptions) => Promise<Page<TItem>>,
  ): Promise<Page<TItem>> {
    const [decision] = await this.#decide(mockupReadPermission);
    if (decision.result !== AuthorizeResult.CONDITIONAL) {
      return decision.result === AuthorizeResult.ALLOW
        ? list(options)
        : { items: [], totalItems: 0 };
    }
    const allowed = createConditionTransformer(this.#ruleset)(
      decision.conditions,
    );
    return list({
      ...options,
      filter: options.filter ? { allOf: [allowed, options.filter] } : allowed,
    });
  }

  /** @throws NotAllowedError if the caller may create no mockups */
  async #assertMayCreate(): Promise<void> {
    const [{ result }] = await this.#permissions.authorize(
      [{ permission: mockupCreatePermission }],
      { credentials: this.#credentials },
    );
    if (result !== AuthorizeResult.ALLOW) {
      throw new NotAllowedError('You may not create mockups');
    }
  }

  /** Whether the caller may see a mockup, if there is one. */
  async #mayRead(id: string): Promise<boolean> {
    const [decision] = await this.#decide(mockupReadPermission);
    if (decision.result !== AuthorizeResult.CONDITIONAL) {
      return decision.result === AuthorizeResult.ALLOW;
    }
    const mockup = await this.#find(id);
    return mockup !== undefined && this.#isAllowed(decision, mockup);
  }

  /**
   * Whether the caller may change a mockup: false if it does not exist, or the
   * caller may not see it.
   *
   * The check and the write are two statements. Nothing can change between them: a
   * rule's query can only use the id and the owner, which never change.
   *
   * @param isTrashed - whether it is one in the trash
   * @throws NotAllowedError if the caller may see the mockup but not change it
   */
  async #mayWrite(
    id: string,
    permission: ResourcePermission,
    isTrashed = false,
  ): Promise<boolean> {
    const [read, write] = await this.#decide(mockupReadPermission, permission);
    if (
      read.result === AuthorizeResult.ALLOW &&
      write.result === AuthorizeResult.ALLOW
    ) {
      return true;
    }
    const mockup = await (isTrashed ? this.#findTrashed(id) : this.#find(id));
    if (!mockup || !this.#isAllowed(read, mockup)) {
      return false;
    }
    if (!this.#isAllowed(write, mockup)) {
      throw new NotAllowedError(
        `You may not ${permission.attributes.action} the mockup '${id}'`,
      );
    }
    return true;
  }

  /** Finds a mockup without its latest version, which may be large. */
  async #find(id: string): Promise<Mockup | undefined> {
    const { items } = await this.#store.list({ filter: { id: [id] } });
    return items[0];
  }

  async #findTrashed(id: string): Promise<Mockup | undefined> {
    const { items } = await this.#store.listTrash({ filter: { id: [id] } });
    return items[0];
  }

  #isAllowed(decision: PolicyDecision, mockup: Mockup): boolean {
    return createConditionAuthorizer(this.#ruleset)(decision, mockup);
  }

  #decide(
    ...permissions: ResourcePermission[]
  ): Promise<QueryPermissionResponse[]> {
    return this.#permissions.authorizeConditional(
      permissions.map(permission => ({ permission })),
      { credentials: this.#credentials },
    );
  }
}
