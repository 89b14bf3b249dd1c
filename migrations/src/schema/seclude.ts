import { escapeIdentifier, escapeLiteral } from '../sql';
import { ownerStatement } from '../roles';

/**
 * The statements that let nobody near a partition but through its parent.
 *
 * The policies of the parent do not hold for a query that names the partition. So
 * nobody has a right to it, not even by default privileges, and row-level security
 * without a policy shows nothing to whoever gets one.
 */
export function secludeStatements(partition: string): string[] {
  const name = escapeIdentifier(partition);
  return [
    ownerStatement(partition),
    `alter table ${name} enable row level security`,
    `alter table ${name} force row level security`,
    revokeAllStatement(partition),
  ];
}

/** The statement that takes a table from all that default privileges gave it to. */
export function revokeAllStatement(table: string): string {
  const name = escapeIdentifier(table);
  return `do $$
declare role text;
begin
  for role in
    select distinct case a.grantee when 0 then 'public' else a.grantee::regrole::text end
      from pg_class c, aclexplode(c.relacl) a
     where c.oid = to_regclass(${escapeLiteral(
       name,
     )}) and a.grantee <> c.relowner
  loop
    execute format('revoke all on ${name.replace(/'/g, "''")} from %s', role);
  end loop;
end $$`;
}

/** The same for a function, which everybody may call unless that is taken away. */
export function revokeAllOnFunctionStatement(signature: string): string {
  return `do $$
declare role text;
begin
  for role in
    select distinct case a.grantee when 0 then 'public' else a.grantee::regrole::text end
      from pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
     where p.oid = to_regprocedure(${escapeLiteral(
       signature,
     )}) and a.grantee <> p.proowner
  loop
    execute format('revoke all on function ${signature} from %s', role);
  end loop;
end $$`;
}
