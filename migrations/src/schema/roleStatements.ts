import { escapeLiteral } from '../sql';

/**
 * A statement about roles, run unless the condition says that there is no need.
 *
 * Roles belong to the server, and somebody may set them up for another database
 * of it at the same moment: PostgreSQL then fails with "tuple concurrently
 * updated" or finds the role in place, and the condition is asked again.
 */
export function roleStatement(needed: string, statement: string): string {
  return `do $$ begin
  for attempt in 1 .. 20 loop
    begin
      if ${needed} then
        ${statement};
      end if;
      exit;
    exception when duplicate_object or unique_violation or internal_error then
      if attempt = 20 then
        raise;
      end if;
      perform pg_sleep(0.1);
    end;
  end loop;
end $$`;
}

export function createRoleStatement(role: string, attributes: string): string {
  return roleStatement(
    `not exists (select from pg_roles where rolname = ${escapeLiteral(role)})`,
    `create role ${role} ${attributes}`,
  );
}
