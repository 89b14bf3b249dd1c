import { Client } from 'pg';
import type { ClientConfig } from 'pg';

/** How to reach the database, and what of it must not be shown. */
export interface Connection {
  config: ClientConfig;
  /** Grows when a password is fetched later, as with those of a cloud. */
  secrets: Set<string>;
}

/** Where a connection leads to, as shown to the operator. */
export interface Target {
  host: string;
  port: number;
  user?: string;
  database?: string;
}

/** What a configuration amounts to, the variables of libpq included. */
export function targetOf(config: ClientConfig): Target {
  // A stream of a configuration's own would be opened.
  const { host, port, user, database } = new Client({
    ...config,
    stream: undefined,
  });
  return { host, port, user, database };
}
