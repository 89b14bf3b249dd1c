import type { Executor } from '../engine/Executor';
import type { StepContext } from '../engine/Step';
import { RefusedError } from '../errors';
import { isSwapped } from '../schema/partitions';
import { DEFAULT_TENANT_ID, TENANT_TABLES } from '../schema/tables';
import type { TenantTable } from '../schema/tables';
import { operatorCommand } from '../operatorCommand';

/** A tenant, as far as its partitions are concerned. */
export interface Tenant {
  id: string;
  slug: string;
}

/** What a partition of one tenant is called, by the table that it belongs to. */
export type Partitions = Record<TenantTable, string>;

/**
 * The tenant of a slug.
 *
 * @throws {@link RefusedError} if it can't have a partition given or taken
 */
export async function requireTenant(
  { executor }: StepContext,
  slug: string,
): Promise<Tenant> {
  await refuseOutsidePhase5(executor);
  const [tenant] = await executor.read<{ id: string; deleted: boolean }>(
    `select tenant_id as id, deleted_at is not null as deleted
       from tenants where tenant_slug = $1`,
    [slug],
  );
  if (!tenant) {
    throw new RefusedError(
      `There is no tenant "${slug}". Expected the tenant_slug of one in the table ` +
        'tenants: lower-case letters, digits and hyphens, such as my-team.',
    );
  }
  if (tenant.id === DEFAULT_TENANT_ID) {
    throw new RefusedError(
      `The tenant "${slug}" is the default one. It has a partition by phase 5, which ` +
        'is not taken back.',
    );
  }
  if (tenant.deleted) {
    throw new RefusedError(
      `The tenant "${slug}" is deleted. Restore it first, or leave its rows where ` +
        'they are.',
    );
  }
  return { id: tenant.id, slug };
}

async function refuseOutsidePhase5(executor: Executor): Promise<void> {
  if (!(await isSwapped(executor))) {
    throw new RefusedError(
      'The partitioned tables are not in use: tenants have partitions from the end of ' +
        `phase 5 on, until it is rolled back. Run "${operatorCommand(
          'phase5',
        )}" first.`,
    );
  }
}

/**
 * The partitions that are the tenant's own, if it has any.
 *
 * @throws {@link RefusedError} if not all of the tables have one
 */
export async function findPartitions(
  executor: Executor,
  { id, slug }: Tenant,
): Promise<Partitions | undefined> {
  const rows = await executor.read<{ table: TenantTable; name: string }>(
    `select p.relname as table, c.relname as name
       from pg_class p
       join pg_inherits i on i.inhparent = p.oid
       join pg_class c on c.oid = i.inhrelid
      where p.oid in (select to_regclass(name) from unnest($1::text[]) name)
        and pg_get_expr(c.relpartbound, c.oid) = format('FOR VALUES IN (%L)', $2::text)`,
    [[...TENANT_TABLES], id],
  );
  if (rows.length === 0) {
    return undefined;
  }
  if (rows.length < TENANT_TABLES.length) {
    throw new RefusedError(
      `The tenant "${slug}" has a partition of ${rows
        .map(row => row.table)
        .join(
          ' and ',
        )} alone, which no command of ours leaves behind. Expected one of each of ` +
        `${TENANT_TABLES.join(', ')}, or none.`,
    );
  }
  return Object.fromEntries(
    rows.map(({ table, name }) => [table, name]),
  ) as Partitions;
}

/**
 * Refuses where moving rows of entities would delete or change rows of tables that
 * reference them, because they reference more than the three tables know.
 */
export async function refuseOtherReferences(executor: Executor): Promise<void> {
  const keys = await executor.read<{ name: string; table: string }>(
    `select conname as name, conrelid::regclass::text as table
       from pg_constraint
      where contype = 'f' and conparentid = 0
        and confrelid in (select relid from unnest($1::text[]) name,
                                 pg_partition_tree(to_regclass(name)))
        and conrelid not in (select to_regclass(name) from unnest($1::text[]) name)
      order by 2, 1`,
    [[...TENANT_TABLES]],
  );
  if (keys.length > 0) {
    throw new RefusedError(
      `${keys
        .map(({ name, table }) => `The foreign key ${name} of ${table}`)
        .join(
          ', ',
        )} references rows that would move: PostgreSQL would take their ` +
        'move for a deletion. Drop it, and add it again afterwards.',
    );
  }
}
