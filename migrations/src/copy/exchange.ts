import { escapeLiteral } from '../sql';
import type { TenantTable } from '../schema/tables';

/** The names of a table's two sides. */
export interface Sides {
  table: TenantTable;
  /** The side that takes the production name. */
  incoming: string;
  /** The name that the side in use gets. */
  outgoing: string;
}

// TRUNCATE is left out: row-level security does not restrict it, so on a table of many
// tenants it would delete all of them.
const GRANTS = `
  for item in
    select side.incoming, a.grantee
      from /* sides */ join pg_class c on c.oid = side.incoming,
           aclexplode(c.relacl) a
     where a.grantee <> c.relowner and a.privilege_type <> 'TRUNCATE'
     group by side.incoming, a.grantee
  loop
    commands := commands || format(
      'revoke select, insert, update, delete, references, trigger on %s from %s cascade',
      item.incoming, case item.grantee when 0 then 'public' else item.grantee::regrole::text end);
  end loop;
  for item in
    select incoming, grantee, is_grantable, string_agg(privilege, ', ') as privileges
      from (select side.incoming, a.grantee, a.is_grantable, a.privilege_type as privilege
              from /* sides */ join pg_class c on c.oid = side.live, aclexplode(c.relacl) a
             where a.grantee <> c.relowner and a.privilege_type <> 'TRUNCATE'
             union all
            select side.incoming, a.grantee, a.is_grantable,
                   format('%s (%I)', a.privilege_type, t.attname)
              from /* sides */ join pg_attribute t on t.attrelid = side.live,
                   aclexplode(t.attacl) a
             where not t.attisdropped) granted
     group by incoming, grantee, is_grantable
  loop
    commands := commands || format('grant %s on %s to %s%s', item.privileges, item.incoming,
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

// The rights to the tables in use, and to their columns.
const LIVE_GRANTS = `
  select string_agg(concat_ws(' ', r.oid, r.relacl, a.attnum, a.attacl), ',' order by r.oid, a.attnum)
    from /* sides */ join pg_class r on r.oid = side.live
    left join pg_attribute a on a.attrelid = r.oid and a.attacl is not null`;

const CARRIED = 'tenancy.carried_grants';

/**
 * The statement that carries the grants of the tables in use over to the side that comes into
 * use. It changes nothing of the tables in use, for whose rights a GRANT of others would wait.
 */
export function carryGrants(sides: Sides[]): string {
  return commands(
    sides,
    `perform set_config('${CARRIED}', (${LIVE_GRANTS}), true);
${GRANTS}`,
  );
}

/** Fails with lock_not_available, so that the attempt is repeated, if there is another grant since. */
export function refuseLaterGrants(sides: Sides[]): string {
  return withSides(
    sides,
    `do $$ begin
  if current_setting('${CARRIED}') <> (${LIVE_GRANTS}) then
    raise exception 'The grants of the tables were changed a moment ago' using errcode = 'lock_not_available';
  end if;
end $$`,
  );
}

/**
 * The statement that renames both sides of the tables. Only the owner may write to the side that
 * goes out of use.
 */
export function exchange(sides: Sides[]): string {
  return commands(sides, `${WRITERS}${sides.map(rename).join('\n')}`);
}

/** Runs the commands that a part collects. */
function commands(sides: Sides[], part: string): string {
  return withSides(
    sides,
    `do $$
declare
  commands text[] := '{}';
  command text;
  item record;
begin
${part}
  foreach command in array commands loop execute command; end loop;
end $$`,
  );
}

function withSides(sides: Sides[], sql: string): string {
  const rows = sides.map(
    ({ table, incoming, outgoing }) =>
      `(${escapeLiteral(table)}::regclass, ${escapeLiteral(
        incoming,
      )}::regclass, ${escapeLiteral(outgoing)})`,
  );
  return sql
    .split('/* sides */')
    .join(`(values ${rows.join(', ')}) side (live, incoming, outgoing)`);
}

function rename({ table, incoming, outgoing }: Sides): string {
  return `  alter table ${table} rename to ${outgoing};
  alter table ${incoming} rename to ${table};`;
}
