import type { LoggerService } from '@backstage/backend-plugin-api';
import type { Knex } from 'knex';
import type { Retention } from './readRetention';

/** The most rows of a transaction, to keep it short. */
const BATCH = 100;

/** The most versions of one look-up, which scans all untagged versions. */
const FOUND_AT_ONCE = 10_000;

/** Whether policies apply to the database user, which then sees only the default tenant. */
const IS_BOUND = `select row_security_active('mockup_trash') as bound`;

/**
 * Locks the rows that it deletes. Only requests that restore or purge the same mockup wait for
 * it. Bindings: `trashMs`, `batch`.
 */
const PURGE_TRASH = `
  delete from mockup_trash
   where (tenant_id, id) in (
     select tenant_id, id from mockup_trash
      where deleted_at < clock_timestamp() at time zone 'utc'
                         - make_interval(secs => cast(:trashMs as double precision) / 1000)
      order by deleted_at
      limit :batch)`;

/**
 * The untagged versions of each mockup after the newest `keep`. Never includes the newest
 * version of a mockup, or a published one. Bindings: `keep`, `most`.
 */
const SELECT_VERSIONS = `
  select id
    from (select id, row_number() over (
                   partition by mockup_id order by created_at desc) as position
            from mockup_versions
           where version_tag is null) untagged
   where position > :keep
     and not exists (select from mockup_pages where version_id = untagged.id)
   limit :most`;

/**
 * Locks the rows that it deletes. Skips versions that were tagged meanwhile; for a version
 * published concurrently, the foreign key of its page makes the statement fail. Bindings:
 * `ids`.
 */
const PURGE_VERSIONS = `
  delete from mockup_versions
   where version_tag is null and id = any(cast(:ids as uuid[]))
     and not exists (select from mockup_pages where version_id = mockup_versions.id)`;

/**
 * Locks the deleted rows of closed editors. Only a user who opens such an editor again waits
 * for it.
 */
const FORGET_EDITORS = `
  delete from mockup_editors
   where seen_at < clock_timestamp() at time zone 'utc' - interval '1 hour'`;

/**
 * Deletes expired mockups and versions of all tenants, in transactions of 100 rows. After a
 * failure or an abort, the next run continues.
 */
export async function applyRetention(options: {
  knex: Knex;
  logger: LoggerService;
  retention: Retention;
  signal?: AbortSignal;
}): Promise<void> {
  const { knex, logger, retention, signal } = options;
  const { trashMs, versions: keep } = retention;

  // Runs as the plugin's own database user: the role of requests sees one tenant and may not
  // delete versions.
  const { rows } = await knex.raw(IS_BOUND);
  if (rows[0].bound) {
    logger.warn(
      "Row-level security binds the database user of the mockup plugin: only the default tenant's " +
        'deleted mockups and untagged versions are deleted when their retention ends',
    );
  }

  await knex.raw(FORGET_EDITORS);
  if (trashMs !== undefined) {
    let mockups = 0;
    for (let deleted = BATCH; deleted === BATCH && !signal?.aborted; ) {
      const { rowCount } = await knex.raw(PURGE_TRASH, {
        trashMs,
        batch: BATCH,
      });
      deleted = rowCount;
      mockups += deleted;
    }
    if (mockups > 0) {
      logger.info('Deleted mockups from the trash for good', { mockups });
    }
  }
  if (keep !== undefined) {
    let versions = 0;
    for (let found = FOUND_AT_ONCE; found === FOUND_AT_ONCE; ) {
      const selected = await knex.raw(SELECT_VERSIONS, {
        keep,
        most: FOUND_AT_ONCE,
      });
      const ids = selected.rows.map(({ id }: { id: string }) => id);
      found = signal?.aborted ? 0 : ids.length;
      for (let at = 0; at < ids.length && !signal?.aborted; at += BATCH) {
        const { rowCount } = await knex.raw(PURGE_VERSIONS, {
          ids: ids.slice(at, at + BATCH),
        });
        versions += rowCount;
      }
    }
    if (versions > 0) {
      logger.info('Deleted untagged versions of mockups', { versions });
    }
  }
}
