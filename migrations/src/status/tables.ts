import { RETENTION_HOURS } from '../cleanup/cleanup';
import type { Executor } from '../engine/Executor';
import type { StepContext } from '../engine/Step';
import { CHANGE_LOG } from '../copy/changeLog';
import { columnExists, relationExists } from '../schema/lookups';
import {
  archiveName,
  isSwapped,
  oldName,
  partitionedName,
} from '../schema/partitions';
import { SEARCH_TABLES } from '../schema/searchTables';
import { TENANT_TABLES } from '../schema/tables';
import type { StatusReport, SwapStatus, TableStatus } from './StatusReport';

const HOUR_MS = 3_600_000;

// A partitioned table has no rows of its own, and neither has it a size. What was
// never analysed has -1 rows; the cumulative statistics know about those.
const SIZES = `
  select t.name,
         count(*) filter (where c.oid <> t.oid)::int as partitions,
         coalesce(sum(case when c.reltuples >= 0 then c.reltuples
                           else pg_stat_get_live_tuples(c.oid) end)
                    filter (where c.relkind = 'r'), 0)::float8 as rows,
         coalesce(sum(pg_total_relation_size(c.oid)), 0)::float8 as bytes
    from (select name, to_regclass(quote_ident(name)) as oid,
                 ordinality as position
            from unnest($1::text[]) with ordinality as names (name, ordinality)) t
    join pg_class c on c.oid = t.oid or c.oid in (
           select relid from pg_partition_tree(t.oid))
   group by t.name, t.position order by t.position`;

/** The tables of the catalog, and those that stand beside them for a time. */
export async function readTables(executor: Executor): Promise<TableStatus[]> {
  return executor.read<TableStatus>(SIZES, [
    [
      'tenants',
      ...TENANT_TABLES,
      ...SEARCH_TABLES,
      ...TENANT_TABLES.flatMap(table => [
        partitionedName(table),
        oldName(table),
        archiveName(table),
      ]),
    ],
  ]);
}

/** How much the change log holds; it is there during phase 5 and until the cleanup. */
export async function readChangeLog(
  executor: Executor,
): Promise<StatusReport['changeLog']> {
  // It is emptied all the time: what VACUUM last saw says nothing.
  const [log] = await executor.read<{ rows: number; bytes: number }>(
    `select pg_stat_get_live_tuples(oid)::float8 as rows,
            pg_total_relation_size(oid)::float8 as bytes
       from pg_class where oid = to_regclass('${CHANGE_LOG}')`,
  );
  return log ?? null;
}

/** How things stand with the swap of phase 5. */
export async function readSwap({
  executor,
  state,
}: Pick<StepContext, 'executor' | 'state'>): Promise<SwapStatus> {
  const swapped = await isSwapped(executor);
  const remembered = await state.get<{ at: string }>('swap');
  const swappedAt = swapped && remembered ? new Date(remembered.at) : null;
  const oldTables: string[] = [];
  for (const table of TENANT_TABLES.map(oldName)) {
    if (await relationExists(executor, table)) {
      oldTables.push(table);
    }
  }
  return {
    swapped,
    undone:
      // A table of somebody else's under that name has no tenants.
      !swapped &&
      (await columnExists(executor, archiveName('entities'), 'tenant_id')),
    swappedAt,
    oldTables,
    cleanupFrom:
      swappedAt && oldTables.length > 0
        ? new Date(swappedAt.getTime() + RETENTION_HOURS * HOUR_MS)
        : null,
  };
}
