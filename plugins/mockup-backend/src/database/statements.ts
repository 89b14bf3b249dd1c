import {
  MOCKUP_COLUMNS,
  preciseTime,
  revisionOf,
  VERSION_COLUMNS,
  VERSION_HEAD_COLUMNS,
} from './columns';

// Casts are written cast(… as …), because Knex parses `:name::type` as a column
// name.
//
// The binding `allowed` is a condition on a row with the alias `mockups` ({@link conditionOf}).
// It is part of the statement that reads or changes the mockup, so that check and use are
// atomic.
//
// Every statement compares `tenant_id` with the binding `tenantId` for each table that it reads
// or changes. This isolates tenants even if the policies of row-level security do not apply to
// the database user.

/**
 * Finds the mockup of a write, if it is at one of the given revisions. A write that waited for
 * the row's lock evaluates this again on the committed row (PostgreSQL, "Read Committed
 * Isolation Level"). Bindings: `tenantId`, `id`, `allowed`, `revisions` (an array, or null for
 * any).
 */
const AT_REVISION = `mockups.tenant_id = :tenantId and mockups.id = :id
  and :allowed
  and (cast(:revisions as text[]) is null
       or ${revisionOf('mockups.updated_at')}
          = any(cast(:revisions as text[])))`;

/**
 * The time of a change. The UPDATE holds the row lock, so `updated_at` is the last committed
 * value. The new value is greater, which keeps the order of changes even if the clock stands
 * still or was set back.
 */
const NEXT_UPDATED_AT = `greatest(
  clock_timestamp() at time zone 'utc',
  mockups.updated_at + interval '1 microsecond')`;

/**
 * Bindings: `tenantId`, `id`, `allowed`. Returns a mockup row joined with its newest
 * version.
 */
export const SELECT_MOCKUP = `
  select ${MOCKUP_COLUMNS}, newest.*
    from mockups
    left join lateral (
      select ${VERSION_COLUMNS}
        from mockup_versions
       where mockup_versions.tenant_id = :tenantId
         and mockup_versions.mockup_id = mockups.id
       order by mockup_versions.created_at desc
       limit 1
    ) newest on true
   where mockups.tenant_id = :tenantId and mockups.id = :id and :allowed`;

/** Bindings: `tenantId`, `id`, `allowed`. */
export const SELECT_MOCKUP_EXISTS = `
  select from mockups
   where mockups.tenant_id = :tenantId and mockups.id = :id and :allowed`;

/**
 * The id of a new mockup: `newId`, or a random one if that is null or in the trash, where a mockup
 * keeps its id, so that it can be restored. Bindings: `tenantId`, `newId`.
 */
const NEW_ID = `coalesce(
  (select cast(:newId as uuid)
    where not exists (
      select from mockup_trash
       where mockup_trash.tenant_id = :tenantId
         and mockup_trash.id = cast(:newId as uuid))),
  gen_random_uuid())`;

/** What an earlier attempt has made. Bindings: `tenantId`, `newId`. */
const MADE_BEFORE = `
  select * from mockups
   where mockups.tenant_id = :tenantId and mockups.id = cast(:newId as uuid)`;

/**
 * Creates a mockup, or returns the one that an earlier attempt has created. With ON CONFLICT, a
 * mockup that is being deleted would be created again with the id that the trash has. Bindings:
 * `tenantId`, `newId`, `name`, `description`, `owner`.
 */
export const INSERT_MOCKUP = `
  with before as (${MADE_BEFORE}),
  inserted as (
    insert into mockups (id, tenant_id, name, description, owner)
    select ${NEW_ID}, cast(:tenantId as uuid), :name, :description, :owner
     where not exists (select from before)
    returning *
  )
  select ${MOCKUP_COLUMNS}
    from (select * from inserted union all select * from before) mockups`;

/**
 * Copies a mockup with its newest layout as a version by the copy's owner, or with all
 * versions, or returns the copy that an earlier attempt has made. The copied versions get new ids,
 * and `restored_from` refers to these.
 *
 * Reads one snapshot and locks only the rows that it creates. No version of the copy is newer
 * than its `updated_at`, so that the next saved version is the newest. Bindings: `tenantId`,
 * `id`, `newId`, `allowed`, `name` (null derives one), `owner`, `withHistory`. Returns a mockup row
 * joined with its newest version.
 */
export const DUPLICATE_MOCKUP = `
  with before as (${MADE_BEFORE}),
  original as (
    select mockups.*, clock_timestamp() at time zone 'utc' as now
      from mockups
     where mockups.tenant_id = :tenantId and mockups.id = :id and :allowed
       and not exists (select from before)
  ),
  chosen as materialized (
    select mockup_versions.id as original_id, gen_random_uuid() as id
      from mockup_versions
     where mockup_versions.tenant_id = :tenantId
       and mockup_versions.mockup_id = :id
     order by mockup_versions.created_at desc
     limit case when cast(:withHistory as boolean) then null else 1 end
  ),
  copy as (
    insert into mockups
      (id, tenant_id, name, description, owner, created_at, updated_at)
    select ${NEW_ID}, tenant_id,
           coalesce(cast(:name as varchar), left(name, 255 - 7) || ' (copy)'),
           description, :owner, now, greatest(now, updated_at)
      from original
    returning *
  ),
  versions as (
    insert into mockup_versions
      (id, tenant_id, mockup_id, version_tag, message, layout_data, created_by,
       created_at, restored_from)
    select chosen.id, copy.tenant_id, copy.id,
           case when :withHistory then mockup_versions.version_tag end,
           case when :withHistory then mockup_versions.message end,
           mockup_versions.layout_data,
           case when :withHistory then mockup_versions.created_by
             else copy.owner end,
           case when :withHistory then mockup_versions.created_at
             else copy.updated_at end,
           case when :withHistory then source.id end
      from copy, chosen
      join mockup_versions on mockup_versions.id = chosen.original_id
      left join chosen source on source.original_id = mockup_versions.restored_from
     where mockup_versions.tenant_id = :tenantId
    returning *
  )
  select ${MOCKUP_COLUMNS}, newest.*
    from (select * from copy union all select * from before) mockups
    left join lateral (
      select ${VERSION_COLUMNS}
        from (
          select * from versions
          union all
          select * from mockup_versions
           where mockup_versions.tenant_id = :tenantId
             and mockup_versions.mockup_id = cast(:newId as uuid)
        ) mockup_versions
       order by mockup_versions.created_at desc
       limit 1
    ) newest on true`;

/**
 * Locks the row of the mockup against other writes while it runs.
 * Bindings: `tenantId`, `id`, `allowed`, `revisions`, `name` (null keeps it),
 * `changesDescription`, `description`.
 */
export const UPDATE_MOCKUP = `
  update mockups
     set name = coalesce(:name, name),
         description = case when cast(:changesDescription as boolean)
           then :description else description end,
         updated_at = ${NEXT_UPDATED_AT}
   where ${AT_REVISION}
  returning ${MOCKUP_COLUMNS}`;

/**
 * Locks the row of the mockup against other writes while it runs.
 * Bindings: `tenantId`, `id`, `allowed`, `revisions`, `readers`, `writers`.
 */
export const SHARE_MOCKUP = `
  update mockups
     set readers = cast(:readers as text[]), writers = cast(:writers as text[]),
         updated_at = ${NEXT_UPDATED_AT}
   where ${AT_REVISION}
  returning ${MOCKUP_COLUMNS}`;

/**
 * Locks the rows of the mockup and its versions. A trigger copies them to the trash, with
 * `deleted_by` from the setting. Bindings: `tenantId`, `id`, `allowed`, `revisions`,
 * `deletedBy` (empty if unknown).
 */
export const DELETE_MOCKUP = `
  delete from mockups
   where ${AT_REVISION}
     and set_config('mockup.deleted_by', :deletedBy, true) is not null
  returning id`;

/**
 * Restores a mockup with its versions from the trash. Locks its row there, so that a concurrent
 * restore or purge finds nothing. Rows in the trash never change, so the versions can be read
 * by the statement's snapshot.
 *
 * The mockup gets a new revision: revisions from before the deletion are no longer valid.
 * Bindings: `tenantId`, `id`, `allowed`. Returns a mockup row.
 */
export const RESTORE_MOCKUP = `
  with taken as (
    delete from mockup_trash as mockups
     where mockups.tenant_id = :tenantId and mockups.id = :id and :allowed
    returning *
  ),
  restored as (
    insert into mockups
      (tenant_id, id, name, description, owner, readers, writers, created_at,
       updated_at)
    select tenant_id, id, name, description, owner, readers, writers, created_at,
           greatest(clock_timestamp() at time zone 'utc',
                    updated_at + interval '1 microsecond')
      from taken
    returning *
  ),
  versions as (
    insert into mockup_versions
      (tenant_id, mockup_id, id, version_tag, message, layout_data, created_by,
       created_at, restored_from)
    select mockup_trash_versions.tenant_id, mockup_id, mockup_trash_versions.id,
           version_tag, message, layout_data, created_by,
           mockup_trash_versions.created_at, restored_from
      from restored
      join mockup_trash_versions on mockup_trash_versions.mockup_id = restored.id
     where mockup_trash_versions.tenant_id = :tenantId
  )
  select ${MOCKUP_COLUMNS} from restored mockups`;

/** Locks the rows that it deletes. Bindings: `tenantId`, `id`, `allowed`. */
export const PURGE_MOCKUP = `
  delete from mockup_trash as mockups
   where mockups.tenant_id = :tenantId and mockups.id = :id and :allowed
  returning id`;

/**
 * Locks the row of the mockup against other writes while it runs, which serializes concurrent
 * saves. Only other changes of the same mockup wait for it. Bindings: `tenantId`, `id`,
 * `allowed`, `revisions`, `versionTag`, `message`, `layoutData` (as text), `createdBy`.
 */
export const INSERT_VERSION = `
  with mockup as (
    update mockups set updated_at = ${NEXT_UPDATED_AT}
     where ${AT_REVISION}
    returning tenant_id, id, updated_at
  )
  insert into mockup_versions
    (tenant_id, mockup_id, version_tag, message, layout_data, created_by, created_at)
  select tenant_id, id, :versionTag, :message, cast(:layoutData as jsonb),
         :createdBy, updated_at
    from mockup
  returning ${VERSION_HEAD_COLUMNS},
    ${revisionOf('mockup_versions.created_at')} as revision`;

/** True if the mockup of a write has the version. Bindings: `tenantId`, `versionId`. */
const HAS_VERSION = `exists (
  select from mockup_versions
   where mockup_versions.tenant_id = :tenantId
     and mockup_versions.mockup_id = mockups.id
     and mockup_versions.id = :versionId)`;

/**
 * Locks the row of the mockup as {@link INSERT_VERSION} does. The layout is copied within the
 * database. Bindings: `tenantId`, `id`, `allowed`, `revisions`, `versionId`, `createdBy`.
 */
export const RESTORE_VERSION = `
  with mockup as (
    update mockups set updated_at = ${NEXT_UPDATED_AT}
     where ${AT_REVISION} and ${HAS_VERSION}
    returning tenant_id, id, updated_at
  )
  insert into mockup_versions
    (tenant_id, mockup_id, layout_data, created_by, created_at, restored_from)
  select mockup.tenant_id, mockup.id, mockup_versions.layout_data,
         :createdBy, mockup.updated_at, mockup_versions.id
    from mockup
    join mockup_versions on mockup_versions.mockup_id = mockup.id
   where mockup_versions.tenant_id = :tenantId
     and mockup_versions.id = :versionId
  returning ${VERSION_COLUMNS},
    ${revisionOf('mockup_versions.created_at')} as revision`;

/**
 * Changes only the tag of a version. Locks the row of the mockup and then that of the version
 * against other writes while it runs; all writes lock in this order. Bindings: `tenantId`,
 * `id`, `allowed`, `revisions`, `versionId`, `versionTag` (null removes it).
 */
export const UPDATE_VERSION = `
  with mockup as (
    update mockups set updated_at = ${NEXT_UPDATED_AT}
     where ${AT_REVISION} and ${HAS_VERSION}
    returning id, updated_at
  )
  update mockup_versions set version_tag = :versionTag
    from mockup
   where mockup_versions.tenant_id = :tenantId
     and mockup_versions.mockup_id = mockup.id
     and mockup_versions.id = :versionId
  returning ${VERSION_COLUMNS},
    ${revisionOf('mockup.updated_at')} as revision`;

/**
 * True if the mockup of a version exists and is allowed. Bindings: `tenantId`, `mockupId`,
 * `allowed`.
 */
const OF_ALLOWED_MOCKUP = `exists (
  select from mockups
   where mockups.tenant_id = :tenantId and mockups.id = :mockupId and :allowed)`;

/**
 * A page of versions. It ends before the version with which its layouts would exceed
 * `maxBytes`. Reads one extra version to know whether there is another page. Bindings:
 * `tenantId`, `mockupId`, `allowed`, `limit`, `offset`, `after` (the time of the last version
 * of the page before, null for the first page), `maxBytes`.
 */
export const SELECT_VERSIONS = selectVersions('<', 'desc');

/** The same, oldest first. */
export const SELECT_VERSIONS_OLDEST_FIRST = selectVersions('>', 'asc');

function selectVersions(behind: string, direction: string): string {
  return `
  with page as (
    select id,
           row_number() over (order by created_at ${direction}) as place,
           sum(octet_length(layout_data::text))
             over (order by created_at ${direction}) as bytes
      from (
        select id, created_at, layout_data
          from mockup_versions
         where mockup_versions.tenant_id = :tenantId
           and mockup_versions.mockup_id = :mockupId
           and (cast(:after as timestamp) is null
                or created_at ${behind} cast(:after as timestamp))
           and ${OF_ALLOWED_MOCKUP}
         order by created_at ${direction}
         limit cast(:limit as int) + 1 offset :offset
      ) nearest
  )
  select ${VERSION_COLUMNS},
         ${preciseTime('mockup_versions.created_at')} as position_key,
         page.place < (select count(*) from page) as has_more
    from mockup_versions
    join page using (id)
   where mockup_versions.tenant_id = :tenantId
     and page.place <= :limit and page.bytes <= :maxBytes
   order by mockup_versions.created_at ${direction}`;
}

/**
 * Counts the versions of a mockup; no row if there is no such mockup. Bindings: `tenantId`,
 * `mockupId`, `allowed`.
 */
export const COUNT_VERSIONS = `
  select (
           select count(*)::int from mockup_versions
            where mockup_versions.tenant_id = :tenantId
              and mockup_versions.mockup_id = mockups.id
         ) as versions
    from mockups
   where mockups.tenant_id = :tenantId and mockups.id = :mockupId and :allowed`;

/** Bindings: `tenantId`, `mockupId`, `versionId`, `allowed`. */
export const SELECT_VERSION = `
  select ${VERSION_COLUMNS}
    from mockup_versions
   where mockup_versions.tenant_id = :tenantId
     and mockup_versions.id = :versionId
     and mockup_versions.mockup_id = :mockupId
     and ${OF_ALLOWED_MOCKUP}`;

/** Bindings: `tenantId`, `mockupId`, `allowed`. */
export const SELECT_LATEST_VERSION = `
  select ${VERSION_COLUMNS}
    from mockup_versions
   where mockup_versions.tenant_id = :tenantId
     and mockup_versions.mockup_id = :mockupId
     and ${OF_ALLOWED_MOCKUP}
   order by created_at desc
   limit 1`;

/** A time from the file, but not in the future. */
const pastTime = (binding: string) => `
  least(cast(:${binding} as timestamp), clock_timestamp() at time zone 'utc')`;

/**
 * Inserts a mockup from a file, or returns the one that an earlier attempt has inserted, with
 * `is_new` false. Bindings: `tenantId`, `newId`, `name`, `description`, `owner`, `createdAt`,
 * `updatedAt`.
 */
export const IMPORT_MOCKUP = `
  with before as (${MADE_BEFORE}),
  inserted as (
    insert into mockups
      (id, tenant_id, name, description, owner, created_at, updated_at)
    select ${NEW_ID}, cast(:tenantId as uuid), :name, :description, :owner,
           ${pastTime('createdAt')},
           greatest(${pastTime('createdAt')}, ${pastTime('updatedAt')})
     where not exists (select from before)
    returning *
  )
  select ${MOCKUP_COLUMNS}, is_new
    from (select *, true as is_new from inserted
          union all
          select *, false from before) mockups`;

/**
 * Inserts versions from a file in their order, after the existing versions of the mockup. Times
 * in a file have milliseconds only, so versions with equal times are placed one microsecond
 * apart. Bindings: `tenantId`, `mockupId`, `versions` (JSON: a list of objects with `id`, `tag`,
 * `message`, `layout`, `createdBy`, `createdAt` and `restoredFrom`).
 */
export const IMPORT_VERSIONS = `
  with given as (
    select version.*, least(created_at, clock_timestamp() at time zone 'utc') as time
      from rows from (jsonb_to_recordset(cast(:versions as jsonb)) as (
             id uuid, tag text, message text, layout jsonb, created_by text,
             created_at timestamp, restored_from uuid)) with ordinality
             as version (id, tag, message, layout, created_by, created_at,
                         restored_from, place)
  ), last as (
    select max(created_at) as time from mockup_versions
     where mockup_versions.tenant_id = :tenantId
       and mockup_versions.mockup_id = :mockupId
  )
  insert into mockup_versions
    (tenant_id, mockup_id, id, version_tag, message, layout_data, created_by,
     created_at, restored_from)
  select cast(:tenantId as uuid), cast(:mockupId as uuid), id, tag, message, layout,
         created_by,
         greatest(
           max(given.time - place * interval '1 microsecond') over (order by place),
           (select time from last)) + place * interval '1 microsecond',
         restored_from
    from given
   order by place`;

/**
 * Sets `updated_at` of an imported mockup to at least the time of its newest version. Locks a
 * row that no other transaction sees yet. Bindings: `tenantId`, `mockupId`.
 */
export const FINISH_IMPORT = `
  update mockups
     set updated_at = greatest(updated_at, (
           select max(created_at) from mockup_versions
            where mockup_versions.tenant_id = :tenantId
              and mockup_versions.mockup_id = :mockupId))
   where mockups.tenant_id = :tenantId and mockups.id = :mockupId
  returning ${MOCKUP_COLUMNS}`;
