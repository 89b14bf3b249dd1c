import { RefusedError } from '../errors';
import { formatThings } from '../text';
import type { Place } from './places';
import type { FoundSection } from './sections';

// Foreign keys of other tables that keep rows of these from being deleted, and which of the rows
// there refer to the tenant: `r` and `t`. A key with tenant_id says so by itself, which takes no
// right to our rows.
const KEYS = `
  with ours as (
    select c.oid from unnest($1::text[], $2::text[]) t (nspname, relname)
      join pg_namespace n using (nspname)
      join pg_class c on c.relnamespace = n.oid and c.relname = t.relname)
  select k.conrelid::regclass::text as table, case when bool_or(t.attname = 'tenant_id')
           then string_agg(format('r.%I = %L', r.attname, $3::text), '') filter (where t.attname = 'tenant_id')
           else format('exists (select from %s t where t.tenant_id = %L and %s)', k.confrelid::regclass, $3::text,
                       string_agg(format('r.%I = t.%I', r.attname, t.attname), ' and ')) end as where
    from pg_constraint k cross join unnest(k.conkey, k.confkey) each (referring, referred)
    join pg_attribute r on r.attrelid = k.conrelid and r.attnum = each.referring
    join pg_attribute t on t.attrelid = k.confrelid and t.attnum = each.referred
   where k.contype = 'f' and k.conparentid = 0 and k.confdeltype in ('a', 'r')
     and k.confrelid in (select oid from ours) and k.conrelid not in (select oid from ours)
     and has_schema_privilege(k.connamespace, 'usage') and has_table_privilege(k.conrelid, 'select')
   group by k.oid order by 1`;

/**
 * Refuses rows of others that keep rows of the tenant from being deleted, as far as the login may
 * read them.
 *
 * @param tables - of which the tenant's rows go
 * @throws {@link RefusedError} with the statements that delete them
 */
export async function refuseReferringRows(
  { executor }: Pick<Place, 'executor'>,
  tables: Pick<FoundSection, 'schema' | 'table'>[],
  tenantId: string,
): Promise<void> {
  const keys = await executor.read<{ table: string; where: string }>(KEYS, [
    tables.map(({ schema }) => schema),
    tables.map(({ table }) => table),
    tenantId,
  ]);
  const names: string[] = [];
  const statements: string[] = [];
  for (const { table, where } of keys) {
    const [{ rows }] = await executor.read<{ rows: number }>(
      `select count(*)::int as rows from ${table} r where ${where}`,
    );
    if (rows > 0) {
      names.push(`${table} (${formatThings(rows, 'row')})`);
      statements.push(`\n    delete from ${table} r where ${where};`);
    }
  }
  if (names.length > 0) {
    throw new RefusedError(
      `Rows of yours refer to the tenant: ${names.join(
        ', ',
      )}. Delete them, and run the command again.${statements.join('')}`,
    );
  }
}
