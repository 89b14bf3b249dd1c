import type { IsolationFinding, QueryRows } from '../checks/Finding';
import { APP_ROLE } from '../roles';
import { operatorCommand } from '../operatorCommand';
import { TENANT_POLICY } from '../schema/policies';
import { escapeIdentifier, escapeLiteral } from '../sql';
import {
  citusVersion,
  isDistributed,
  nodeName,
  readNodes,
  SHARDED_TABLES,
} from '../schema/citus';

/** A node, with what it holds. */
export interface NodeStatus {
  /** `host:port`. */
  name: string;
  /** Clients connect to it. */
  isCoordinator: boolean;
  /** Whether Citus sends it anything. */
  isActive: boolean;
  /** How many tenants have their rows there. */
  tenants: number;
  /** The bytes of these shards, of all tables; `null` where a node does not answer. */
  bytes: number | null;
}

/** Where the rows of a tenant are. */
export interface TenantPlace {
  tenantId: string;
  slug: string;
  /** The node, as `host:port`. */
  node: string;
  /** The shard of `entities`. */
  shard: number;
  /** How many other tenants are in the same shard. */
  neighbours: number;
}

/** How the tables of tenants are distributed. */
export interface DistributionStatus {
  /** The version of Citus. */
  citus: string;
  /** The servers of the cluster, the coordinator first. */
  nodes: NodeStatus[];
  /** Where each tenant is, by slug. */
  tenants: TenantPlace[];
}

/** How the tables are distributed; nothing where they are not. */
export async function readDistribution(
  read: QueryRows,
  schema: string,
): Promise<DistributionStatus | undefined> {
  if (!(await isDistributed(read, schema))) {
    return undefined;
  }
  const tenants = await readPlaces(read, schema);
  // This asks every node. While one is down, an operator needs the rest of the status most.
  const sizes = await read<{ node: string; bytes: number }>(
    `select nodename || ':' || nodeport as node, sum(shard_size)::float8 as bytes
       from citus_shards where table_name = any ($1::regclass[]) group by 1`,
    [SHARDED_TABLES.map(table => `${escapeIdentifier(schema)}.${table}`)],
  ).catch(() => undefined);
  return {
    citus: (await citusVersion(read)) ?? '',
    nodes: (await readNodes(read)).map(node => {
      const name = nodeName(node);
      return {
        name,
        isCoordinator: node.isCoordinator,
        isActive: node.isActive,
        bytes: sizes
          ? sizes.find(each => each.node === name)?.bytes ?? 0
          : null,
        tenants: tenants.filter(each => each.node === name).length,
      };
    }),
    tenants,
  };
}

/** Where each tenant is, by slug. */
export async function readPlaces(
  read: QueryRows,
  schema: string,
): Promise<TenantPlace[]> {
  const name = escapeIdentifier(schema);
  return read<TenantPlace>(
    `with place as (
       select t.tenant_id, t.tenant_slug as slug,
              get_shard_id_for_distribution_column($1::regclass, t.tenant_id) as shard
         from ${name}.tenants t
     )
     select p.tenant_id as "tenantId", p.slug, n.nodename || ':' || n.nodeport as node,
            p.shard::float8 as shard,
            (count(*) over (partition by p.shard))::int - 1 as neighbours
       from place p
       join pg_catalog.pg_dist_placement d on d.shardid = p.shard
       join pg_catalog.pg_dist_node n on n.groupid = d.groupid and n.noderole = 'primary'
      order by p.slug`,
    [`${name}.entities`],
  );
}

// What is wrong on one node, as one text, by its own catalogs. Shards are told by their names,
// which Citus makes of the table's. The policy is compared with that of the table itself, which
// the coordinator compares with the migration's: `%s` is where Citus leaves nothing to compare.
const PROBLEMS_OF_NODE = `
with shard as (
  select c.oid, c.relname, c.relrowsecurity, c.relforcerowsecurity,
         (select count(*) from pg_policy p where p.polrelid = c.oid and p.polpermissive) as policies,
         (select p.polroles = '{0}' and p.polcmd = '*'
                 and pg_get_expr(p.polqual, p.polrelid) = pg_get_expr(o.polqual, o.polrelid)
                 and pg_get_expr(p.polwithcheck, p.polrelid) = pg_get_expr(o.polwithcheck, o.polrelid)
            from pg_policy p, pg_policy o
           where p.polrelid = c.oid and p.polname = 'POLICY'
             and o.polrelid = t.oid and o.polname = 'POLICY') as same
    from pg_class t
    join pg_namespace n on n.oid = t.relnamespace and n.nspname = SCHEMA
    join pg_class c on c.relnamespace = n.oid and c.relkind = 'r'
                   and c.relname ~ ('^' || t.relname || '_\\d+$')
   where t.relname = any (TABLES)
)
select coalesce(string_agg(problem, E'\\n'), '') from (
  select 'Row-level security is not enabled and forced on the shard ' || relname as problem
    from shard where not (relrowsecurity and relforcerowsecurity)
  union all
  select 'The policies of the shard ' || relname || ' are not those of its table'
    from shard where policies <> 1 or same is not true
  union all
  select 'portal_app may call set_config, and so set another tenant where the rows are'
   where has_function_privilege('APP', 'pg_catalog.set_config(text,text,boolean)', 'execute')
  union all
  select 'portal_app may send statements to other nodes by itself (' || p.oid::regprocedure || ')'
    from pg_proc p
   where p.pronamespace = 'pg_catalog'::regnamespace
     and (p.proname like 'run\\_command\\_on\\_%' or p.proname = 'master_run_on_worker')
     and has_function_privilege('APP', p.oid, 'execute')
) found`;

/**
 * What on the nodes does not keep tenants apart: the shards' own row-level security, and the
 * functions by which SQL of the application would get round its tenant.
 *
 * @param options - with `read`, as a role that may call `run_command_on_workers`
 * @public
 */
export async function examineShards(options: {
  read: QueryRows;
  schema: string;
}): Promise<IsolationFinding[]> {
  const { read, schema } = options;
  const command = PROBLEMS_OF_NODE.replaceAll('POLICY', TENANT_POLICY)
    .replaceAll('SCHEMA', escapeLiteral(schema))
    .replaceAll('APP', APP_ROLE)
    .replaceAll(
      'TABLES',
      `array[${SHARDED_TABLES.map(escapeLiteral).join(', ')}]`,
    );
  const answers = await read<{
    node: string;
    success: boolean;
    result: string;
  }>(
    `select nodename || ':' || nodeport as node, success, result
       from run_command_on_workers($1)`,
    [command],
  );
  return answers.flatMap(({ node, success, result }) =>
    success
      ? result
          .split('\n')
          .filter(Boolean)
          .map(problem => ({
            problem: `${problem}, on ${node}`,
            remedy: `run "${operatorCommand(
              'distribute',
            )}" again, which restores it`,
          }))
      : [
          {
            problem: `The node ${node} does not say whether it keeps tenants apart (${result})`,
            remedy: 'see that it can be reached',
          },
        ],
  );
}
