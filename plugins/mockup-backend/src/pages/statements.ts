import { iso } from '../database/columns';

// As in database/statements.ts, `mayPublish` and `allowed` are conditions on a row with the
// alias `mockups`, and each statement has a predicate on the tenant for each table.

const PAGE_COLUMNS = `
  mockup_pages.path, mockup_pages.title, mockup_pages.audience, mockup_pages.is_home,
  mockup_pages.is_template,
  mockup_pages.mockup_id, mockup_pages.version_id, mockup_pages.published_by,
  ${iso('mockup_pages.published_at')} as published_at`;

const FROM_PAGES = `
    from mockup_pages
    join mockups on mockups.id = mockup_pages.mockup_id
    join mockup_versions on mockup_versions.id = mockup_pages.version_id
   where mockup_pages.tenant_id = :tenantId
     and mockups.tenant_id = :tenantId
     and mockup_versions.tenant_id = :tenantId`;

const OF_AUDIENCE = `mockup_pages.audience = any(cast(:audiences as text[]))`;

/** The publisher of a page sees it, whatever its audience. */
const VISIBLE = `(${OF_AUDIENCE} or mockup_pages.published_by = :user)`;

/** Bindings: `tenantId`, `audiences`, `user`, `mayPublish`. */
export const SELECT_PAGES = `
  select ${PAGE_COLUMNS}, mockup_versions.version_tag, :mayPublish as may_publish
  ${FROM_PAGES} and ${VISIBLE}
   order by mockup_pages.path`;

/** Bindings: `tenantId`, `audiences`, `user`, `mayPublish`, `path`. */
export const SELECT_PAGE = `
  select ${PAGE_COLUMNS}, mockup_versions.version_tag, mockup_versions.layout_data,
         :mayPublish as may_publish
  ${FROM_PAGES} and ${VISIBLE} and mockup_pages.path = :path`;

/**
 * The home page of a group takes precedence over that of a role, and that over the one for
 * everybody; among several, the most recently published. Bindings: `tenantId`, `audiences`,
 * `mayPublish`.
 */
export const SELECT_HOME = `
  select ${PAGE_COLUMNS}, mockup_versions.version_tag, mockup_versions.layout_data,
         :mayPublish as may_publish
  ${FROM_PAGES} and ${OF_AUDIENCE} and mockup_pages.is_home
   order by mockup_pages.audience = 'everybody',
            mockup_pages.audience like 'role:%',
            mockup_pages.published_at desc
   limit 1`;

/** Bindings: `tenantId`, `mockupId`, `allowed`, `mayPublish`. */
export const SELECT_PAGES_OF_MOCKUP = `
  select ${PAGE_COLUMNS}, mockup_versions.version_tag, :mayPublish as may_publish
  ${FROM_PAGES} and mockup_pages.mockup_id = :mockupId and :allowed
   order by mockup_pages.path`;

/** Bindings: `tenantId`, `mockupId`, `versionId`, `allowed`. */
export const SELECT_LAYOUT = `
  select mockup_versions.layout_data from mockups
    join mockup_versions on mockup_versions.mockup_id = mockups.id
   where mockups.tenant_id = :tenantId and mockups.id = :mockupId and :allowed
     and mockup_versions.tenant_id = :tenantId
     and mockup_versions.id = :versionId`;

/** True if a row with the alias `mockup_versions` is reviewed, or the tenant requires no review. */
const REVIEWED = `(
  not exists (
    select from mockup_settings
     where mockup_settings.tenant_id = :tenantId and mockup_settings.review_required)
  or exists (
    select from mockup_ready_versions
     where mockup_ready_versions.tenant_id = :tenantId
       and mockup_ready_versions.version_id = mockup_versions.id))`;

/** Whether a version is reviewed as required. Bindings: `tenantId`, `versionId`. */
export const SELECT_IS_REVIEWED = `
  select from mockup_versions
   where mockup_versions.tenant_id = :tenantId
     and mockup_versions.id = :versionId and ${REVIEWED}`;

/** Bindings: `tenantId`, `path`. */
export const SELECT_MOCKUP_AT = `
  select mockup_pages.mockup_id from mockup_pages
   where mockup_pages.tenant_id = :tenantId and mockup_pages.path = :path`;

/**
 * Publishes a version at a path that is free or has a page of the same mockup; what is null stays as
 * the page has it. Locks the mockup and the version against deletion (FOR KEY SHARE), and then the
 * page, and the previous home page of the audience. Bindings: `tenantId`, `path`, `title` (of a new
 * page, null takes the name of the mockup), `mockupId`, `versionId`, `audience`, `home`, `template`,
 * `mayChooseHome`, `demands`, `user`, `allowed`, `most`.
 */
export const PUBLISH_PAGE = `
  with page as (
    select mockup_pages.* from mockup_pages
     where mockup_pages.tenant_id = :tenantId and mockup_pages.path = :path
  ),
  chosen as (
    select mockups.tenant_id, mockups.id, mockup_versions.id as version_id,
           mockup_versions.version_tag,
           coalesce(cast(:title as varchar), page.title, mockups.name) as title,
           coalesce(cast(:audience as varchar), page.audience) as audience,
           coalesce(cast(:home as boolean), page.is_home, false) as is_home,
           coalesce(cast(:template as boolean), page.is_template, false) as is_template,
           page.is_home and page.audience = coalesce(cast(:audience as varchar), page.audience)
             as is_home_already
      from mockups
      join mockup_versions on mockup_versions.mockup_id = mockups.id
      left join page on page.mockup_id = mockups.id
     where mockups.tenant_id = :tenantId and mockups.id = :mockupId and :allowed
       and mockup_versions.tenant_id = :tenantId
       and mockup_versions.id = :versionId and ${REVIEWED}
       for key share of mockups, mockup_versions
  ),
  published as (
    insert into mockup_pages
      (tenant_id, path, title, mockup_id, version_id, audience, is_home, is_template, published_by,
       published_at)
    select tenant_id, :path, title, id, version_id, audience, is_home, is_template, :user,
           clock_timestamp() at time zone 'utc'
      from chosen
     where audience is not null and (:mayChooseHome or not is_home or is_home_already)
       and exists (select from page) = all(cast(:demands as boolean[]))
       and (exists (select from page)
            or (select count(*) from mockup_pages
                 where mockup_pages.tenant_id = :tenantId) < :most)
    on conflict (tenant_id, path) do update
       set title = excluded.title, version_id = excluded.version_id,
           audience = excluded.audience, is_home = excluded.is_home,
           is_template = excluded.is_template,
           published_by = excluded.published_by, published_at = excluded.published_at
     where mockup_pages.mockup_id = excluded.mockup_id
    returning mockup_pages.*
  ),
  replaced as (
    update mockup_pages set is_home = false
      from published
     where mockup_pages.tenant_id = :tenantId
       and mockup_pages.path <> published.path
       and mockup_pages.audience = published.audience
       and mockup_pages.is_home and published.is_home
  )
  select ${PAGE_COLUMNS}, chosen.version_tag, true as may_publish
    from published mockup_pages, chosen`;

/** Locks the page. Bindings: `tenantId`, `path`, `allowed`. */
export const DELETE_PAGE = `
  delete from mockup_pages
   using mockups
   where mockup_pages.tenant_id = :tenantId and mockup_pages.path = :path
     and mockups.tenant_id = :tenantId and mockups.id = mockup_pages.mockup_id
     and :allowed
  returning mockup_pages.path`;

/**
 * Whether a page is visible to a caller, or belongs to a mockup that the caller may read.
 * Bindings: `tenantId`, `audiences`, `user`, `allowed`, `path`.
 */
export const SELECT_PAGE_EXISTS = `
  select
  ${FROM_PAGES} and mockup_pages.path = :path and (${VISIBLE} or :allowed)`;
