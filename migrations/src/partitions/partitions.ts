import type { Executor } from '../engine/Executor';
import { RefusedError } from '../errors';
import { LOG_TRIGGER } from '../copy/changeLog';
import { refuseDependentsOf } from '../schema/dependents';
import { ADMIN_POLICY } from '../schema/policies';
import { TENANT_TABLES } from '../schema/tables';
import type { TenantTable } from '../schema/tables';
import type { RegisteredTenant } from '../adopt/engine';

/** The names of partitions, by table. */
export type Partitions = Record<TenantTable, string>;

/** The partitions that a move is about. */
export interface FoundPartitions {
  /** Those of tenants without their own. */
  shared: Partitions;
  /** Those of the tenant alone, if it has any. */
  own?: Partitions;
}

/** @throws {@link RefusedError} if some of the tables lack a partition that others have */
export async function findPartitions(
  executor: Executor,
  { tenantId, slug }: RegisteredTenant,
): Promise<FoundPartitions> {
  const rows = await executor.read<{
    table: TenantTable;
    name: string;
    bound: string;
  }>(
    `select p.relname as table, c.relname as name, pg_get_expr(c.relpartbound, c.oid) as bound
       from pg_class p
       join pg_inherits i on i.inhparent = p.oid
       join pg_class c on c.oid = i.inhrelid
      where p.oid in (select to_regclass(name) from unnest($1::text[]) name)`,
    [[...TENANT_TABLES]],
  );
  const select = (wanted: string) =>
    Object.fromEntries(
      rows
        .filter(({ bound }) => bound === wanted)
        .map(({ table, name }) => [table, name]),
    ) as Partitions;
  const shared = select('DEFAULT');
  const own = select(`FOR VALUES IN ('${tenantId}')`);
  const isWhole = (partitions: Partitions) =>
    TENANT_TABLES.every(table => partitions[table]);
  const hasOwn = Object.keys(own).length > 0;
  if (!isWhole(shared) || (hasOwn && !isWhole(own))) {
    throw new RefusedError(
      `Not all of ${TENANT_TABLES.join(
        ', ',
      )} have a default partition, or one of "${slug}". ` +
        'Attach what is missing.',
    );
  }
  return hasOwn ? { shared, own } : { shared };
}

// What belongs to a partition alone and would not follow the rows, or what would break.
const OWN_OBJECTS = `
  with source as (
    select c.oid, c.relowner, c.relacl from unnest($1::text[]) name
      join pg_class c on c.oid = to_regclass(quote_ident(name))
  ), object (class, id) as (
    select 'pg_trigger'::regclass, t.oid
      from pg_trigger t join source s on s.oid = t.tgrelid
     where not t.tgisinternal and t.tgparentid = 0
     union all
    -- The table's would fire for the rows that move.
    select 'pg_trigger'::regclass, t.oid
      from pg_trigger t
     where t.tgrelid in (select to_regclass(name) from unnest($2::text[]) name)
       and not t.tgisinternal and t.tgtype & 1 = 1 and t.tgtype & 12 > 0
       and t.tgname not like '${LOG_TRIGGER}%'
     union all
    select 'pg_policy'::regclass, p.oid
      from pg_policy p join source s on s.oid = p.polrelid
     where p.polname <> '${ADMIN_POLICY}'
     union all
    -- The table's, too: a subscriber would not get the rows that move.
    select 'pg_publication_rel'::regclass, p.oid
      from pg_publication_rel p
     where p.prrelid in (select oid from source)
        or p.prrelid in (select to_regclass(name) from unnest($2::text[]) name)
  )
  select pg_describe_object(class, id, 0) as what from object
   union
  select format('the right %s of %s on %s', a.privilege_type,
                case a.grantee when 0 then 'public' else a.grantee::regrole::text end,
                s.oid::regclass)
    from source s, aclexplode(s.relacl) a
   where a.grantee <> s.relowner
   order by 1`;

/**
 * @param sources - the partitions whose rows move
 * @throws {@link RefusedError} while something hangs on them
 */
export async function refuseDependents(
  executor: Executor,
  sources: string[],
): Promise<void> {
  // Rows of others would be deleted with those that move, or keep them from moving.
  await refuseDependentsOf(executor, sources, TENANT_TABLES);
  const found = await executor.read<{ what: string }>(OWN_OBJECTS, [
    sources,
    [...TENANT_TABLES],
  ]);
  if (found.length > 0) {
    throw new RefusedError(
      `The move would lose these, or set them off: ${found
        .map(({ what }) => what)
        .join('; ')}. Drop them, and make them again afterwards.`,
    );
  }
}
