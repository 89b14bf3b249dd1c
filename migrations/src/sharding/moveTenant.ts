import type { StepContext } from '../engine/Step';
import type { QueryRows } from '../checks/Finding';
import { RefusedError, UsageError } from '../errors';
import { escapeIdentifier } from '../sql';
import {
  isDistributed,
  nodeName,
  readNodes,
  SHARDED_TABLES,
} from '../schema/citus';
import type { CitusNode } from '../schema/citus';

/** How rows get to another node: while writers wait, or while they go on. */
export type MoveMode = 'block-writes' | 'online';

/** Up to this size of a tenant's shards writers wait, which is less than an online move takes. */
export const BLOCK_UP_TO_BYTES = 64 * 1024 * 1024;

/** The state key of a window without FORCE. */
const WINDOW = 'move-tenant';

/** What a move has done. */
export interface TenantMove {
  changed: boolean;
  from: string;
  to: string;
  mode: MoveMode;
  bytes: number;
  /** Other tenants were in its shard, which was split. */
  isolated: boolean;
  milliseconds: number;
}

interface Place {
  tenantId: string;
  shard: string;
  host: string;
  port: number;
  neighbours: number;
  bytes: number;
}

/**
 * Moves the rows of a tenant to another node. A tenant that shares its shard gets one by
 * itself first.
 *
 * Citus moves by logical replication, or while writers of the shard wait. Replication does not
 * write into a table whose owner row-level security binds (FORCE), and tries for ever. So an
 * online move takes FORCE from the tables for as long as it lasts. That opens nothing for the
 * application, which does not own them; `portal_admin`, which does, bypasses the policies
 * anyway. The state remembers the window, and the next command closes one that was left open.
 *
 * @throws {@link RefusedError} for an unknown tenant, where nothing is distributed, and for an
 * online move from a node that confirms commits before they are in its log
 */
export async function moveTenant(
  context: StepContext,
  slug: string,
  { to, mode: wanted }: { to: string; mode?: MoveMode },
): Promise<TenantMove> {
  const { executor, settings, reporter } = context;
  const schema = escapeIdentifier(settings.schema);
  const read = <Row extends object>(sql: string, values: unknown[]) =>
    executor.read<Row>(sql, values);
  if (!(await isDistributed(read, settings.schema))) {
    throw new RefusedError(
      'The tables of tenants are not distributed, so that all tenants are on this server.',
    );
  }
  await restoreForce(context);
  const target = findNode(await readNodes(read), to);
  const place = await findPlace(context, slug);
  const mode =
    wanted ?? (place.bytes <= BLOCK_UP_TO_BYTES ? 'block-writes' : 'online');
  const result: TenantMove = {
    changed: false,
    from: nodeName(place),
    to: nodeName(target),
    mode,
    bytes: place.bytes,
    isolated: false,
    milliseconds: 0,
  };
  if (result.from === result.to) {
    return result;
  }
  if (mode === 'online') {
    await refuseAsynchronousCommits(read, place);
  }
  const begun = performance.now();
  let shard = place.shard;
  if (place.neighbours > 0) {
    reporter.info(
      `"${slug}" shares its shard with ${place.neighbours} others: it gets one by itself, and writers of all of them wait meanwhile`,
    );
    await executor.execute(
      `select isolate_tenant_to_new_shard('${schema}.entities', '${place.tenantId}', 'CASCADE', shard_transfer_mode => 'block_writes')`,
    );
    result.isolated = true;
    shard = executor.dryRun
      ? `get_shard_id_for_distribution_column('${schema}.entities', '${place.tenantId}'::uuid)`
      : (await findPlace(context, slug)).shard;
  }
  reporter.info(
    mode === 'online'
      ? 'Writers go on, and wait for a moment at the end'
      : 'Writers of the tenant wait for the end of the move',
  );
  const move = (transfer: string) =>
    `select citus_move_shard_placement(${shard}, '${place.host}', ${place.port}, '${target.host}', ${target.port}, shard_transfer_mode => '${transfer}')`;
  if (mode === 'online') {
    await executor.execute(context.state.put(WINDOW, { slug }));
    await withoutForce(context, schema);
    try {
      await executor.execute(move('force_logical'));
    } finally {
      await restoreForce(context, { always: true });
    }
  } else {
    await executor.execute(move('block_writes'));
  }
  await executor.execute('call citus_cleanup_orphaned_resources()');
  result.changed = true;
  result.milliseconds = Math.round(performance.now() - begun);
  return result;
}

/**
 * At the end of an online move Citus waits until the target has what was written to the log of the
 * node (`pg_current_wal_lsn`). With `synchronous_commit = off` PostgreSQL confirms a commit before
 * that. A session that sets it by itself is not noticed here.
 */
async function refuseAsynchronousCommits(
  read: QueryRows,
  { host, port }: Pick<CitusNode, 'host' | 'port'>,
): Promise<void> {
  const [answer] = await read<{ result: string }>(
    `select result from run_command_on_workers(
       $$select current_setting('synchronous_commit') = 'off' or exists (
           select from pg_db_role_setting, unnest(setconfig) setting
            where setting = 'synchronous_commit=off')$$)
      where nodename = $1 and nodeport = $2`,
    [host, port],
  );
  if (answer?.result !== 'f') {
    throw new RefusedError(
      answer?.result === 't'
        ? `synchronous_commit is off on ${nodeName({
            host,
            port,
          })}, so that an ` +
          'online move could lose changes. Set it to on, or move with --mode block-writes.'
        : `The node ${nodeName({
            host,
            port,
          })} does not say whether commits wait for its ` +
          `log (${answer?.result}): see that it can be reached.`,
    );
  }
}

/** Each is a transaction by itself: ACCESS EXCLUSIVE, for a change of the catalog. */
async function withoutForce(
  { executor }: StepContext,
  schema: string,
): Promise<void> {
  for (const table of SHARDED_TABLES) {
    await executor.execute(
      `alter table ${schema}.${table} no force row level security`,
    );
  }
}

/** Closes a window that was left open, as by a command that was killed. */
export async function restoreForce(
  { executor, state, settings }: StepContext,
  { always = false } = {},
): Promise<void> {
  if (!always && (await state.get(WINDOW)) === undefined) {
    return;
  }
  const schema = escapeIdentifier(settings.schema);
  for (const table of SHARDED_TABLES) {
    await executor.execute(
      `alter table ${schema}.${table} force row level security`,
    );
  }
  await executor.execute(state.forget(WINDOW));
}

function findNode(nodes: CitusNode[], name: string): CitusNode {
  const holders = nodes.filter(
    ({ holdsShards, isActive }) => holdsShards && isActive,
  );
  const node = holders.find(each => nodeName(each) === name);
  if (!node) {
    throw new UsageError(
      `${name} is none of the nodes that hold rows of tenants: ${holders
        .map(nodeName)
        .join(', ')}.`,
    );
  }
  return node;
}

async function findPlace(
  { executor, settings }: StepContext,
  slug: string,
): Promise<Place> {
  const schema = escapeIdentifier(settings.schema);
  const [place] = await executor.read<Place>(
    `with place as (
       select t.tenant_id, t.tenant_slug,
              get_shard_id_for_distribution_column('${schema}.entities'::regclass, t.tenant_id) as shard
         from ${schema}.tenants t
     )
     select p.tenant_id as "tenantId", p.shard::text as shard, n.nodename as host,
            n.nodeport as port,
            (select count(*)::int from place o where o.shard = p.shard and o.tenant_slug <> $1)
              as neighbours,
            (select coalesce(sum(s.shard_size), 0)::float8 from citus_shards s
              join pg_catalog.pg_dist_shard d on d.shardid = s.shardid
              join pg_catalog.pg_dist_shard own on own.shardid = p.shard
             where s.colocation_id = (select colocationid from pg_catalog.pg_dist_partition
                                       where logicalrelid = '${schema}.entities'::regclass)
               and d.shardminvalue = own.shardminvalue) as bytes
       from place p
       join pg_catalog.pg_dist_placement d on d.shardid = p.shard
       join pg_catalog.pg_dist_node n on n.groupid = d.groupid and n.noderole = 'primary'
      where p.tenant_slug = $1`,
    [slug],
  );
  if (!place) {
    throw new RefusedError(`There is no tenant with the slug "${slug}".`);
  }
  return place;
}
