import type { Executor } from '../engine/Executor';
import { isDistributed } from './citus';
import { relationExists } from './lookups';
import { TENANT_TABLES } from './tables';
import type { TenantTable } from './tables';
import { escapeIdentifier } from '../sql';

/** The name of the partitioned table before the swap. */
export function partitionedName(table: TenantTable): string {
  return `${table}_partitioned`;
}

/** Its name after a rollback (specification, Rollback, 2). */
export function archiveName(table: TenantTable): string {
  return `${table}_partitioned_archive`;
}

/** The name of the single-tenant table after the swap. */
export function oldName(table: TenantTable): string {
  return `${table}_old`;
}

/** The partition of the default tenant. */
export function defaultTenantPartition(table: TenantTable): string {
  return `${table}_tenant_default`;
}

/** The partition that tenants without partitions of their own share. */
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

/**
 * Whether the tables of phase 5 have the production names: partitioned ones, or those that
 * Citus has distributed since.
 */
export async function isSwapped(executor: Executor): Promise<boolean> {
  const [table] = await executor.read<{ kind: string }>(
    `select relkind::text as kind from pg_class where oid = to_regclass('entities')`,
  );
  return (
    table?.kind === 'p' || (table?.kind === 'r' && (await isSharded(executor)))
  );
}

/** Whether Citus has distributed the tables over nodes. */
export async function isSharded(executor: Executor): Promise<boolean> {
  const [{ schema }] = await executor.read<{ schema: string }>(
    'select current_schema()::text as schema',
  );
  return isDistributed(executor.read, schema);
}

/**
 * Those of the tables of tenants, as LOCK TABLE takes them, whose rows a command may move to others. On
 * Citus none does, and locks go to all nodes.
 */
export async function lockableTables(executor: Executor): Promise<string[]> {
  return (await isSharded(executor))
    ? []
    : TENANT_TABLES.map(table => `only ${table}`);
}

/** The storage parameters of a table, and of its TOAST table, for WITH; or ''. */
export async function storageParameters(
  executor: Executor,
  table: string,
): Promise<string> {
  const [{ parameters }] = await executor.read<{ parameters: string }>(
    `select array_to_string(c.reloptions || array(
              select 'toast.' || o from unnest(t.reloptions) o), ', ') as parameters
       from pg_class c left join pg_class t on t.oid = c.reltoastrelid
      where c.oid = to_regclass(quote_ident($1))`,
    [table],
  );
  return parameters ? ` with (${parameters})` : '';
}

/**
 * The statement that makes all columns the replica identity of a table: where it is published, as
 * by FOR ALL TABLES, UPDATE and DELETE need one, and it has no primary key.
 */
export function identifyByAllColumns(table: string): string {
  return `alter table ${escapeIdentifier(table)} replica identity full`;
}

/**
 * The deletion of a tenant cascades to the tables of before the swap, and PostgreSQL refuses that
 * where one without a primary key is published, as by FOR ALL TABLES.
 */
export async function identifyOldRows(executor: Executor): Promise<void> {
  const tables = await executor.read<{ name: string }>(
    `select distinct c.relname as name
       from pg_publication_tables p
       join pg_class c on c.oid = to_regclass(quote_ident(p.tablename))
      where p.schemaname = current_schema() and p.tablename = any ($1) and c.relreplident = 'd'
        and not exists (select from pg_index where indrelid = c.oid and indisprimary)`,
    [TENANT_TABLES.map(oldName)],
  );
  for (const { name } of tables) {
    await executor.transaction({
      title: `Identify the rows of ${name} by all columns`,
      locks: 'ACCESS EXCLUSIVE on a table that is not in use.',
      tables: [name],
      statements: [identifyByAllColumns(name)],
    });
  }
}
