import { RefusedError } from '../errors';
import type { StepContext } from '../engine/Step';
import { ADMIN_ROLE, APP_ROLE } from '../roles';
import { STARTING_ROLE } from '../session/ownerRole';
import { escapeIdentifier, escapeLiteral } from '../sql';
import { script } from '../text';

/** Since this version GRANT of a role has the options INHERIT and SET. */
const GRANT_OPTIONS_SINCE = 160000;

/** The state of one of the two roles; null for all but the first where there is none. */
interface RoleFacts {
  exists: boolean;
  canLogin: boolean;
  superuser: boolean;
  bypassesRls: boolean;
  inherits: boolean;
  /** The other roles that it is a member of. */
  memberOf: string[];
  /** The login may act as it (SET ROLE). */
  settable: boolean;
  /** The login has its privileges without acting as it. */
  inherited: boolean;
  /** The login may grant it. */
  grantable: boolean;
}

/** The state of the login, or of the role that it acts as, with its rights on the two roles. */
export interface RoleAccess {
  login: string;
  superuser: boolean;
  createsRoles: boolean;
  bypassesRls: boolean;
  grantOptions: boolean;
  admin: RoleFacts;
  app: RoleFacts;
  /** Whether `portal_admin` is granted to `portal_app`. */
  adminGranted: boolean;
}

export async function readRoleAccess({
  executor,
}: Pick<StepContext, 'executor'>): Promise<RoleAccess> {
  const [login] = await executor.read<{
    name: string;
    superuser: boolean;
    createsRoles: boolean;
    bypassesRls: boolean;
    version: number;
  }>(
    `select rolname as name, rolsuper as superuser, rolcreaterole as "createsRoles",
            rolbypassrls as "bypassesRls",
            current_setting('server_version_num')::int as version
       from pg_roles where rolname = ${STARTING_ROLE}`,
  );
  const grantOptions = login.version >= GRANT_OPTIONS_SINCE;
  const settable = grantOptions ? 'SET' : 'MEMBER';
  const facts = async (role: string): Promise<RoleFacts> => {
    const [row] = await executor.read<RoleFacts>(
      // Where Citus is loaded, "distribute" gives portal_admin LOGIN.
      `select r.oid is not null as exists,
              rolcanlogin and (rolname <> '${ADMIN_ROLE}' or
                current_setting('citus.shard_count', true) is null) as "canLogin", rolsuper as superuser,
              rolbypassrls as "bypassesRls", rolinherit as inherits,
              array(select g.rolname::text from pg_auth_members m join pg_roles g on g.oid = m.roleid
                     where m.member = r.oid and g.rolname <> '${ADMIN_ROLE}') as "memberOf",
              pg_has_role(${STARTING_ROLE}, r.oid, '${settable}') as settable,
              pg_has_role(${STARTING_ROLE}, r.oid, 'USAGE') as inherited,
              ${!grantOptions && login.createsRoles} or
                pg_has_role(${STARTING_ROLE}, r.oid, 'MEMBER WITH ADMIN OPTION') as grantable
         from (values ($1)) wanted (name) left join pg_roles r on r.rolname = wanted.name`,
      [role],
    );
    return row;
  };
  const [{ adminGranted }] = await executor.read<{ adminGranted: boolean }>(
    `select coalesce((select pg_has_role(app.oid, admin.oid, '${settable}')
       from pg_roles app, pg_roles admin
      where app.rolname = $1 and admin.rolname = $2), false) as "adminGranted"`,
    [APP_ROLE, ADMIN_ROLE],
  );
  return {
    login: login.name,
    superuser: login.superuser,
    createsRoles: login.superuser || login.createsRoles,
    bypassesRls: login.superuser || login.bypassesRls,
    grantOptions,
    admin: await facts(ADMIN_ROLE),
    app: await facts(APP_ROLE),
    adminGranted,
  };
}

/** What keeps the two roles from being set up. */
interface RoleObstacle {
  message: string;
  advice: string;
  statements: string[];
}

/**
 * Refuses the phase if the roles cannot be set up, with the statements that a superuser has to run.
 *
 * @param schemaExists - if not, the login creates it and can grant rights on it
 */
export async function checkRoleAccess(
  context: StepContext,
  schemaExists = true,
): Promise<void> {
  const obstacle = await findRoleObstacle(context, schemaExists);
  if (obstacle) {
    const { message, advice, statements } = obstacle;
    throw new RefusedError(`${message} ${advice}\n${script(statements)}`);
  }
}

/** Roles of these names that are not this product's, or rights that the login lacks. */
export async function findRoleObstacle(
  context: Pick<StepContext, 'executor' | 'settings'>,
  schemaExists: boolean,
): Promise<RoleObstacle | undefined> {
  const access = await readRoleAccess(context);
  const others = othersRoles(access);
  if (others) {
    return others;
  }
  const statements = await leftToSuperuserStatements(
    context,
    access,
    schemaExists,
  );
  return statements.length === 0
    ? undefined
    : {
        message: `The login ${access.login} may not set up the roles ${ADMIN_ROLE} and ${APP_ROLE}.`,
        advice: 'Let a superuser run this, and run the command again:',
        statements,
      };
}

/**
 * The statements that a superuser has to run, all of them if there is one that the login may not.
 * Those that grant can be repeated.
 *
 * @param schemaExists - if not, the login creates it and can grant rights on it
 */
async function leftToSuperuserStatements(
  context: Pick<StepContext, 'executor' | 'settings'>,
  access: RoleAccess,
  schemaExists: boolean,
): Promise<string[]> {
  const { schema, adminGrant } = context.settings;
  const { admin, app } = access;
  const name = escapeIdentifier(schema);
  const hidden = await findHiddenExtension(context);
  const isAnythingLeft =
    areRolesLeft(access, adminGrant) ||
    (hidden && !hidden.grantable) ||
    (schemaExists && (await isSchemaLeft(context)));
  if (!isAnythingLeft) {
    return [];
  }
  return [
    ...(admin.exists ? [] : [`create role ${ADMIN_ROLE} nologin bypassrls`]),
    ...(app.exists ? [] : [`create role ${APP_ROLE} login noinherit`]),
    grantAdminToLogin(access),
    grantAppToLogin(access),
    ...(adminGrant ? [grantAdminToApp(access)] : []),
    ...(schemaExists
      ? [
          `grant usage on schema ${name} to ${APP_ROLE}`,
          `grant usage, create on schema ${name} to ${ADMIN_ROLE}`,
        ]
      : []),
    ...(hidden ? [usageStatement(hidden)] : []),
  ];
}

function areRolesLeft(access: RoleAccess, adminGrant: boolean): boolean {
  const { superuser, createsRoles, admin, app, adminGranted } = access;
  const mayGrant = ({ exists, grantable }: RoleFacts) =>
    exists ? grantable : createsRoles;
  return (
    !superuser &&
    ((!(admin.exists && app.exists) && !createsRoles) ||
      !(admin.settable || mayGrant(admin)) ||
      !(app.settable || mayGrant(app)) ||
      (adminGrant && !adminGranted && !mayGrant(admin)))
  );
}

/** Whether the roles lack rights on the schema that the login may not grant. */
async function isSchemaLeft({
  executor,
  settings,
}: Pick<StepContext, 'executor' | 'settings'>): Promise<boolean> {
  const [{ left }] = await executor.read<{ left: boolean }>(
    `select exists (
       select from (values ('${APP_ROLE}', 'usage'), ('${ADMIN_ROLE}', 'usage'), ('${ADMIN_ROLE}', 'create'))
                     wanted (role, privilege)
         left join pg_roles r on r.rolname = role
        where not coalesce(has_schema_privilege(r.oid, $1, privilege), false)
          and not has_schema_privilege(${STARTING_ROLE}, $1, privilege || ' with grant option')) as left`,
    [settings.schema],
  );
  return left;
}

/**
 * The schema of `pg_trgm`, if `portal_admin` may not look up there what it creates indexes with,
 * and whether the login may let it. A superuser does not act as that role.
 */
export async function findHiddenExtension({
  executor,
  settings,
}: Pick<StepContext, 'executor' | 'settings'>): Promise<
  { schema: string; grantable: boolean } | undefined
> {
  const [found] = await executor.read<{ schema: string; grantable: boolean }>(
    `select n.nspname as schema,
            has_schema_privilege(${STARTING_ROLE}, n.oid, 'usage with grant option') as grantable
       from pg_extension e join pg_namespace n on n.oid = e.extnamespace
       left join pg_roles r on r.rolname = '${ADMIN_ROLE}'
      where e.extname = 'pg_trgm' and n.nspname <> $1
        and not (select rolsuper from pg_roles where rolname = ${STARTING_ROLE})
        and not has_schema_privilege(coalesce(r.rolname, 'public'), n.oid, 'usage')`,
    [settings.schema],
  );
  return found;
}

/** @throws {@link RefusedError} where the extension was hidden after phase 4 */
export async function refuseHiddenExtension(
  context: StepContext,
): Promise<void> {
  const hidden = await findHiddenExtension(context);
  if (hidden) {
    throw new RefusedError(
      `${ADMIN_ROLE} may not use the schema of pg_trgm, which an index needs. Let its owner run this, and run the command again:\n${script(
        [usageStatement(hidden)],
      )}`,
    );
  }
}

function usageStatement({ schema }: { schema: string }): string {
  return `grant usage on schema ${escapeIdentifier(schema)} to ${ADMIN_ROLE}`;
}

/**
 * Whether the login may create a role with BYPASSRLS: a superuser, and since PostgreSQL 16 a
 * login with CREATEROLE that has the attribute itself. Managed services rarely give it. Without
 * it, policies let `portal_admin` pass (`adminPolicyStatement`).
 */
export function mayGiveBypassRls({
  superuser,
  createsRoles,
  bypassesRls,
  grantOptions,
}: RoleAccess): boolean {
  return superuser || (grantOptions && createsRoles && bypassesRls);
}

/**
 * How roles of these names differ from those that this product creates. One without BYPASSRLS
 * passes by a policy.
 */
function othersRoles({
  admin,
  app,
}: Pick<RoleAccess, 'admin' | 'app'>): RoleObstacle | undefined {
  const wrong = [
    [ADMIN_ROLE, admin.canLogin, 'may log in', 'nologin'],
    [ADMIN_ROLE, admin.superuser, 'is a superuser', 'nosuperuser'],
    [APP_ROLE, app.exists && !app.canLogin, 'may not log in', 'login'],
    [APP_ROLE, app.superuser, 'is a superuser', 'nosuperuser'],
    [APP_ROLE, app.bypassesRls, 'bypasses row-level security', 'nobypassrls'],
    [APP_ROLE, app.inherits, 'inherits from its roles', 'noinherit'],
  ].filter(([, isWrong]) => isWrong);
  const members = [
    ...admin.memberOf.map(role => [ADMIN_ROLE, role]),
    ...app.memberOf.map(role => [APP_ROLE, role]),
  ];
  if (wrong.length + members.length === 0) {
    return undefined;
  }
  const what = [
    ...wrong.map(([role, , text]) => `${role} ${text}`),
    ...members.map(([role, group]) => `${role} is a member of ${group}`),
  ];
  const statements = [
    ...wrong.map(([role, , , attribute]) => `alter role ${role} ${attribute}`),
    ...members.map(
      ([role, group]) => `revoke ${escapeIdentifier(group)} from ${role}`,
    ),
  ];
  return {
    message: `${what.join(
      ', ',
    )}: the roles ${ADMIN_ROLE} and ${APP_ROLE} are not as this product creates them.`,
    advice: 'Rename them, or run this if they are meant for this product:',
    statements,
  };
}

/**
 * Grants `portal_admin` to the login, with INHERIT: the login owned the tables, and needs
 * the owner's rights to hand them back on an undo.
 */
export function grantAdminToLogin(access: RoleAccess): string {
  return grantRole(access, ADMIN_ROLE, access.login, access.login !== APP_ROLE);
}

/** Grants `portal_admin` to the application, by SET ROLE only. */
export function grantAdminToApp(access: RoleAccess): string {
  return grantRole(access, ADMIN_ROLE, APP_ROLE);
}

/** Grants `portal_app` to the login, which tries out its rights. */
export function grantAppToLogin(access: RoleAccess): string {
  return grantRole(access, APP_ROLE, access.login);
}

// Before PostgreSQL 16, INHERIT is an attribute of the member alone.
function grantRole(
  { grantOptions }: RoleAccess,
  role: string,
  member: string,
  inherit = false,
): string {
  const options = grantOptions ? ` with inherit ${inherit}, set true` : '';
  return `grant ${role} to ${escapeIdentifier(member)}${options}`;
}

/**
 * A statement about roles, run unless a condition holds already.
 *
 * Roles belong to the server, and another migration may set them up for another database
 * at the same moment: PostgreSQL then raises "tuple concurrently updated" or
 * duplicate_object, and this evaluates the condition again.
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
