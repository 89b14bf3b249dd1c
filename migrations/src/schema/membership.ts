import type { Executor } from '../engine/Executor';
import { escapeIdentifier } from '../sql';

/**
 * The statements after which the login has the rights of a role without SET ROLE, for somebody
 * who may run them. A membership is not enough for a login with NOINHERIT, or one that was
 * granted the role with INHERIT FALSE.
 */
export async function inheritStatements(
  executor: Executor,
  role: string,
): Promise<string[]> {
  const [{ login, inherits, member, grantOptions }] = await executor.read<{
    login: string;
    inherits: boolean;
    member: boolean;
    grantOptions: boolean;
  }>(
    `select l.rolname as login, l.rolinherit as inherits,
            pg_has_role(l.oid, r.oid, 'MEMBER') as member,
            current_setting('server_version_num')::int >= 160000 as "grantOptions"
       from pg_roles l, pg_roles r
      where l.rolname = session_user and r.rolname = $1`,
    [role],
  );
  const name = escapeIdentifier(login);
  const grant = `grant ${escapeIdentifier(role)} to ${name}`;
  // Since PostgreSQL 16 each membership has the option; before, the login has the attribute.
  if (grantOptions) {
    return [inherits && !member ? grant : `${grant} with inherit true`];
  }
  return [
    ...(member ? [] : [grant]),
    ...(inherits ? [] : [`alter role ${name} inherit`]),
  ];
}
