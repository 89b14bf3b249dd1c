import type { LoggerService } from '@backstage/backend-plugin-api';
import type { Knex } from 'knex';
import type { Retention } from './readRetention';

/** Rows of a transaction at most, so that none is long. */
const BATCH = 100;

/** Versions that are looked for at once: that reads the heads of all untagged ones. */
const FOUND_AT_ONCE = 10_000;

/** Of a database user that policies bind. It has no tenant here, so it is the default one. */
const IS_BOUND = `select row_security_active('mockup_trash') as bound`;

/**
 * Locks the rows that it deletes, which no request waits for but one that restores or purges
 * the same mockup. Bindings: `trashMs`, `batch`.
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
 * Of the untagged versions of each mockup, those after the first `keep`: the newest version of
 * a mockup is tagged or the first of them, so that it always stays, and so does what is shown as a
 * page. Bindings: `keep`, `most`.
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
 * Locks the rows that it deletes. A version that got a tag meanwhile stays; one that is published
 * at the same moment fails the statement by the foreign key of its page.
 * Bindings: `ids`.
 */
const PURGE_VERSIONS = `
  delete from mockup_versions
   where version_tag is null and id = any(cast(:ids as uuid[]))
     and not exists (select from mockup_pages where version_id = mockup_versions.id)`;

/**
 * Locks the rows of editors that were closed long ago, for which nobody waits but a user who opens
 * one of them again.
 */
const FORGET_EDITORS = `
  delete from mockup_editors
   where seen_at < clock_timestamp() at time zone 'utc' - interval '1 hour'`;

/**
 * Deletes for good what is beyond its retention, of all tenants, in transactions of a hundred
 * rows. A failure or an abort leaves the rest to the next run.
 */
export async function applyRetention(options: {
  knex: Knex;
  logger: LoggerService;
  retention: Retention;
  signal?: AbortSignal;
}): Promise<void> {
  const { knex, logger, retention, signal } = options;
  const { trashMs, versions: keep } = retention;

  // All of it as the plugin's own database user, and not as the role that requests act as: that
  // sees one tenant, and has no right to delete versions.
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
