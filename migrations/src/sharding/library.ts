import type { ClientConfig } from 'pg';
import { withMigration } from '../engine/withMigration';
import { phases } from '../phases';
import type { Reporter } from '../Reporter';
import { distribute as distributeTables } from './distribute';
import type { Distribution } from './distribute';

/**
 * The options of a distribution. Only the connection has no default.
 *
 * @public
 */
export interface DistributeOptions {
  /** Of a superuser, on the coordinator of Citus. */
  connection: ClientConfig | string;
  /** The schema of the tables; `tenancy` by default. */
  schema?: string;
  /** How many shards each table has; as Citus is configured by default. */
  shards?: number;
  /** Up to how long, in milliseconds, a request for a lock may hold up writers; 1000 by default. */
  maxPauseMs?: number;
  /** Reports progress and warnings; silent by default. */
  reporter?: Reporter;
}

/**
 * Spreads the tables of tenants over the nodes of Citus, as the command `distribute` does.
 * Writers wait meanwhile, and readers do not.
 *
 * @throws {@link RefusedError} with everything that is in the way, before anything is changed
 * @public
 */
export async function distribute(
  options: DistributeOptions,
): Promise<Distribution> {
  const { shards, ...others } = options;
  return withMigration(
    others,
    { phases, command: 'library', mode: 'change' },
    migration => distributeTables(migration, { shards }),
  );
}
