import type { PostgresConnection } from '@internal/postgres';
import type { Database } from '../migration/database';
import type { Question } from './questions';

/** A row of `listEntities`. */
export interface ListedRow {
  entity_ref: string;
  entity_name: string;
  created_at: Date;
}

/** A way to read the entities of a tenant. */
export interface Side {
  name: string;
  /** Without, it lists the entities of all tenants. */
  knowsTenants: boolean;
  getEntity(question: Question): Promise<object | undefined>;
  listEntities(question: Question, limit: number): Promise<ListedRow[]>;
  close(): Promise<void>;
}

/** How a side reaches its database. */
export interface Access {
  connection: PostgresConnection;
  database: Database;
  /** How many connections it has. */
  connections: number;
}
