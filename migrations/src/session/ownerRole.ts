import { RefusedError } from '../errors';
import { ADMIN_ROLE } from '../roles';
import { escapeIdentifier } from '../sql';

const adminRowSecurity = (isLocal: boolean) =>
  `select set_config('row_security', case when rolbypassrls then 'off' else 'on' end, ${isLocal}) as "rowSecurity"
  from pg_roles where rolname = '${ADMIN_ROLE}'`;

/**
 * The statements that make a session act as the owner of the tables.
 *
 * With `row_security = off` a query fails that a policy would filter. A role without
 * BYPASSRLS can't have that, not even under a policy that admits every row: so the session
 * then proves before its statements that it sees all rows.
 */
export const SET_OWNER_ROLE = `set role ${ADMIN_ROLE};
${adminRowSecurity(false)}`;

/** The same for the rest of a transaction, without the proof. */
export const SET_LOCAL_OWNER_ROLE = [
  `set local role ${ADMIN_ROLE}`,
  adminRowSecurity(true),
];

/**
 * Keeps the role as which the session begins, in {@link STARTING_ROLE}: the one that the
 * configuration or the login sets, or else the login. The rights of the login itself mean nothing
 * while it acts as a role.
 */
export const KEEP_STARTING_ROLE = `select pg_catalog.set_config('tenancy.starting_role', current_user, false)`;

/** The role as which the session began, as SQL. */
export const STARTING_ROLE = `current_setting('tenancy.starting_role')`;

/** Has the rest of a transaction act as {@link STARTING_ROLE}. */
export const SET_LOCAL_STARTING_ROLE = `select set_config('role', ${STARTING_ROLE}, true)`;

/** The statements that make a session act as its login again. */
export const RESET_OWNER_ROLE = `reset role;
set row_security = off`;

interface Session {
  query<Row>(text: string, values?: unknown[]): Promise<Row[]>;
}

/**
 * Lets the session act as `portal_admin` if that owns the tables, as from phase 4 on. A
 * superuser needs no role.
 *
 * @returns whether the session acts as `portal_admin`
 * @throws {@link RefusedError} if the login may not
 */
export async function actAsOwner(
  session: Session,
  schema: string,
): Promise<boolean> {
  const [facts] = await session.query<{ login: string; settable: boolean }>(
    `select l.rolname as login,
            pg_has_role(l.oid, o.oid,
              case when current_setting('server_version_num')::int >= 160000
                   then 'SET' else 'MEMBER' end) as settable
       from pg_class c
       join pg_namespace n on n.oid = c.relnamespace
       join pg_roles o on o.oid = c.relowner
       join pg_roles l on l.rolname = session_user
      where n.nspname = $1 and c.relname = 'entities'
        and o.rolname = '${ADMIN_ROLE}' and not l.rolsuper`,
    [schema],
  );
  if (!facts) {
    return false;
  }
  if (!facts.settable) {
    throw new RefusedError(
      `The tables belong to ${ADMIN_ROLE}, and the login ${facts.login} may not act ` +
        `as it. Let a superuser run "grant ${ADMIN_ROLE} to ` +
        `${escapeIdentifier(facts.login)}", or connect as another login.`,
    );
  }
  await session.query(SET_OWNER_ROLE);
  return true;
}
