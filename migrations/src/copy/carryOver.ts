import { escapeLiteral } from '../sql';
import { ENTITY_DEFAULTS } from '../schema/tables';
import type { TenantTable } from '../schema/tables';
import { LOG_TRIGGER } from './changeLog';

/** The names of a table's two sides. */
export interface Sides {
  table: TenantTable;
  /** The side that takes the production name. */
  incoming: string;
  /** The name that the side in use gets. */
  outgoing: string;
}

/** A name that stands for the moment in which two sequences exchange theirs. */
export const SWAPPED_SEQUENCE = 'tenancy_swapped_sequence';

const TRIGGERS = `
  for item in
    select side.name, t.tgname, t.tgenabled, pg_get_triggerdef(t.oid) as definition,
           exists (select from pg_trigger o
                    where o.tgrelid = side.incoming and o.tgname = t.tgname) as present,
           obj_description(t.oid, 'pg_trigger') as comment
      from /* sides */ join pg_trigger t on t.tgrelid = side.live
     where not t.tgisinternal and t.tgname not like '${LOG_TRIGGER}%'
  loop
    -- A trigger of an earlier swap may have been redefined since.
    if item.present then
      commands := commands || format('drop trigger %I on %I', item.tgname, item.name);
    end if;
    commands := commands || item.definition;
    commands := commands || format('alter table %I %s trigger %I', item.name,
      case item.tgenabled when 'D' then 'disable' when 'R' then 'enable replica'
                          when 'A' then 'enable always' else 'enable' end,
      item.tgname);
    if item.comment is not null then
      commands := commands || format('comment on trigger %I on %I is %L',
        item.tgname, item.name, item.comment);
    end if;
  end loop;
`;

// Except those of ENTITY_DEFAULTS, which the specification gives to one side only.
const DEFAULTS = `
  for item in
    select side.name, t.attname, pg_get_expr(d.adbin, d.adrelid) as expression
      from /* sides */
      join pg_attribute t on t.attrelid = side.live and t.attnum > 0
                         and not t.attisdropped and t.attgenerated = ''
      join pg_attribute i on i.attrelid = side.incoming and i.attname = t.attname
      left join pg_attrdef d on d.adrelid = t.attrelid and d.adnum = t.attnum
      left join pg_attrdef e on e.adrelid = i.attrelid and e.adnum = i.attnum
     where pg_get_expr(d.adbin, d.adrelid) is distinct from pg_get_expr(e.adbin, e.adrelid)
       and not (side.name = 'entities' and t.attname in (${Object.keys(
         ENTITY_DEFAULTS,
       )
         .map(escapeLiteral)
         .join(', ')}))
  loop
    commands := commands || format('alter table %I alter column %I %s', item.name, item.attname,
      coalesce('set default ' || item.expression, 'drop default'));
  end loop;
`;

// TRUNCATE is not carried over: row-level security does not restrict it, so on a table of
// many tenants it would delete all of them.
const GRANTS = `
  for item in
    select side.name, a.grantee
      from /* sides */ join pg_class c on c.oid = side.incoming,
           aclexplode(c.relacl) a
     where a.grantee <> c.relowner and a.privilege_type <> 'TRUNCATE'
     group by side.name, a.grantee
  loop
    commands := commands || format(
      'revoke select, insert, update, delete, references, trigger on %I from %s cascade',
      item.name, case item.grantee when 0 then 'public' else item.grantee::regrole::text end);
  end loop;
  for item in
    select side.name, a.grantee, a.is_grantable, a.privilege_type, '' as of_column
      from /* sides */ join pg_class c on c.oid = side.live, aclexplode(c.relacl) a
     where a.grantee <> c.relowner and a.privilege_type <> 'TRUNCATE'
     union all
    select side.name, a.grantee, a.is_grantable, a.privilege_type,
           format('(%I)', t.attname)
      from /* sides */ join pg_attribute t on t.attrelid = side.live,
           aclexplode(t.attacl) a
     where not t.attisdropped
  loop
    commands := commands || format('grant %s %s on %I to %s%s', item.privilege_type,
      item.of_column, item.name,
      case item.grantee when 0 then 'public' else item.grantee::regrole::text end,
      case when item.is_grantable then ' with grant option' else '' end);
  end loop;
`;

// Only the replay may write to the side that goes out of use: other writes there would be
// lost, or reappear with it. Once that side is in use again, it gets the grants of the
// other side, these among them. CASCADE also revokes what a grantee has granted.
const WRITERS = `
  for item in
    select side.outgoing, a.grantee
      from /* sides */ join pg_class c on c.oid = side.live,
           lateral (select grantee, privilege_type from aclexplode(c.relacl)
                     union all
                    select a.grantee, a.privilege_type
                      from pg_attribute t, aclexplode(t.attacl) a
                     where t.attrelid = c.oid and not t.attisdropped) a
     where a.grantee <> c.relowner
       and a.privilege_type in ('INSERT', 'UPDATE', 'DELETE')
     group by side.outgoing, a.grantee
  loop
    commands := commands || format('revoke insert, update, delete on %I from %s cascade',
      item.outgoing, case item.grantee when 0 then 'public' else item.grantee::regrole::text end);
  end loop;
`;

// Restrictive ones only: permissive ones would add rows, and phase 4 refuses them.
const POLICIES = `
  for item in
    select side.name, p.polname from /* sides */
      join pg_policy p on p.polrelid = side.incoming
     where not p.polpermissive and not starts_with(p.polname, 'tenancy_')
  loop
    commands := commands || format('drop policy %I on %I', item.polname, item.name);
  end loop;
  for item in
    select side.name, p.polname,
           case p.polcmd when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update'
                         when 'd' then 'delete' else 'all' end as command,
           (select string_agg(case r when 0 then 'public' else r::regrole::text end, ', ')
              from unnest(p.polroles) r) as roles,
           coalesce(' using (' || pg_get_expr(p.polqual, p.polrelid) || ')', '')
             || coalesce(' with check (' || pg_get_expr(p.polwithcheck, p.polrelid) || ')', '')
             as conditions,
           obj_description(p.oid, 'pg_policy') as comment
      from /* sides */ join pg_policy p on p.polrelid = side.live
     where not p.polpermissive and not starts_with(p.polname, 'tenancy_')
  loop
    commands := commands || format('create policy %I on %I as restrictive for %s to %s%s',
      item.polname, item.name, item.command, item.roles, item.conditions);
    if item.comment is not null then
      commands := commands || format('comment on policy %I on %I is %L',
        item.polname, item.name, item.comment);
    end if;
  end loop;
`;

const COMMENTS = `
  for item in
    select side.name, obj_description(side.live, 'pg_class') as text from /* sides */
  loop
    commands := commands || format('comment on table %I is %L', item.name, item.text);
  end loop;
  for item in
    select side.name, t.attname, col_description(side.live, t.attnum) as text
      from /* sides */
      join pg_attribute t on t.attrelid = side.live and t.attnum > 0 and not t.attisdropped
      join pg_attribute i on i.attrelid = side.incoming and i.attname = t.attname
     where col_description(side.live, t.attnum)
             is distinct from col_description(side.incoming, i.attnum)
  loop
    commands := commands || format('comment on column %I.%I is %L',
      item.name, item.attname, item.text);
  end loop;
`;

// A serial column takes its sequence along. An identity column has a sequence on each
// side; these swap names, because an application may call nextval by name.
const SEQUENCES = `
  for item in
    select side.name, d.deptype, t.attname, d.objid::regclass as sequence, c.relname, c.relacl,
           pg_get_serial_sequence(side.incoming::text, t.attname)::regclass as other
      from /* sides */ join pg_depend d
        on d.refclassid = 'pg_class'::regclass and d.refobjid = side.live
       and d.classid = 'pg_class'::regclass and d.deptype in ('a', 'i')
      join pg_class c on c.oid = d.objid and c.relkind = 'S'
      join pg_attribute t on t.attrelid = side.live and t.attnum = d.refobjsubid
  loop
    if item.deptype = 'a' then
      commands := commands || format('alter sequence %s owned by %I.%I',
        item.sequence, item.name, item.attname);
    else
      commands := commands || array[
        format('select setval(%L, last_value, is_called) from %s', item.other, item.sequence),
        format('alter sequence %s rename to ${SWAPPED_SEQUENCE}', item.sequence),
        format('alter sequence %s rename to %I', item.other, item.relname),
        format('alter sequence ${SWAPPED_SEQUENCE} rename to %I',
          (select relname from pg_class where oid = item.other))];
      commands := commands || array(
        select format('grant %s on sequence %I to %s', a.privilege_type, item.relname,
                 case a.grantee when 0 then 'public' else a.grantee::regrole::text end)
          from aclexplode(item.relacl) a);
    end if;
  end loop;
`;

const VIEWS = `
  for item in
    select v.oid::regclass as name, pg_get_viewdef(v.oid) as definition,
           array_to_string(v.reloptions, ', ') as options
      from pg_class v
     where v.relkind = 'v' and exists (
       select from pg_rewrite r join pg_depend d
           on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid
         join /* sides */ on d.refobjid = side.live
        where r.ev_class = v.oid and d.refclassid = 'pg_class'::regclass)
  loop
    views := views || format('create or replace view %s%s as %s', item.name,
      case when item.options is null then '' else format(' with (%s)', item.options) end,
      item.definition);
  end loop;
`;

/**
 * The statement that renames both sides of the tables and moves the objects that PostgreSQL
 * attaches to a table rather than to its name: triggers, defaults, views, grants,
 * restrictive policies, comments and the sequences of its columns. It reads them when it
 * runs, so it includes a trigger created a moment ago.
 *
 * It disables the triggers of the side that goes out of use: for the rows replayed into
 * that side they have already fired on the other. Only its owner may write to it.
 */
export function carryOver(sides: Sides[]): string {
  return `do $$
declare
  commands text[] := '{}';
  views text[] := '{}';
  command text;
  item record;
  acting text := current_setting('role');
begin
${[TRIGGERS, DEFAULTS, GRANTS, WRITERS, POLICIES, COMMENTS, SEQUENCES, VIEWS]
  .map(part => part.split('/* sides */').join(pairs(sides)))
  .join('')}
${sides.map(rename).join('\n')}
  foreach command in array commands loop execute command; end loop;
${sides
  .map(({ outgoing }) => `  alter table ${outgoing} disable trigger user;`)
  .join('\n')}
  -- A view keeps its owner, who may not be the owner of the tables.
  perform set_config('role', 'none', true);
  foreach command in array views loop execute command; end loop;
  perform set_config('role', acting, true);
end $$`;
}

function pairs(sides: Sides[]): string {
  const rows = sides.map(
    ({ table, incoming, outgoing }) =>
      `(${escapeLiteral(table)}::regclass, ${escapeLiteral(
        table,
      )}, ${escapeLiteral(incoming)}::regclass, ${escapeLiteral(outgoing)})`,
  );
  return `(values ${rows.join(', ')}) side (live, name, incoming, outgoing)`;
}

function rename({ table, incoming, outgoing }: Sides): string {
  return `  alter table ${table} rename to ${outgoing};
  alter table ${incoming} rename to ${table};`;
}
