import type { Executor } from '../engine/Executor';
import { temporaryIndex } from '../phases/phase1_tenant_column/30_temporary_indexes';
import { archiveName, partitionedName } from '../schema/partitions';
import { readRowsOfOtherTenants } from '../rollback/otherTenants';
import { TENANT_TABLES } from '../schema/tables';
import type { Leftover } from './StatusReport';

const LEFTOVERS = `
  select 'temporary index' as kind, i.relname as name, t.relname as "table"
    from pg_index x join pg_class i on i.oid = x.indexrelid
    join pg_class t on t.oid = x.indrelid
   where t.relnamespace = quote_ident(current_schema())::regnamespace
     and i.relname = any ($1) and x.indisvalid
  union all
  select 'invalid index', i.relname, t.relname
    from pg_index x join pg_class i on i.oid = x.indexrelid
    join pg_class t on t.oid = x.indrelid
   where t.relnamespace = quote_ident(current_schema())::regnamespace
     and t.relname = any ($2) and not x.indisvalid
  union all
  select 'constraint not validated', c.conname, t.relname
    from pg_constraint c join pg_class t on t.oid = c.conrelid
   where t.relnamespace = quote_ident(current_schema())::regnamespace
     and t.relname = any ($2) and not c.convalidated
  union all
  select 'table', relname, relname from pg_class
   where relnamespace = quote_ident(current_schema())::regnamespace
     and relkind in ('r', 'p') and relname = any ($3)
   order by 1, 3, 2`;

/**
 * What a step leaves for a later one, or left because it was interrupted. The rows of
 * an archive are counted: those of other tenants, which are nowhere else.
 */
export async function readLeftovers(executor: Executor): Promise<Leftover[]> {
  const found = await executor.read<Leftover>(LEFTOVERS, [
    TENANT_TABLES.map(temporaryIndex),
    [...TENANT_TABLES, ...TENANT_TABLES.map(partitionedName)],
    TENANT_TABLES.flatMap(table => [
      partitionedName(table),
      archiveName(table),
    ]),
  ]);
  const leftovers: Leftover[] = [];
  for (const leftover of found) {
    leftovers.push(
      leftover.kind === 'table'
        ? {
            ...leftover,
            otherTenants: await readRowsOfOtherTenants(executor, leftover.name),
          }
        : leftover,
    );
  }
  return leftovers;
}
