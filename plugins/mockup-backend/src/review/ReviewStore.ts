import { idOfAttempts } from '@internal/http';
import {
  type CreateCommentRequest,
  MOCKUP_LIMITS,
  type MockupComment,
  type MockupSettings,
  type ReadyVersion,
} from 'backstage-plugin-mockup-common';
import type { MockupFilter } from 'backstage-plugin-mockup-node';
import { SELECT_MOCKUP_EXISTS } from '../database/statements';
import type { TenantStatements } from '../database/TenantStatements';
import * as sql from './statements';

/** The mockups for which a caller has a permission; all if undefined. */
type Allowed = MockupFilter | undefined;

/** A comment of a mockup. */
export interface CommentOf {
  mockupId: string;
  id: string;
}

/** A version of a mockup. */
export interface VersionOf {
  mockupId: string;
  versionId: string;
}

interface CommentRow {
  id: string;
  mockup_id: string;
  item: string | null;
  text: string;
  author: string;
  created_at: string;
  resolved_by: string | null;
  resolved_at: string | null;
}

interface ReadyRow {
  version_id: string;
  ready_by: string;
  ready_at: string;
}

/** The comments and ready versions of a tenant on PostgreSQL. It checks no permissions. */
export class ReviewStore {
  constructor(private readonly statements: TenantStatements) {}

  /** Whether an allowed mockup exists. */
  hasMockup(mockupId: string, allowed: Allowed): Promise<boolean> {
    return this.statements.someOfMockups(
      SELECT_MOCKUP_EXISTS,
      { id: mockupId },
      allowed,
    );
  }

  /** The comments of a mockup, oldest first. */
  async listComments(
    mockupId: string,
    allowed: Allowed,
  ): Promise<MockupComment[]> {
    const rows = await this.statements.ofMockups<CommentRow>(
      sql.SELECT_COMMENTS,
      { mockupId },
      allowed,
    );
    return rows.map(toComment);
  }

  /** Undefined if the mockup is not allowed, or has the most comments allowed. */
  async createComment(
    mockupId: string,
    { text, item }: CreateCommentRequest,
    options: { author: string; idempotencyKey?: string; allowed: Allowed },
  ): Promise<MockupComment | undefined> {
    const { author, idempotencyKey, allowed } = options;
    const { tenantId } = this.statements;
    // A path may have the id in capitals.
    const id = mockupId.toLowerCase();
    const [row] = await this.statements.ofMockupsInTurn<CommentRow>(
      // Otherwise comments that are made at once would count the same others.
      `mockup comments ${id}`,
      sql.INSERT_COMMENT,
      {
        newId: idOfAttempts(idempotencyKey, [tenantId, author, id, text, item]),
        mockupId,
        text,
        item: item ?? null,
        author,
        most: MOCKUP_LIMITS.comments,
      },
      allowed,
    );
    return row && toComment(row);
  }

  async resolveComment(
    comment: CommentOf,
    resolved: boolean,
    { user, allowed }: { user: string; allowed: Allowed },
  ): Promise<MockupComment | undefined> {
    const row = await this.statements.oneOfMockups<CommentRow>(
      sql.RESOLVE_COMMENT,
      { ...comment, resolved, user },
      allowed,
    );
    return row && toComment(row);
  }

  /** False if there is no such comment, or the user may not delete it. */
  deleteComment(
    comment: CommentOf,
    options: { user: string; allowed: Allowed; mayDelete: Allowed },
  ): Promise<boolean> {
    const { user, allowed, mayDelete } = options;
    return this.statements.someOfMockups(
      sql.DELETE_COMMENT,
      { ...comment, user, mayDelete: this.statements.condition(mayDelete) },
      allowed,
    );
  }

  hasComment(comment: CommentOf, allowed: Allowed): Promise<boolean> {
    return this.statements.someOfMockups(
      sql.SELECT_COMMENT_EXISTS,
      { ...comment },
      allowed,
    );
  }

  /** The ready versions of a mockup, most recently marked first. */
  async listReady(mockupId: string, allowed: Allowed): Promise<ReadyVersion[]> {
    const rows = await this.statements.ofMockups<ReadyRow>(
      sql.SELECT_READY,
      { mockupId, most: MOCKUP_LIMITS.pageSize },
      allowed,
    );
    return rows.map(toReady);
  }

  /** Undefined if there is no such version, or the user has saved it. */
  async markReady(
    version: VersionOf,
    { user, allowed }: { user: string; allowed: Allowed },
  ): Promise<ReadyVersion | undefined> {
    const row = await this.statements.oneOfMockups<ReadyRow>(
      sql.MARK_READY,
      { ...version, user },
      allowed,
    );
    return row && toReady(row);
  }

  /** False if the version is not ready. */
  unmarkReady(version: VersionOf, allowed: Allowed): Promise<boolean> {
    return this.statements.someOfMockups(
      sql.UNMARK_READY,
      { ...version },
      allowed,
    );
  }

  /** The author of a version of an allowed mockup. */
  async authorOf(
    version: VersionOf,
    allowed: Allowed,
  ): Promise<string | undefined> {
    const row = await this.statements.oneOfMockups<{ created_by: string }>(
      sql.SELECT_VERSION_AUTHOR,
      { ...version },
      allowed,
    );
    return row?.created_by;
  }

  async getSettings(): Promise<MockupSettings> {
    const [row] = await this.statements.query<{ review_required: boolean }>(
      sql.SELECT_SETTINGS,
      {},
    );
    return { reviewRequired: row?.review_required ?? false };
  }

  async updateSettings(
    { reviewRequired }: MockupSettings,
    user: string,
  ): Promise<void> {
    await this.statements.query(sql.UPDATE_SETTINGS, {
      reviewRequired,
      user,
    });
  }

  /** The other editors of a mockup; undefined if it is not allowed. */
  async announceEditor(
    mockupId: string,
    { user, allowed }: { user: string; allowed: Allowed },
  ): Promise<string[] | undefined> {
    const row = await this.statements.oneOfMockups<{ others: string[] }>(
      sql.ANNOUNCE_EDITOR,
      { mockupId, user },
      allowed,
    );
    return row?.others;
  }
}

function toComment(row: CommentRow): MockupComment {
  return {
    id: row.id,
    mockupId: row.mockup_id,
    ...(row.item !== null && { item: row.item }),
    text: row.text,
    author: row.author,
    createdAt: row.created_at,
    ...(row.resolved_by !== null &&
      row.resolved_at !== null && {
        resolvedBy: row.resolved_by,
        resolvedAt: row.resolved_at,
      }),
  };
}

function toReady(row: ReadyRow): ReadyVersion {
  return {
    versionId: row.version_id,
    readyBy: row.ready_by,
    readyAt: row.ready_at,
  };
}
