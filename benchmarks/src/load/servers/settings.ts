import type { PostgresConnection } from '@internal/postgres';

/** What the server of this benchmark is told. */
export interface ServerSettings {
  connection: PostgresConnection & { database: string };
}

/** What the server's process takes, in bytes, once all garbage is collected. */
export interface Memory {
  rss: number;
  heap: number;
  /** Outside of the heap: buffers, for the most part. */
  external: number;
}
