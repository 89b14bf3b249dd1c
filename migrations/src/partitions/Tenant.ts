import type { Executor } from '../engine/Executor';
import { RefusedError } from '../errors';
import { operatorCommand } from '../operatorCommand';
import { catchAllPartition, isSwapped } from '../schema/partitions';
import { ADMIN_POLICY } from '../schema/policies';
import { DEFAULT_TENANT_ID, TENANT_TABLES } from '../schema/tables';
import type { TenantTable } from '../schema/tables';
import { tenantPartition } from './names';

/** The tenant whose rows move. */
export interface Tenant {
  id: string;
  slug: string;
}

/** The names of a tenant's partitions, by table. */
export type Partitions = Record<TenantTable, string>;

/** @throws {@link RefusedError} unless the partitioned tables are in use */
export async function refuseOutsidePhase5(executor: Executor): Promise<void> {
  if (!(await isSwapped(executor))) {
    throw new RefusedError(
      'The partitioned tables are not in use: tenants have partitions from the end of ' +
        `phase 5 on, until it is rolled back. Run "${operatorCommand(
          'phase5',
        )}" first.`,
    );
  }
}

/** The tenant that a slug names, or whose partitions it names. */
export interface FoundTenant extends Tenant {
  /** `gone`: its row was deleted, its partitions remain. */
  state: 'active' | 'deleted' | 'gone';
}

/**
 * The tenant of a slug, or the one whose partitions have its name.
 *
 * @throws {@link RefusedError} if it is the default one
 */
export async function findTenant(
  executor: Executor,
  slug: string,
): Promise<FoundTenant | undefined> {
  const [found] = await executor.read<FoundTenant>(
    `select tenant_id as id, tenant_slug as slug,
            case when deleted_at is null then 'active' else 'deleted' end as state
       from tenants where tenant_slug = $1`,
    [slug],
  );
  if (found?.id === DEFAULT_TENANT_ID) {
    throw new RefusedError(
      `The tenant "${slug}" is the default one. It has a partition by phase 5, which ` +
        'is not taken back.',
    );
  }
  if (found) {
    return found;
  }
  const [orphan] = await executor.read<{ id: string }>(
    `select substring(pg_get_expr(relpartbound, oid) from '^FOR VALUES IN \\(''([^'']+)''\\)$') as id
       from pg_class where oid = to_regclass(quote_ident($1)) and relispartition`,
    [tenantPartition('entities', slug)],
  );
  return orphan?.id ? { id: orphan.id, slug, state: 'gone' } : undefined;
}

/** @throws {@link RefusedError} unless there is such a tenant, which is not deleted */
export function refuseDeleted(
  slug: string,
  found: FoundTenant | undefined,
): asserts found is FoundTenant {
  if (!found || found.state === 'gone') {
    throw new RefusedError(
      `There is no tenant "${slug}". Expected the tenant_slug of one in the table ` +
        'tenants: lower-case letters, digits and hyphens, such as my-team.',
    );
  }
  if (found.state === 'deleted') {
    throw new RefusedError(
      `The tenant "${slug}" is deleted. Restore it first, or leave its rows where ` +
        'they are.',
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
        )} alone, and the commands create all three or none. Expected one of each of ` +
        `${TENANT_TABLES.join(', ')}, or none.`,
    );
  }
  return Object.fromEntries(
    rows.map(({ table, name }) => [table, name]),
  ) as Partitions;
}

/**
 * Refuses while a table's default partition is another than the one that phase 5 created:
 * the move would drop the partition of that name.
 */
export async function refuseOtherDefaults(executor: Executor): Promise<void> {
  const missing = await executor.read<{ table: string; name: string }>(
    `select "table", name from unnest($1::text[], $2::text[]) expected ("table", name)
      where not exists (
        select from pg_inherits i join pg_class c on c.oid = i.inhrelid
         where i.inhparent = to_regclass("table") and c.oid = to_regclass(name)
           and pg_get_expr(c.relpartbound, c.oid) = 'DEFAULT')`,
    [[...TENANT_TABLES], TENANT_TABLES.map(catchAllPartition)],
  );
  if (missing.length > 0) {
    throw new RefusedError(
      `${missing
        .map(
          ({ table, name }) =>
            `${name} is not the default partition of ${table}`,
        )
        .join(', ')}, as phase 5 left it. Put it back under its name first.`,
    );
  }
}

// Objects that exist on a partition alone. ATTACH PARTITION gives a copy what belongs to
// the table; the copy is created with columns, constraints, indexes and storage.
const OWN_OBJECTS = `
  with replaced as (
    select c.oid, c.relowner, c.relacl from unnest($1::text[]) name
      join pg_class c on c.oid = to_regclass(quote_ident(name))
  )
  select pg_describe_object('pg_trigger'::regclass, t.oid, 0) as what
    from pg_trigger t join replaced r on r.oid = t.tgrelid
   where not t.tgisinternal and t.tgparentid = 0
     and t.tgname not like 'tenancy\\_partition\\_log%'
   union all
  select pg_describe_object('pg_policy'::regclass, p.oid, 0)
    from pg_policy p join replaced r on r.oid = p.polrelid
   where p.polname <> '${ADMIN_POLICY}'
   union all
  select pg_describe_object('pg_constraint'::regclass, k.oid, 0)
    from pg_constraint k join replaced r on r.oid = k.conrelid
   where k.contype in ('f', 'x') and k.conparentid = 0
   union all
  select pg_describe_object('pg_publication_rel'::regclass, p.oid, 0)
    from pg_publication_rel p join replaced r on r.oid = p.prrelid
   union all
  select pg_describe_object('pg_statistic_ext'::regclass, s.oid, 0)
    from pg_statistic_ext s join replaced r on r.oid = s.stxrelid
   union all
  select pg_describe_object('pg_rewrite'::regclass, d.objid, 0)
    from pg_depend d join replaced r on r.oid = d.refobjid
   where d.refclassid = 'pg_class'::regclass and d.classid = 'pg_rewrite'::regclass
   union all
  select format('the right %s of %s on %s', a.privilege_type,
                case a.grantee when 0 then 'public' else a.grantee::regrole::text end,
                r.oid::regclass)
    from replaced r, aclexplode(r.relacl) a
   where a.grantee <> r.relowner
   order by 1`;

/**
 * Refuses while objects depend on partitions that their copies would lack.
 *
 * @param replaced - the partitions that the copies will replace
 */
export async function refuseDependents(
  executor: Executor,
  replaced: string[],
): Promise<void> {
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
        )} references rows of partitions that would be replaced by copies. Drop ` +
        'it, and add it again afterwards.',
    );
  }
  const own = await executor.read<{ what: string }>(OWN_OBJECTS, [replaced]);
  if (own.length > 0) {
    throw new RefusedError(
      `These belong to a partition itself, which a copy would take the place of: ${own
        .map(({ what }) => what)
        .join('; ')}. Drop them, and make them again afterwards.`,
    );
  }
}
