import type { Executor } from '../engine/Executor';
import { relationExists } from './lookups';
import type { TenantTable } from './tables';

/** How the partitioned table is called until it takes the production name. */
export function partitionedName(table: TenantTable): string {
  return `${table}_partitioned`;
}

/** How it is called after a rollback (specification, Rollback, 2). */
export function archiveName(table: TenantTable): string {
  return `${table}_partitioned_archive`;
}

/** How the table of before is called after the swap. */
export function oldName(table: TenantTable): string {
  return `${table}_old`;
}

/** The partition of the default tenant. */
export function defaultTenantPartition(table: TenantTable): string {
  return `${table}_tenant_default`;
}

/** The partition of all tenants that have none of their own. */
export function catchAllPartition(table: TenantTable): string {
  return `${table}_catch_all`;
}

/** The partitioned table while it is not in use. */
export async function waitingName(
  executor: Executor,
  table: TenantTable,
): Promise<string> {
  const archive = archiveName(table);
  return (await relationExists(executor, archive))
    ? archive
    : partitionedName(table);
}

/** Whether the partitioned tables have the production names. */
export async function isSwapped(executor: Executor): Promise<boolean> {
  const rows = await executor.read(
    `select from pg_class where oid = to_regclass('entities') and relkind = 'p'`,
  );
  return rows.length > 0;
}
