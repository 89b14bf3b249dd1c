import { RefusedError } from '../errors';
import { refuseWithoutRights } from '../schema/rights';
import { below, formatThings } from '../text';
import type { Place } from './places';
import type { FoundSection } from './sections';

// Foreign keys of other tables that keep rows of these from being deleted, which of the rows there
// refer to the tenant, `r` and `t`. A key with tenant_id says so by itself, which takes no right to
// our rows.
const KEYS = `
  with ours as (
    select c.oid from unnest($1::text[], $2::text[]) t (nspname, relname)
      join pg_namespace n using (nspname)
      join pg_class c on c.relnamespace = n.oid and c.relname = t.relname
  ), keys as (
    select *, (pg_identify_object('pg_class'::regclass, conrelid, 0)).identity as referring,
           (pg_identify_object('pg_class'::regclass, confrelid, 0)).identity as referred
      from pg_constraint
     where contype = 'f' and conparentid = 0 and confdeltype in ('a', 'r')
       and confrelid in (select oid from ours) and conrelid not in (select oid from ours)
  )
  select k.referring as table, case when bool_or(t.attname = 'tenant_id')
           then string_agg(format('r.%I = %L', r.attname, $3::text), '') filter (where t.attname = 'tenant_id')
           else format('exists (select from %s t where t.tenant_id = %L and %s)', k.referred, $3::text,
                       string_agg(format('r.%I = t.%I', r.attname, t.attname), ' and ')) end as where,
         n.nspname as schema, c.relname as name
    from keys k join pg_class c on c.oid = k.conrelid join pg_namespace n on n.oid = c.relnamespace
    cross join unnest(k.conkey, k.confkey) each (column_of, column_to)
    join pg_attribute r on r.attrelid = k.conrelid and r.attnum = each.column_of
    join pg_attribute t on t.attrelid = k.confrelid and t.attnum = each.column_to
   group by k.oid, n.nspname, c.relname, k.referring, k.referred order by 1`;

/**
 * Refuses rows of others that keep rows of the tenant from being deleted.
 *
 * @param tables - of which the tenant's rows go
 * @throws {@link RefusedError} with the statements that delete them, or let the login look for them
 */
export async function refuseReferringRows(
  { executor }: Pick<Place, 'executor'>,
  tables: Pick<FoundSection, 'schema' | 'table'>[],
  tenantId: string,
): Promise<void> {
  const keys = await executor.read<{
    table: string;
    where: string;
    schema: string;
    name: string;
  }>(KEYS, [
    tables.map(({ schema }) => schema),
    tables.map(({ table }) => table),
    tenantId,
  ]);
  const rights = ['select'];
  await refuseWithoutRights(executor, {
    tables: keys.map(({ schema, name: table }) => ({ schema, table, rights })),
  });
  const names: string[] = [];
  const statements: string[] = [];
  for (const { table, where } of keys) {
    const [{ rows }] = await executor.read<{ rows: number }>(
      `select count(*)::int as rows from ${table} r where ${where}`,
    );
    if (rows > 0) {
      names.push(`${table} (${formatThings(rows, 'row')})`);
      statements.push(`delete from ${table} r where ${where}`);
    }
  }
  if (names.length > 0) {
    throw new RefusedError(
      `Rows of yours refer to the tenant: ${names.join(
        ', ',
      )}. Delete them, and run the command again.${below(statements)}`,
    );
  }
}
