import { escapeLiteral } from 'pg';
import type { ClientConfig } from 'pg';
import { parseIntoClientConfig } from 'pg-connection-string';
import { withClient } from './withClient';

/**
 * Names the coordinator of a Citus cluster that tests may make databases on, as its superuser.
 * The database of the URL has the extension, and knows the nodes.
 */
export const CITUS_VARIABLE = 'TENANCY_CITUS_URL';

/** The coordinator of the cluster that tests run on, if there is one. */
export function citusCoordinator(): ClientConfig | undefined {
  const url = process.env[CITUS_VARIABLE];
  return url ? toConfig(url) : undefined;
}

function toConfig(url: string): ClientConfig {
  const { host, port, user, password, ssl, database } =
    parseIntoClientConfig(url);
  return { host, port, user, password, ssl, database };
}

/** All servers of the cluster, the coordinator first. */
export async function citusServers(): Promise<ClientConfig[]> {
  const coordinator = citusCoordinator();
  if (!coordinator) {
    throw new Error(`${CITUS_VARIABLE} is not set`);
  }
  const nodes = await withClient(coordinator, async client => {
    const { rows } = await client.query<{ host: string; port: number }>(
      `select nodename as host, nodeport as port from pg_dist_node
        where noderole = 'primary' and groupid <> 0 order by nodeid`,
    );
    return rows;
  });
  if (nodes.length === 0) {
    throw new Error(
      `The database that ${CITUS_VARIABLE} names has no nodes: run "select citus_add_node(…)" in it`,
    );
  }
  return [coordinator, ...nodes.map(node => ({ ...coordinator, ...node }))];
}

/**
 * Makes a database a cluster of the same nodes, with the coordinator for clients alone.
 *
 * @param reached - where the coordinator reaches the nodes, if not where they are
 */
export async function formCluster(
  database: string,
  reached?: Pick<ClientConfig, 'host' | 'port'>[],
): Promise<void> {
  const servers = await citusServers();
  for (const server of servers) {
    await withClient({ ...server, database }, client =>
      client.query('create extension citus'),
    );
  }
  const [coordinator, ...nodes] = servers;
  await withClient({ ...coordinator, database }, async client => {
    await client.query(
      `select citus_set_coordinator_host(${name(coordinator)})`,
    );
    for (const node of reached ?? nodes) {
      await client.query(`select citus_add_node(${name(node)})`);
    }
  });
}

/**
 * Makes a database of the cluster one that is older than Citus: its coordinator has no extension,
 * and its nodes have nothing of it.
 *
 * @param schema - what is dropped from the nodes
 */
export async function dissolveCluster(
  database: string,
  schema: string,
): Promise<void> {
  for (const [index, server] of (await citusServers()).entries()) {
    await withClient({ ...server, database }, async client => {
      await client.query('drop extension citus cascade');
      if (index > 0) {
        await client.query(`drop schema if exists ${schema} cascade`);
      }
    });
  }
}

function name({ host = 'localhost', port = 5432 }: ClientConfig): string {
  return `${escapeLiteral(host)}, ${port}`;
}
