import { idOfAttempts } from '@internal/http';
import { parseInput } from '@internal/http-client';
import {
  compareLayouts,
  listMockupsQuerySchema,
  listTrashQuerySchema,
  type MockupAccess,
  MOCKUP_LIMITS,
  paginationSchema,
} from 'backstage-plugin-mockup-common';
import {
  type MockupFilter,
  type MockupStore,
  type MockupWriteCondition,
  PreconditionFailedError,
} from 'backstage-plugin-mockup-node';
import type { Knex } from 'knex';
import {
  MOCKUP_COLUMNS,
  type MockupRow,
  toMockup,
  toTrashedMockup,
  toVersion,
  TRASH_COLUMNS,
  type TrashRow,
  type VersionRow,
} from './columns';
import { decodeCursor, encodeCursor, versionPositionSchema } from './cursor';
import { applySearch, containing } from './filter';
import { type ImportsUnderWay, MockupImport } from './MockupImport';
import { fetchPage, type ListOrder } from './paging';
import * as statements from './statements';
import type { TenantStatements } from './TenantStatements';

const ORDERS: Record<string, Omit<ListOrder, 'direction'>> = {
  name: { column: 'mockups.name', isTime: false, isFixed: false },
  createdAt: { column: 'mockups.created_at', isTime: true, isFixed: true },
  updatedAt: { column: 'mockups.updated_at', isTime: true, isFixed: false },
};

/**
 * {@link MockupStore} of one tenant on PostgreSQL.
 *
 * Every operation except the lists is one statement, which is atomic and sees one snapshot.
 * Each statement has a predicate on the tenant.
 */
export class PostgresMockupStore implements MockupStore {
  readonly #statements: TenantStatements;
  readonly #trashRetentionMs: number | undefined;
  readonly #imports: ImportsUnderWay;

  constructor(options: {
    imports: ImportsUnderWay;
    statements: TenantStatements;
    /** How long the trash keeps a mockup; for ever if undefined. */
    trashRetentionMs?: number;
  }) {
    this.#imports = options.imports;
    this.#statements = options.statements;
    this.#trashRetentionMs = options.trashRetentionMs;
  }

  readonly list: MockupStore['list'] = async (options = {}) => {
    const { filter, ...query } = options;
    const { owner, search, orderBy, ...paging } = parseInput(
      listMockupsQuerySchema,
      query,
      'query',
    );
    const [field, direction] = orderBy.split(',');

    const matching = this.#select('mockups', { owner, filter });
    if (search) {
      applySearch(matching, search, this.#statements.tenantId);
    }
    const page = await fetchPage<MockupRow>({
      statements: this.#statements,
      matching,
      columns: MOCKUP_COLUMNS,
      order: {
        ...ORDERS[field],
        direction: direction === 'asc' ? 'asc' : 'desc',
      },
      scope: [this.#statements.tenantId, 'mockups', owner, search, orderBy],
      page: paging,
    });
    return { ...page, items: page.items.map(toMockup) };
  };

  readonly get: MockupStore['get'] = async (id, options) => {
    const row = await this.#statements.oneOfMockups<MockupRow & VersionRow>(
      statements.SELECT_MOCKUP,
      { id },
      options?.filter,
    );
    return row && withLatestVersion(row);
  };

  readonly create: MockupStore['create'] = async (request, options) => {
    const { name, description } = request;
    const { owner, idempotencyKey } = options;
    const about = [this.#statements.tenantId, owner, name, description];
    const newId = idOfAttempts(idempotencyKey, about);
    const [row] = await this.#attempt<MockupRow>(newId, [
      statements.INSERT_MOCKUP,
      { newId, name, description: description ?? null, owner },
      undefined,
    ]);
    return { mockup: toMockup(row), revision: row.revision };
  };

  readonly duplicate: MockupStore['duplicate'] = async (
    id,
    request,
    options,
  ) => {
    const { owner, idempotencyKey, filter } = options;
    const { name = null, withHistory = false } = request;
    const { tenantId } = this.#statements;
    const about = [
      tenantId,
      owner,
      'copy',
      id.toLowerCase(),
      name,
      withHistory,
    ];
    const newId = idOfAttempts(idempotencyKey, about);
    const [row] = await this.#attempt<MockupRow & VersionRow>(newId, [
      statements.DUPLICATE_MOCKUP,
      { id, newId, name, owner, withHistory },
      filter,
    ]);
    return row && withLatestVersion(row);
  };

  readonly update: MockupStore['update'] = (id, request, condition = {}) => {
    const { name = null, description } = request;
    return this.#write(statements.UPDATE_MOCKUP, id, condition, {
      name,
      changesDescription: description !== undefined,
      description: description ?? null,
    });
  };

  readonly share: MockupStore['share'] = (id, { shares }, condition = {}) => {
    const groups = (access: MockupAccess) =>
      shares.filter(share => share.access === access).map(({ group }) => group);
    return this.#write(statements.SHARE_MOCKUP, id, condition, {
      readers: groups('read'),
      writers: groups('write'),
    });
  };

  readonly delete: MockupStore['delete'] = async (id, options = {}) => {
    const row = await this.#statements.oneOfMockups(
      statements.DELETE_MOCKUP,
      { ...atRevision(id, options), deletedBy: options.deletedBy ?? '' },
      options.filter,
    );
    if (!row) {
      await this.#explainNoChange(id, options);
    }
    return row !== undefined;
  };

  readonly listTrash: MockupStore['listTrash'] = async (options = {}) => {
    const { filter, ...query } = options;
    const { owner, search, ...paging } = parseInput(
      listTrashQuerySchema,
      query,
      'query',
    );
    const matching = this.#select('mockup_trash as mockups', { owner, filter });
    if (search) {
      const pattern = containing(search);
      matching.where(text =>
        text
          .whereILike('mockups.name', pattern)
          .orWhereILike('mockups.description', pattern),
      );
    }
    const page = await fetchPage<TrashRow>({
      statements: this.#statements,
      matching,
      columns: TRASH_COLUMNS,
      order: {
        column: 'mockups.deleted_at',
        isTime: true,
        isFixed: true,
        direction: 'desc',
      },
      scope: [this.#statements.tenantId, 'trash', owner, search],
      page: paging,
    });
    return {
      ...page,
      items: page.items.map(row =>
        toTrashedMockup(row, this.#trashRetentionMs),
      ),
    };
  };

  readonly restore: MockupStore['restore'] = async (id, options) => {
    const row = await this.#statements.oneOfMockups<MockupRow>(
      statements.RESTORE_MOCKUP,
      { id },
      options?.filter,
    );
    return row && { mockup: toMockup(row), revision: row.revision };
  };

  readonly purge: MockupStore['purge'] = async (id, options) => {
    const row = await this.#statements.oneOfMockups(
      statements.PURGE_MOCKUP,
      { id },
      options?.filter,
    );
    return row !== undefined;
  };

  readonly saveVersion: MockupStore['saveVersion'] = async (
    mockupId,
    request,
    options,
  ) => {
    const row = await this.#statements.oneOfMockups<
      VersionRow & { revision: string }
    >(
      statements.INSERT_VERSION,
      {
        ...atRevision(mockupId, options),
        versionTag: request.versionTag ?? null,
        message: request.message ?? null,
        layoutData: JSON.stringify(request.layoutData),
        createdBy: options.createdBy,
      },
      options.filter,
    );
    if (!row) {
      return this.#explainNoChange(mockupId, options);
    }
    const version = toVersion({ ...row, layout_data: request.layoutData });
    return { version, revision: row.revision };
  };

  readonly restoreVersion: MockupStore['restoreVersion'] = (
    mockupId,
    versionId,
    options,
  ) =>
    this.#writeVersion(
      statements.RESTORE_VERSION,
      { mockupId, versionId, condition: options },
      { createdBy: options.createdBy },
    );

  readonly updateVersion: MockupStore['updateVersion'] = (
    mockupId,
    versionId,
    request,
    condition = {},
  ) =>
    this.#writeVersion(
      statements.UPDATE_VERSION,
      { mockupId, versionId, condition },
      { versionTag: request.versionTag },
    );

  readonly listVersions: MockupStore['listVersions'] = async (
    mockupId,
    options = {},
  ) => {
    const { oldestFirst = false, filter, ...query } = options;
    const { limit, offset, cursor } = parseInput(
      paginationSchema,
      query,
      'query',
    );
    const scope = [
      this.#statements.tenantId,
      'versions',
      mockupId.toLowerCase(),
      oldestFirst ? 'asc' : 'desc',
    ];
    const after =
      cursor === undefined
        ? null
        : decodeCursor(versionPositionSchema, scope, cursor).after;
    const mockup = await this.#statements.oneOfMockups<{ versions: number }>(
      statements.COUNT_VERSIONS,
      { mockupId },
      filter,
    );
    if (!mockup) {
      return undefined;
    }
    const rows = await this.#statements.ofMockups<
      VersionRow & { position_key: string; has_more: boolean }
    >(
      oldestFirst
        ? statements.SELECT_VERSIONS_OLDEST_FIRST
        : statements.SELECT_VERSIONS,
      { mockupId, limit, offset, after, maxBytes: MOCKUP_LIMITS.layoutBytes },
      filter,
    );
    const last = rows.at(-1);
    return {
      items: rows.map(toVersion),
      totalItems: mockup.versions,
      ...(last?.has_more && {
        nextCursor: encodeCursor(scope, { after: last.position_key }),
      }),
    };
  };

  readonly getVersion: MockupStore['getVersion'] = async (
    mockupId,
    versionId,
    options,
  ) => {
    const row = await this.#statements.oneOfMockups<VersionRow>(
      statements.SELECT_VERSION,
      { mockupId, versionId },
      options?.filter,
    );
    return row && toVersion(row);
  };

  readonly getLatestVersion: MockupStore['getLatestVersion'] = async (
    mockupId,
    options,
  ) => {
    const row = await this.#statements.oneOfMockups<VersionRow>(
      statements.SELECT_LATEST_VERSION,
      { mockupId },
      options?.filter,
    );
    return row && toVersion(row);
  };

  readonly compareVersions: MockupStore['compareVersions'] = async (
    mockupId,
    from,
    to,
    options,
  ) => {
    // Two statements suffice, because the layout of a version never changes.
    const before = await this.getVersion(mockupId, from, options);
    const after = before && (await this.getVersion(mockupId, to, options));
    return (
      after && {
        from: before.id,
        to: after.id,
        ...compareLayouts(before.layoutData, after.layoutData),
      }
    );
  };

  readonly importMockups: MockupStore['importMockups'] = async (
    parts,
    options,
  ) => {
    const { tenantId } = this.#statements;
    const iterator = parts[Symbol.asyncIterator]();
    try {
      return await this.#imports.run(tenantId, async () => {
        // Before the transaction begins, which must not wait for the client.
        const first = await iterator.next();
        return this.#statements.transaction(transaction =>
          new MockupImport(transaction, { tenantId, ...options }).run(
            first,
            iterator,
          ),
        );
      });
    } finally {
      await iterator.return?.();
    }
  };

  /** Selects mockups of the tenant from a table with the alias `mockups`. */
  #select(
    from: string,
    { owner, filter }: { owner?: string; filter?: MockupFilter },
  ): Knex.QueryBuilder {
    return this.#statements.knex(from).modify(builder => {
      builder.where('mockups.tenant_id', this.#statements.tenantId);
      if (owner !== undefined) {
        builder.where('mockups.owner', owner);
      }
      if (filter) {
        builder.where(this.#statements.condition(filter));
      }
    });
  }

  /**
   * Creates what has this id, or any if it is null. Of attempts at the same time, the second finds
   * what the first has created.
   */
  #attempt<TRow extends object>(
    newId: string | null,
    query: Parameters<TenantStatements['ofMockups']>,
  ): Promise<TRow[]> {
    return newId === null
      ? this.#statements.ofMockups<TRow>(...query)
      : this.#statements.ofMockupsInTurn<TRow>(`mockup ${newId}`, ...query);
  }

  /** Runs a write on a mockup, if that exists. */
  async #write(
    sql: string,
    id: string,
    condition: MockupWriteCondition,
    bindings: Knex.ValueDict,
  ) {
    const row = await this.#statements.oneOfMockups<MockupRow>(
      sql,
      { ...bindings, ...atRevision(id, condition) },
      condition.filter,
    );
    return row
      ? { mockup: toMockup(row), revision: row.revision }
      : this.#explainNoChange(id, condition);
  }

  /** Runs a write on a version, if it and its mockup exist. */
  async #writeVersion(
    sql: string,
    of: {
      mockupId: string;
      versionId: string;
      condition: MockupWriteCondition;
    },
    bindings: Knex.ValueDict,
  ) {
    const { mockupId, versionId, condition } = of;
    const row = await this.#statements.oneOfMockups<
      VersionRow & { revision: string }
    >(
      sql,
      { ...bindings, ...atRevision(mockupId, condition), versionId },
      condition.filter,
    );
    if (row) {
      return { version: toVersion(row), revision: row.revision };
    }
    // If the version is missing, the revision is not the reason.
    return condition.ifRevisionIn &&
      (await this.getVersion(mockupId, versionId, condition))
      ? this.#explainNoChange(mockupId, condition)
      : undefined;
  }

  /**
   * Throws if the mockup exists at another revision; otherwise it is missing.
   */
  async #explainNoChange(
    id: string,
    condition: MockupWriteCondition,
  ): Promise<undefined> {
    if (
      condition.ifRevisionIn &&
      (await this.#statements.someOfMockups(
        statements.SELECT_MOCKUP_EXISTS,
        { id },
        condition.filter,
      ))
    ) {
      throw new PreconditionFailedError(
        `The mockup '${id}' was changed since it was read`,
      );
    }
    return undefined;
  }
}

/** The bindings that find the mockup of a write. */
function atRevision(id: string, { ifRevisionIn }: MockupWriteCondition) {
  return { id, revisions: ifRevisionIn ?? null };
}

function withLatestVersion(row: MockupRow & VersionRow) {
  return {
    mockup: {
      ...toMockup(row),
      latestVersion: row.version_id === null ? null : toVersion(row),
    },
    revision: row.revision,
  };
}
