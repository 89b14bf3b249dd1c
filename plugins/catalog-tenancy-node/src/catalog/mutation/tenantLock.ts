import type { Knex } from 'knex';

/**
 * Takes the lock under which the entities of a tenant are changed, and waits for it.
 *
 * It is an advisory lock of PostgreSQL, held until the transaction ends. It keeps
 * other mutations of the tenant waiting, in whatever process, and its purge: what
 * one of them has read stays true until it has written. Nobody else waits for it,
 * readers least of all. It is the first lock of its transaction and the only one of
 * its kind there, so it cannot be part of a deadlock.
 */
export function lockTenant(knex: Knex, tenantId: string): Knex.Raw {
  return knex.raw('select pg_advisory_xact_lock(hashtextextended(?, 0))', [
    `catalog-tenancy:entities:${tenantId.toLowerCase()}`,
  ]);
}
