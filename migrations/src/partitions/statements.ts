import { readColumns } from '../copy/TableCopy';
import type { Executor } from '../engine/Executor';
import { closePartitionStatements } from '../schema/grants';
import { identifyByAllColumns, storageParameters } from '../schema/partitions';
import { TENANT_TABLES } from '../schema/tables';
import type { TenantTable } from '../schema/tables';
import { escapeIdentifier, escapeLiteral } from '../sql';
import type { Partitions } from './partitions';
import type { RegisteredTenant } from '../adopt/engine';

/** The partitions between which a tenant's rows move. */
export interface Move {
  tenant: RegisteredTenant;
  shared: Partitions;
  own: Partitions;
}

/** Referencing before referenced. */
const REFERENCING_FIRST = [...TENANT_TABLES].reverse();

/**
 * The statements that give a tenant its partitions.
 *
 * Rows are deleted before ATTACH PARTITION, which reads the shared partition to see that it
 * has none left. ATTACH PARTITION builds the indexes, and validates the foreign keys.
 */
export async function giveStatements(
  executor: Executor,
  { tenant, shared, own }: Move,
): Promise<string[]> {
  const id = escapeLiteral(tenant.tenantId);
  const created: string[] = [];
  const moved: string[] = [];
  const attached: string[] = [];
  for (const table of TENANT_TABLES) {
    const target = escapeIdentifier(own[table]);
    created.push(
      ...(await createPartition(executor, table, shared[table], own[table])),
    );
    moved.push(
      await copyRows(executor, table, shared[table], own[table], tenant),
    );
    attached.push(
      `alter table ${table} attach partition ${target} for values in (${id})`,
    );
  }
  const deleted = REFERENCING_FIRST.map(
    table =>
      `delete from ${escapeIdentifier(shared[table])} where tenant_id = ${id}`,
  );
  return [...created, ...moved, ...deleted, ...attached];
}

/**
 * The statements that take the partitions back.
 *
 * Those of the referencing tables are detached first, and lose their foreign keys to
 * entities: PostgreSQL detaches no partition to whose rows others refer.
 */
export async function takeBackStatements(
  executor: Executor,
  { tenant, shared, own }: Move,
): Promise<string[]> {
  const detached: string[] = [];
  for (const table of REFERENCING_FIRST) {
    const source = escapeIdentifier(own[table]);
    detached.push(
      `alter table ${table} detach partition ${source}`,
      ...(table === 'entities' ? [] : [dropKeysToEntities(source)]),
    );
  }
  const moved: string[] = [];
  for (const table of TENANT_TABLES) {
    moved.push(
      await copyRows(executor, table, own[table], shared[table], tenant),
    );
  }
  return [
    ...detached,
    ...moved,
    ...REFERENCING_FIRST.map(
      table => `drop table ${escapeIdentifier(own[table])}`,
    ),
  ];
}

async function createPartition(
  executor: Executor,
  table: TenantTable,
  model: string,
  name: string,
): Promise<string[]> {
  const [{ isIdentifiedByAll }] = await executor.read<{
    isIdentifiedByAll: boolean;
  }>(
    `select relreplident = 'f' as "isIdentifiedByAll" from pg_class
      where oid = to_regclass(quote_ident($1))`,
    [model],
  );
  return [
    // ATTACH PARTITION gives it the identity of the table.
    `create table ${escapeIdentifier(name)} (
  like ${table} including all excluding indexes
)${await storageParameters(executor, model)}`,
    ...closePartitionStatements(name),
    ...(isIdentifiedByAll ? [identifyByAllColumns(name)] : []),
  ];
}

/** The statement that copies a tenant's rows of a table. */
async function copyRows(
  executor: Executor,
  table: TenantTable,
  from: string,
  to: string,
  { tenantId }: RegisteredTenant,
): Promise<string> {
  const columns = (await readColumns(executor, table)).join(', ');
  return `insert into ${escapeIdentifier(to)} (${columns})
select ${columns} from ${escapeIdentifier(
    from,
  )} where tenant_id = ${escapeLiteral(tenantId)}`;
}

/** PostgreSQL 14 gives a foreign key another name when its table is detached. */
function dropKeysToEntities(source: string): string {
  return `do $$
declare
  tenancy_key text;
begin
  for tenancy_key in
    select conname from pg_constraint
     where contype = 'f' and conparentid = 0 and confrelid = 'entities'::regclass
       and conrelid = ${escapeLiteral(source)}::regclass
  loop
    execute format('alter table %s drop constraint %I', ${escapeLiteral(
      source,
    )}, tenancy_key);
  end loop;
end $$`;
}
