import type { LoggerService } from '@backstage/backend-plugin-api';
import type { Knex } from 'knex';
import type { Retention } from './readRetention';

/** Rows of a transaction at most, so that none is long. */
const BATCH = 100;

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
 * a mockup is tagged or the first of them, so that it always stays. Locks the rows that it
 * deletes; one that gets a tag meanwhile stays.
 * Bindings: `keep`, `batch`.
 */
const PURGE_VERSIONS = `
  delete from mockup_versions
   where version_tag is null
     and id in (
       select id
         from (select id, row_number() over (
                        partition by mockup_id order by created_at desc) as position
                 from mockup_versions
                where version_tag is null) untagged
        where position > :keep
        limit :batch)`;

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

  const deleteAll = async (sql: string, bindings: Record<string, number>) => {
    let total = 0;
    let deleted = BATCH;
    while (deleted === BATCH && !signal?.aborted) {
      // The plugin's own database user, and not the role that requests act as: that sees one
      // tenant, and has no right to delete versions.
      const { rowCount } = await knex.raw(sql, { ...bindings, batch: BATCH });
      deleted = rowCount;
      total += deleted;
    }
    return total;
  };

  if (trashMs !== undefined) {
    const mockups = await deleteAll(PURGE_TRASH, { trashMs });
    if (mockups > 0) {
      logger.info('Deleted mockups from the trash for good', { mockups });
    }
  }
  if (keep !== undefined) {
    const versions = await deleteAll(PURGE_VERSIONS, { keep });
    if (versions > 0) {
      logger.info('Deleted untagged versions of mockups', { versions });
    }
  }
}
