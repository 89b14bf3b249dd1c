import type { StepContext } from '../engine/Step';
import { RefusedError, UsageError } from '../errors';
import { operatorCommand } from '../operatorCommand';
import { isDistributed, nodeName, readNodes } from '../schema/citus';
import type { CitusNode } from '../schema/citus';
import { escapeIdentifier, escapeLiteral } from '../sql';
import { readPlaces } from './shards';

/** What a move has done. */
export interface TenantMove {
  changed: boolean;
  from: string;
  to: string;
  milliseconds: number;
}

/**
 * Moves the rows of a tenant to another node, while its writers wait. A tenant that shares its
 * shard gets one by itself first, while writers of all of them wait.
 *
 * Citus can move by logical replication as well, but does not write into a table whose owner
 * row-level security binds (FORCE).
 *
 * @param to - `host:port`
 * @throws {@link RefusedError} for an unknown tenant, and where nothing is distributed
 */
export async function moveTenant(
  context: StepContext,
  slug: string,
  to: string,
): Promise<TenantMove> {
  const { executor, settings } = context;
  const { read } = executor;
  if (!(await isDistributed(read, settings.schema))) {
    throw new RefusedError(
      `The tables of tenants are not distributed: all tenants are on this server. Run "${operatorCommand(
        'distribute',
      )}" first.`,
    );
  }
  const nodes = await readNodes(read);
  const target = findNode(nodes, to);
  const findPlace = async () => {
    const places = await readPlaces(read, settings.schema);
    const place = places.find(each => each.slug === slug);
    if (!place) {
      throw new RefusedError(
        `There is no tenant "${slug}". Expected the slug of one.`,
      );
    }
    return place;
  };
  const { node, neighbours, shard, tenantId } = await findPlace();
  if (node === to) {
    return { changed: false, from: node, to, milliseconds: 0 };
  }
  const begun = performance.now();
  let moved = String(shard);
  if (neighbours > 0) {
    const entities = escapeLiteral(
      `${escapeIdentifier(settings.schema)}.entities`,
    );
    await executor.execute(
      `select isolate_tenant_to_new_shard(${entities}, '${tenantId}', 'CASCADE', shard_transfer_mode => 'block_writes')`,
    );
    moved = String((await findPlace()).shard);
  }
  const source = nodes.find(each => nodeName(each) === node)!;
  await executor.execute(
    `select citus_move_shard_placement(${moved}, '${source.host}', ${source.port}, ` +
      `'${target.host}', ${target.port}, shard_transfer_mode => 'block_writes')`,
  );
  await executor.execute('call citus_cleanup_orphaned_resources()');
  const milliseconds = Math.round(performance.now() - begun);
  return { changed: true, from: node, to, milliseconds };
}

function findNode(nodes: CitusNode[], name: string): CitusNode {
  const holders = nodes.filter(
    ({ holdsShards, isActive }) => holdsShards && isActive,
  );
  const node = holders.find(each => nodeName(each) === name);
  if (!node) {
    throw new UsageError(
      `No node ${name} holds rows of tenants. Expected one of ${holders
        .map(nodeName)
        .join(', ')}.`,
    );
  }
  return node;
}
