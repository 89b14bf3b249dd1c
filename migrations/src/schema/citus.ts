import type { QueryRows } from '../checks/Finding';
import { TENANT_TABLES, SEARCH_TABLES } from './tables';

/** The tables whose rows Citus spreads over nodes, referenced before referencing. */
export const SHARDED_TABLES = [...TENANT_TABLES, ...SEARCH_TABLES] as const;

/** A server of the cluster, as `pg_dist_node` has it. */
export interface CitusNode {
  id: number;
  host: string;
  port: number;
  /** It is the one that clients connect to. */
  isCoordinator: boolean;
  /** Rows of tenants may be put there. */
  holdsShards: boolean;
  isActive: boolean;
}

/** `host:port`, as operators name a node. */
export function nodeName({ host, port }: Pick<CitusNode, 'host' | 'port'>) {
  return `${host}:${port}`;
}

/** The version of Citus in this database; nothing where it has none. */
export async function citusVersion(
  read: QueryRows,
): Promise<string | undefined> {
  const [found] = await read<{ version: string }>(
    `select extversion as version from pg_extension where extname = 'citus'`,
    [],
  );
  return found?.version;
}

/**
 * Whether `entities` of a schema is distributed over the nodes of Citus.
 *
 * @public
 */
export async function isDistributed(
  read: QueryRows,
  schema: string,
): Promise<boolean> {
  if (!(await citusVersion(read))) {
    return false;
  }
  const found = await read(
    `select from pg_catalog.pg_dist_partition p
       join pg_class c on c.oid = p.logicalrelid
       join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = $1 and c.relname = 'entities' and p.partmethod = 'h'`,
    [schema],
  );
  return found.length > 0;
}

/** The nodes of the cluster, the coordinator first. */
export async function readNodes(read: QueryRows): Promise<CitusNode[]> {
  return read<CitusNode>(
    `select nodeid as id, nodename as host, nodeport as port, groupid = 0 as "isCoordinator",
            shouldhaveshards as "holdsShards", isactive as "isActive"
       from pg_catalog.pg_dist_node
      where noderole = 'primary'
      order by groupid <> 0, nodename, nodeport`,
    [],
  );
}

/** A table that is to be, or is, distributed. */
export type ShardedTable = (typeof SHARDED_TABLES)[number];
