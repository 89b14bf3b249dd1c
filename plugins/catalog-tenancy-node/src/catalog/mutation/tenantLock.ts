import type { Knex } from 'knex';

/** A process that holds the lock and is silent for so long has gone. */
const SILENCE_MS = 60_000;

/**
 * Takes the lock under which the entities of a tenant are changed, and waits for it.
 *
 * It is an advisory lock of PostgreSQL, held until the transaction ends. It keeps
 * other mutations of the tenant waiting, in whatever process, and its purge: what
 * one of them has read stays true until it has written. Nobody else waits for it,
 * readers least of all. It is the first lock of its transaction and the only one of
 * its kind there, so it cannot be part of a deadlock. Of a machine that has vanished
 * PostgreSQL hears after hours, so that it ends a transaction that is silent.
 *
 * Foreign keys are checked for one tenant at a time until then. PostgreSQL would try
 * a plan for all of them, once for each connection, and lock the partitions of every
 * tenant for it: with hundreds of them there is no room for so many locks.
 */
export function lockTenant(knex: Knex, tenantId: string): Knex.Raw {
  return knex.raw(
    `select set_config('idle_in_transaction_session_timeout', '${SILENCE_MS}', true),
            set_config('plan_cache_mode', 'force_custom_plan', true),
            pg_advisory_xact_lock(hashtextextended(?, 0))`,
    [`catalog-tenancy:entities:${tenantId.toLowerCase()}`],
  );
}
