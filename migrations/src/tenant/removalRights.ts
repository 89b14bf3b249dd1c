import { RefusedError } from '../errors';
import type { Place } from './places';
import type { FoundSection } from './sections';

/** What goes from a database. */
interface Removal {
  /** Lose rows. */
  tables: Pick<FoundSection, 'schema' | 'table'>[];
  schemas: string[];
  /** The name of functions, in any schema. */
  functionName: string;
}

// By what the catalogue says: to name a table takes a right to its schema. Policies fail a
// statement from whose session they would hide rows.
const LACKS = `
  with emptied as (
    select c.oid, n.oid as namespace, format('%I.%I', n.nspname, c.relname) as name
      from unnest($1::text[], $2::text[]) t (nspname, relname)
      join pg_namespace n using (nspname) join pg_class c on c.relnamespace = n.oid and c.relname = t.relname
  ), dropped (name, owner) as (
    select format('schema %I', nspname), nspowner from pg_namespace where nspname = any ($3)
     union
    select format('function %I.%I', n.nspname, p.proname), p.proowner
      from pg_proc p join pg_namespace n on n.oid = p.pronamespace
     where p.proname = $4 and not pg_has_role(n.nspowner, 'usage')
  )
  select format('USAGE on the schema %I', nspname) as right,
         format('grant usage on schema %I to %I', nspname, current_user) as statement
    from pg_namespace
   where oid in (select namespace from emptied) and not has_schema_privilege(oid, 'usage')
   union all
  select format('SELECT and DELETE on %s', name), format('grant select, delete on %s to %I', name, current_user)
    from emptied
   where not (has_table_privilege(oid, 'select') and has_table_privilege(oid, 'delete'))
   union all
  select format('BYPASSRLS, for the policies of %s', name), format('alter role %I bypassrls', current_user)
    from emptied where row_security_active(oid)
   union all
  select format('the rights of %I, which owns the %s', o.rolname, d.name),
         case when not o.rolsuper then format('grant %I to %I%s', o.rolname, current_user,
           case when current_setting('server_version_num')::int >= 160000 then ' with inherit true' end) end
    from dropped d join pg_roles o on o.oid = d.owner where not pg_has_role(d.owner, 'usage')`;

/**
 * Refuses what the login may not remove, before anything is changed.
 *
 * @throws {@link RefusedError} with the rights that it lacks, and the statements that give them
 */
export async function refuseWithoutRights(
  { database, executor }: Pick<Place, 'database' | 'executor'>,
  { tables, schemas, functionName }: Removal,
): Promise<void> {
  const lacks = await executor.read<{
    right: string;
    statement: string | null;
  }>(`select distinct * from (${LACKS}) lacks order by 1`, [
    tables.map(({ schema }) => schema),
    tables.map(({ table }) => table),
    schemas,
    functionName,
  ]);
  if (lacks.length > 0) {
    const [{ login }] = await executor.read<{ login: string }>(
      'select current_user as login',
    );
    const statements = new Set(
      lacks.flatMap(({ statement }) => statement ?? []),
    );
    throw new RefusedError(
      `In the database "${database}" the login "${login}" lacks ${lacks
        .map(({ right }) => right)
        .join('; ')}. Connect as a superuser, or let one run there:${[
        ...statements,
      ]
        .map(each => `\n    ${each};`)
        .join('')}`,
    );
  }
}
