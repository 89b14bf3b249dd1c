import type { PostgresConnection } from '@internal/postgres';

/** What a server of this benchmark is told. */
export interface ServerSettings {
  connection: PostgresConnection & { database: string };
  /** Whether it is ours: the stock catalog with our module in front of it. */
  withTenants: boolean;
}
