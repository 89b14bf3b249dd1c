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
    select name, grantee, is_grantable, string_agg(privilege, ', ') as privileges
      from (select side.name, a.grantee, a.is_grantable, a.privilege_type as privilege
              from /* sides */ join pg_class c on c.oid = side.live, aclexplode(c.relacl) a
             where a.grantee <> c.relowner and a.privilege_type <> 'TRUNCATE'
             union all
            select side.name, a.grantee, a.is_grantable,
                   format('%s (%I)', a.privilege_type, t.attname)
              from /* sides */ join pg_attribute t on t.attrelid = side.live,
                   aclexplode(t.attacl) a
             where not t.attisdropped) granted
     group by name, grantee, is_grantable
  loop
    commands := commands || format('grant %s on %I to %s%s', item.privileges, item.name,
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

/**
 * The statement that renames both sides of the tables, and carries the grants over. It reads
 * these when it runs, so it includes one of a moment ago. Only the owner may write to the side
 * that goes out of use.
 */
export function exchange(sides: Sides[]): string {
  return `do $$
declare
  commands text[] := '{}';
  command text;
  item record;
begin
${[GRANTS, WRITERS]
  .map(part => part.split('/* sides */').join(pairs(sides)))
  .join('')}
${sides.map(rename).join('\n')}
  foreach command in array commands loop execute command; end loop;
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
