import { iso } from '../database/columns';

// As in database/statements.ts, `allowed` is a condition on a row with the alias `mockups`, and
// each statement has a predicate on the tenant for each table.

const NOW = `clock_timestamp() at time zone 'utc'`;

const COMMENT_COLUMNS = `
  mockup_comments.id, mockup_comments.mockup_id, mockup_comments.item,
  mockup_comments.text, mockup_comments.author,
  ${iso(
    'mockup_comments.created_at',
  )} as created_at, mockup_comments.resolved_by,
  ${iso('mockup_comments.resolved_at')} as resolved_at`;

/** Selects an allowed mockup. Bindings: `tenantId`, `mockupId`, `allowed`. */
const OF_MOCKUP = `
  mockups.tenant_id = :tenantId and mockups.id = :mockupId and :allowed`;

/** Bindings: those of a mockup. */
export const SELECT_COMMENTS = `
  select ${COMMENT_COLUMNS}
    from mockup_comments
    join mockups on mockups.id = mockup_comments.mockup_id
   where mockup_comments.tenant_id = :tenantId and ${OF_MOCKUP}
   order by mockup_comments.created_at, mockup_comments.id`;

/**
 * Adds a comment to a mockup with fewer than `most` comments, or returns the one that an earlier
 * attempt has added, whose row it locks while it runs. Locks the mockup against deletion (FOR KEY SHARE), so that no
 * comment is added to a deleted mockup. Bindings: those of a mockup, `newId` (null for a random
 * one), `item`, `text`, `author`, `most`.
 */
export const INSERT_COMMENT = `
  with mockup as (
    select mockups.tenant_id, mockups.id from mockups where ${OF_MOCKUP}
       for key share
  )
  insert into mockup_comments
    (tenant_id, id, mockup_id, item, text, author, created_at)
  select mockup.tenant_id, coalesce(cast(:newId as uuid), gen_random_uuid()),
         mockup.id, :item, :text, :author, ${NOW}
    from mockup
   where (select count(*) from mockup_comments
           where mockup_comments.tenant_id = :tenantId
             and mockup_comments.mockup_id = :mockupId
             and mockup_comments.id is distinct from cast(:newId as uuid)) < :most
  on conflict (id) do update set author = mockup_comments.author
   where mockup_comments.tenant_id = :tenantId
  returning ${COMMENT_COLUMNS}`;

/** Selects a comment on an allowed mockup. Bindings: those of a mockup, `id`. */
const OF_COMMENT = `
  mockup_comments.tenant_id = :tenantId and mockup_comments.id = :id
  and mockup_comments.mockup_id = mockups.id and ${OF_MOCKUP}`;

/**
 * Resolves a comment, or opens it again. Keeps the first user who resolved it. Locks the
 * comment. Bindings: those of a comment, `resolved`, `user`.
 */
export const RESOLVE_COMMENT = `
  update mockup_comments
     set resolved_by =
           case when :resolved then coalesce(resolved_by, cast(:user as varchar)) end,
         resolved_at = case when :resolved then coalesce(resolved_at, ${NOW}) end
    from mockups
   where ${OF_COMMENT}
  returning ${COMMENT_COLUMNS}`;

/**
 * Deletes a comment by the user, or any comment if `mayDelete` holds. Locks the comment.
 * Bindings: those of a comment, `user`, `mayDelete` (a condition on a row called `mockups`).
 */
export const DELETE_COMMENT = `
  delete from mockup_comments
   using mockups
   where ${OF_COMMENT} and (mockup_comments.author = :user or :mayDelete)
  returning mockup_comments.id`;

/** Bindings: those of a comment. */
export const SELECT_COMMENT_EXISTS = `
  select from mockup_comments, mockups where ${OF_COMMENT}`;

const READY_COLUMNS = `
  mockup_ready_versions.version_id, mockup_ready_versions.ready_by,
  ${iso('mockup_ready_versions.ready_at')} as ready_at`;

/** Selects a version of an allowed mockup. Bindings: those of a mockup, `versionId`. */
const OF_VERSION = `
  mockup_versions.tenant_id = :tenantId and mockup_versions.id = :versionId
  and mockup_versions.mockup_id = mockups.id and ${OF_MOCKUP}`;

/** The newest ones. Bindings: those of a mockup, `most`. */
export const SELECT_READY = `
  select ${READY_COLUMNS}
    from mockup_ready_versions
    join mockup_versions on mockup_versions.id = mockup_ready_versions.version_id
    join mockups on mockups.id = mockup_versions.mockup_id
   where mockup_ready_versions.tenant_id = :tenantId
     and mockup_versions.tenant_id = :tenantId and ${OF_MOCKUP}
   order by mockup_ready_versions.ready_at desc, mockup_ready_versions.version_id
   limit :most`;

/**
 * Marks another user's version as ready. Keeps the first user who marked it. Locks the mockup and
 * the version against deletion (FOR KEY SHARE). Bindings: those of a version, `user`.
 */
export const MARK_READY = `
  insert into mockup_ready_versions (tenant_id, version_id, ready_by, ready_at)
  select mockups.tenant_id, mockup_versions.id, :user, ${NOW}
    from mockups, mockup_versions
   where ${OF_VERSION} and mockup_versions.created_by <> :user
     for key share
  on conflict (version_id) do update set ready_by = mockup_ready_versions.ready_by
  returning ${READY_COLUMNS}`;

/** Locks the mark. Bindings: those of a version. */
export const UNMARK_READY = `
  delete from mockup_ready_versions
   using mockups, mockup_versions
   where mockup_ready_versions.tenant_id = :tenantId
     and mockup_ready_versions.version_id = mockup_versions.id and ${OF_VERSION}
  returning mockup_ready_versions.version_id`;

/** The author of a version. Bindings: those of a version. */
export const SELECT_VERSION_AUTHOR = `
  select mockup_versions.created_by from mockups, mockup_versions where ${OF_VERSION}`;

/** Bindings: `tenantId`. */
export const SELECT_SETTINGS = `
  select mockup_settings.review_required from mockup_settings
   where mockup_settings.tenant_id = :tenantId`;

/** Locks the row of the tenant. Bindings: `tenantId`, `reviewRequired`, `user`. */
export const UPDATE_SETTINGS = `
  insert into mockup_settings (tenant_id, review_required, updated_by, updated_at)
  values (:tenantId, :reviewRequired, :user, ${NOW})
  on conflict (tenant_id) do update
     set review_required = excluded.review_required,
         updated_by = excluded.updated_by, updated_at = excluded.updated_at`;

/** Longer than two announcements of an editor, of which one may be lost. */
const SEEN = `interval '45 seconds'`;

/**
 * Announces that the user edits a mockup, and returns the other editors; no row if it is not
 * allowed. Locks the user's own row, and the mockup against deletion (FOR KEY SHARE). Bindings: those of a mockup, `user`.
 */
export const ANNOUNCE_EDITOR = `
  with announced as (
    insert into mockup_editors (tenant_id, mockup_id, editor, seen_at)
    select mockups.tenant_id, mockups.id, :user, ${NOW} from mockups where ${OF_MOCKUP}
       for key share
    on conflict (tenant_id, mockup_id, editor) do update set seen_at = excluded.seen_at
    returning mockup_id
  )
  select array(
           select mockup_editors.editor from mockup_editors
            where mockup_editors.tenant_id = :tenantId
              and mockup_editors.mockup_id = announced.mockup_id
              and mockup_editors.editor <> :user
              and mockup_editors.seen_at > ${NOW} - ${SEEN}
            order by mockup_editors.editor
            limit 20) as others
    from announced`;
