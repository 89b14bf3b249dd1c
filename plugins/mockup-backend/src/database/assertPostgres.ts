import type { Knex } from 'knex';

/**
 * Refuses databases other than PostgreSQL: layouts are JSONB, and the order of versions and the
 * safety of concurrent saves depend on its row locks.
 *
 * @throws Error that names the configured client
 */
export function assertPostgres(knex: Knex): void {
  const client = knex.client.config.client;
  if (client !== 'pg') {
    throw new Error(
      `The mockup plugin needs PostgreSQL, but its database client is '${client}'; set backend.database.client, or backend.database.plugin.mockup.client, to 'pg'`,
    );
  }
}
