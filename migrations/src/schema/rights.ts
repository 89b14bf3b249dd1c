import type { Executor } from '../engine/Executor';
import { RefusedError } from '../errors';
import { below } from '../text';

/** What a role has to do in a database. */
interface Needed {
  tables: NeededTable[];
  /** Are dropped. */
  schemas?: string[];
  /** The name of functions, which are replaced or dropped in any schema. */
  functionName?: string;
  /** Whether it creates schemas. */
  creates?: boolean;
}

export interface NeededTable {
  schema: string;
  table: string;
  /** `select`; or `own`, for ALTER TABLE. With `trigger` it creates functions and indexes beside it. */
  rights: readonly string[];
}

/** SQL for the first of some names, and how many more there are. */
const some = (name: string) =>
  `array_to_string((array_agg(${name} order by ${name}))[1:3], ', ')
    || case when count(*) > 3 then format(' and %s more', count(*) - 3) else '' end`;

// By what the catalogue says: to name a table takes a right to its schema. Policies fail a
// statement from whose session they would hide rows. What the owner of a table lacks is rare.
const LACKS = `
  with named as (
    select c.oid, c.relowner as owner, n.oid as namespace, format('%I.%I', n.nspname, c.relname) as name, rights
      from jsonb_to_recordset($1) t (schema text, "table" text, rights text[])
      join pg_namespace n on n.nspname = t.schema join pg_class c on c.relnamespace = n.oid and c.relname = t."table"
  ), tables as (
    select * from named where not ('own' = any (rights) and not pg_has_role(owner, 'usage'))
  ), privileges as (
    select name, array_to_string(array(
             select r from unnest(array_remove(rights, 'own')) r where not has_table_privilege(oid, r)), ', ') as missing
      from tables
  ), usages as (
    select distinct r as missing, format('%I', nspname) as name
      from tables join pg_namespace n on n.oid = namespace
      cross join unnest(case when 'trigger' = any (rights) then '{usage,create}' else '{usage}' end::text[]) r
     where not has_schema_privilege(n.oid, r)
  ), owned (name, owner) as (
    select format('the table %s', name), owner from named where 'own' = any (rights)
     union
    select format('the schema %I', nspname), nspowner from pg_namespace where nspname = any ($2)
     union
    select format('the function %I.%I', n.nspname, p.proname), p.proowner
      from pg_proc p join pg_namespace n on n.oid = p.pronamespace
     where p.proname = $3 and not pg_has_role(n.nspowner, 'usage')
  )
  select 'CREATE on the database' as right,
         format('grant create on database %I to %I', current_database(), current_user) as statement
   where $4 and not has_database_privilege(current_database(), 'create')
   union all
  select format('%s on the schema %s', upper(missing collate "C"), ${some(
    'name',
  )}),
         format('grant %s on schema %s to %I', missing, string_agg(name, ', '), current_user)
    from usages group by missing
   union all
  select format('%s on %s', upper(missing collate "C"), ${some('name')}),
         format('grant %s on %s to %I', missing, string_agg(name, ', '), current_user)
    from privileges where missing <> '' group by missing
   union all
  select format('BYPASSRLS, for the policies of %s', ${some(
    'name',
  )}), format('alter role %I bypassrls', current_user)
    from tables where row_security_active(oid) and rights <> '{own}' having count(*) > 0
   union all
  select format('the rights of %I, which owns %s', o.rolname, ${some(
    'd.name',
  )}),
         case when not o.rolsuper then format(
           case when current_setting('server_version_num')::int >= 160000 then 'grant %1$I to %2$I with inherit true'
                else 'grant %1$I to %2$I; alter role %2$I inherit' end, o.rolname, current_user) end
    from owned d join pg_roles o on o.oid = d.owner where not pg_has_role(d.owner, 'usage')
   group by o.rolname, o.rolsuper
   order by 1`;

/**
 * Refuses what the current role may not do, before anything is changed.
 *
 * @throws {@link RefusedError} with the rights that it lacks, and the statements that give them
 */
export async function refuseWithoutRights(
  executor: Pick<Executor, 'read'>,
  needed: Needed,
): Promise<void> {
  const lacking = await describeLacking(executor, needed);
  if (lacking.length > 0) {
    throw new RefusedError(lacking.join());
  }
}

/** The same in words; nothing where it lacks none. */
export async function describeLacking(
  { read }: Pick<Executor, 'read'>,
  { tables, schemas = [], functionName, creates = false }: Needed,
): Promise<string[]> {
  const lacks = await read<{
    right: string;
    statement: string | null;
  }>(LACKS, [JSON.stringify(tables), schemas, functionName ?? null, creates]);
  if (lacks.length === 0) {
    return [];
  }
  const [{ database, role }] = await read<{ database: string; role: string }>(
    'select current_database() as database, current_user as role',
  );
  return [
    `In the database "${database}" the login "${role}" lacks ${lacks
      .map(({ right }) => right)
      .join('; ')}. Connect as a superuser, or let one run there:${below(
      lacks.flatMap(({ statement }) => statement ?? []),
    )}`,
  ];
}
