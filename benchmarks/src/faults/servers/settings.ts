import type { PostgresConnection } from '@internal/postgres';

/** What a backend of this benchmark is told. */
export interface ServerSettings {
  connection: PostgresConnection & { database: string };
  /** Where the tables of tenants are reached: PgBouncer's address, if there is one. */
  tenants: { host: string; port: number };
}
