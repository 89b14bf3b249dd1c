import type { LoggerService } from '@backstage/backend-plugin-api';
import type { Knex } from 'knex';
import type { Retention } from '../readMockupConfig';

/** The most rows of a transaction, to keep it short. */
const BATCH = 100;

/** The most versions of one look-up, which scans all untagged versions. */
const FOUND_AT_ONCE = 10_000;

/** Whether policies apply to the database user, which then sees only the default tenant. */
const IS_BOUND = `select row_security_active('mockup_trash') as bound`;

/** The tenants with mockups that are too long in the trash. Bindings: `trashMs`. */
const SELECT_TENANTS_OF_TRASH = `
  select distinct tenant_id from mockup_trash
   where deleted_at < clock_timestamp() at time zone 'utc'
                      - make_interval(secs => cast(:trashMs as double precision) / 1000)`;

/**
 * Locks the rows that it deletes. Only requests that restore or purge the same mockup wait for
 * it. Bindings: `tenantId`, `trashMs`, `batch`.
 */
const PURGE_TRASH = `
  delete from mockup_trash
   where (tenant_id, id) in (
     select tenant_id, id from mockup_trash
      where tenant_id = :tenantId
        and deleted_at < clock_timestamp() at time zone 'utc'
                         - make_interval(secs => cast(:trashMs as double precision) / 1000)
      order by deleted_at
      limit :batch)`;

/**
 * The untagged versions of each mockup after the newest `keep`. Never includes the newest
 * version of a mockup, a published one, or one that is ready to be published. Bindings: `keep`,
 * `failed`, `most`.
 */
const SELECT_VERSIONS = `
  select tenant_id, id
    from (select tenant_id, id, row_number() over (
                   partition by mockup_id order by created_at desc) as position
            from mockup_versions
           where version_tag is null and tenant_id <> all(cast(:failed as uuid[]))) untagged
   where position > :keep
     and not exists (select from mockup_pages where version_id = untagged.id)
     and not exists (select from mockup_ready_versions where version_id = untagged.id)
   limit :most`;

/**
 * Locks versions until the end of the transaction. Only requests that tag, mark, publish or delete
 * one of them wait for it. Bindings: `ids`.
 */
const LOCK_VERSIONS = `
  select from mockup_versions where id = any(cast(:ids as uuid[])) for update`;

/**
 * Skips versions that were tagged, marked or published before they were locked.
 * Bindings: `ids`.
 */
const PURGE_VERSIONS = `
  delete from mockup_versions
   where version_tag is null and id = any(cast(:ids as uuid[]))
     and not exists (select from mockup_pages where version_id = mockup_versions.id)
     and not exists (
       select from mockup_ready_versions where version_id = mockup_versions.id)`;

/**
 * Locks the deleted rows of closed editors. Only a user who opens such an editor again waits
 * for it.
 */
const FORGET_EDITORS = `
  delete from mockup_editors
   where seen_at < clock_timestamp() at time zone 'utc' - interval '1 hour'`;

/**
 * Deletes expired mockups and versions, tenant by tenant, in transactions of 100 rows. A tenant
 * whose rows PostgreSQL does not let go, such as one that is moved at the moment, keeps them until
 * the next run, and holds up no other. After a failure or an abort, the next run continues.
 */
export async function applyRetention(options: {
  knex: Knex;
  logger: LoggerService;
  retention: Retention;
  signal?: AbortSignal;
}): Promise<void> {
  const { knex, logger, retention, signal } = options;
  const { trashMs, versions } = retention;

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
    const mockups = await purgeTrash(options, trashMs);
    if (mockups > 0) {
      logger.info('Deleted mockups from the trash for good', { mockups });
    }
  }
  if (versions !== undefined && !signal?.aborted) {
    const purged = await purgeVersions(options, versions);
    if (purged > 0) {
      logger.info('Deleted untagged versions of mockups', { versions: purged });
    }
  }
}

type Options = Parameters<typeof applyRetention>[0];

/** @returns how many mockups it has deleted */
async function purgeTrash(options: Options, trashMs: number): Promise<number> {
  const { knex, signal } = options;
  const { rows } = await knex.raw(SELECT_TENANTS_OF_TRASH, { trashMs });
  const deleted = { mockups: 0 };
  for (const { tenant_id: tenantId } of rows) {
    await inTenant(options, tenantId, async () => {
      for (let last = BATCH; last === BATCH && !signal?.aborted; ) {
        ({ rowCount: last } = await knex.raw(PURGE_TRASH, {
          tenantId,
          trashMs,
          batch: BATCH,
        }));
        deleted.mockups += last;
      }
    });
  }
  return deleted.mockups;
}

/** @returns how many versions it has deleted */
async function purgeVersions(options: Options, keep: number): Promise<number> {
  const { knex, signal } = options;
  const failed: string[] = [];
  const deleted = { versions: 0 };
  for (let found = FOUND_AT_ONCE; found === FOUND_AT_ONCE; ) {
    const { rows } = await knex.raw(SELECT_VERSIONS, {
      keep,
      failed,
      most: FOUND_AT_ONCE,
    });
    for (const [tenantId, ids] of idsByTenant(rows)) {
      const isDone = await inTenant(options, tenantId, async () => {
        for (let at = 0; at < ids.length && !signal?.aborted; at += BATCH) {
          const some = { ids: ids.slice(at, at + BATCH) };
          deleted.versions += await knex.transaction(async transaction => {
            await transaction.raw(LOCK_VERSIONS, some);
            const { rowCount } = await transaction.raw(PURGE_VERSIONS, some);
            return rowCount as number;
          });
        }
      });
      if (!isDone) {
        failed.push(tenantId);
      }
    }
    found = signal?.aborted ? 0 : rows.length;
  }
  return deleted.versions;
}

function idsByTenant(
  rows: { tenant_id: string; id: string }[],
): Map<string, string[]> {
  const ids = new Map<string, string[]>();
  for (const { tenant_id, id } of rows) {
    const others = ids.get(tenant_id);
    if (others) {
      others.push(id);
    } else {
      ids.set(tenant_id, [id]);
    }
  }
  return ids;
}

/**
 * @returns false if PostgreSQL refused to change the tenant's rows
 * @throws if the database is unavailable
 */
async function inTenant(
  { logger }: Options,
  tenantId: string,
  work: () => Promise<void>,
): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    if (!isAboutRows(error)) {
      throw error;
    }
    logger.warn(
      `Old mockups and versions of the tenant ${tenantId} stay until the next run: ${error}`,
    );
    return false;
  }
}

/**
 * A constraint, which the triggers of `tenant move` name too; a deadlock; an exception of another
 * trigger; a timeout.
 */
function isAboutRows(error: unknown): boolean {
  const { code, constraint } = error as { code?: string; constraint?: string };
  return (
    constraint !== undefined || /^(40...|P0001|55P03|57014)$/.test(code ?? '')
  );
}
