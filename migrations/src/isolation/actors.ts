import { ADMIN_ROLE, APP_ROLE } from '../roles';
import { escapeIdentifier } from '../sql';
import { enumerate } from '../text';
import { distinct, revoke, run } from './Finding';
import type { Grantee, IsolationFinding, QueryRows } from './Finding';

/** Since this version CREATEROLE alone does not allow a role to grant others to itself. */
const ADMIN_OPTION_SINCE = 160000;

/** The first object identifier after those of PostgreSQL itself. */
export const FIRST_NORMAL_OID = 16384;

/** Predefined roles with access to all data, in tables or in files. */
const PREDEFINED: Record<string, string> = {
  pg_read_all_data: 'may read all data',
  pg_write_all_data: 'may write all data',
  pg_read_server_files: 'may read the files of the server',
  pg_write_server_files: 'may write the files of the server',
  pg_execute_server_program: 'may run programs on the server',
};

/** A role with its attributes. */
export interface Role {
  oid: number;
  name: string;
  superuser: boolean;
  bypassesRls: boolean;
  createsRoles: boolean;
  replicates: boolean;
  /**
   * It inherits `portal_admin`, and so needs no SET ROLE for its rights; or is that role, and
   * has no BYPASSRLS.
   */
  inheritsAdmin: boolean;
  /** The predefined roles that it inherits. */
  predefined: string[];
}

/** A SECURITY DEFINER function that belongs neither to PostgreSQL nor to an extension. */
interface DefinerFunction {
  oid: number;
  /** As SQL, with its schema and arguments. */
  name: string;
  owner: number;
  /** The roles with EXECUTE on it. */
  grantees: Grantee[];
}

/** A role with whose rights statements of the database user may run. */
export interface Actor {
  role: Role;
  /** The roles granted to the user by which it may act as this one. */
  through: string[];
  /** The functions of this role that the user may call. */
  functions: DefinerFunction[];
  /** The user inherits its rights. */
  isInherited: boolean;
}

/** The database user, and the roles with whose rights it can run statements. */
export interface Actors {
  user: Role;
  /** The user itself first. */
  all: Actor[];
  /** `server_version_num` */
  version: number;
}

/** The database user alone, if there is such a role. */
export async function readUser(
  read: QueryRows,
  name: string,
): Promise<Actors | undefined> {
  const [user] = await readRoles(read, 'r.rolname = $1', name);
  if (!user) {
    return undefined;
  }
  const [{ version }] = await read<{ version: number }>(
    `select current_setting('server_version_num')::int as version`,
    [],
  );
  return {
    user,
    all: [{ role: user, through: [], functions: [], isInherited: false }],
    version,
  };
}

/**
 * Finds all roles with whose rights statements of the user may run: those that it can SET
 * ROLE to, and the owners of the SECURITY DEFINER functions that it may call. PostgreSQL's
 * catalogs do not tell what such a function does, so all rights of its owner count.
 *
 * `portal_admin`, and the roles reachable through it, do not count: the migration grants
 * it, and the application audits each use.
 *
 * @param options - with `schema`, that of the tables
 */
export async function readActors(
  read: QueryRows,
  { user, all: [self], version }: Actors,
  { schema }: { schema: string },
): Promise<Actors> {
  const all = [self, ...(await readMemberships(read, user))];
  // The owner of a function may call other functions.
  let callers = all;
  while (callers.length > 0) {
    const functions = await readFunctions(read, callers, schema);
    const owners = await readRoles(
      read,
      'r.oid = any ($1::oid[])',
      distinct(functions.map(({ owner }) => owner)),
    );
    callers = [];
    for (const role of owners) {
      const own = functions.filter(({ owner }) => owner === role.oid);
      const known = all.find(actor => actor.role.oid === role.oid);
      if (!known) {
        const actor = {
          role,
          through: [],
          functions: own,
          isInherited: false,
        };
        all.push(actor);
        callers.push(actor);
      } else if (known.functions.length > 0) {
        known.functions.push(...own);
      }
    }
  }
  return { user, all, version };
}

function getsAtAll({ role }: Actor): boolean {
  return (
    role.superuser ||
    role.bypassesRls ||
    role.inheritsAdmin ||
    role.predefined.length > 0
  );
}

/**
 * The actors whose rights on single objects are examined: without those that have access to
 * all objects anyway, and those whose rights the user inherits.
 */
export function lookersOf({ all }: Actors): Actor[] {
  return all.filter(actor => !getsAtAll(actor) && !actor.isInherited);
}

/** Findings about attributes and memberships of the roles, not about objects. */
export function findingsOfRoles(actors: Actors): IsolationFinding[] {
  return actors.all.flatMap(actor => {
    const wrong = faultsOf(actor, actors);
    if (wrong.length === 0 || actor.functions.length === 0) {
      return wrong.map(({ what, statement }) =>
        findingOf(actors, actor, what, run(statement)),
      );
    }
    const { name } = actor.role;
    const what = wrong.map(each => each.what).join(', ');
    return actor.functions.map(each => ({
      problem:
        `The database user '${actors.user.name}' may call ${each.name}, a SECURITY ` +
        `DEFINER function that runs as ${name}, which ${what}`,
      remedy:
        `${run(revokeExecute(each))}, or give it to an owner whom row-level ` +
        'security binds',
    }));
  });
}

/** A finding about an actor. The remedy changes the user, or revokes its way to the actor. */
export function findingOf(
  { user }: Actors,
  actor: Actor,
  what: string,
  remedyOfUser: string,
): IsolationFinding {
  const { role, through, functions } = actor;
  const name = escapeIdentifier(user.name);
  if (role.oid === user.oid) {
    const alternative =
      user.name === APP_ROLE
        ? ''
        : `let the backend connect as ${APP_ROLE} (tenancy.database.connection.user ` +
          'and .password), or ';
    return {
      problem: `The database user '${user.name}' ${what}`,
      remedy: `${alternative}${remedyOfUser}`,
      ofUser: what,
    };
  }
  const [by, statements] =
    functions.length > 0
      ? [
          `as which the SECURITY DEFINER function ${enumerate(
            functions.map(each => each.name),
          )} runs, which the database user '${user.name}' may call,`,
          functions.map(revokeExecute),
        ]
      : [
          `which the database user '${user.name}' may act as,`,
          through.map(each => `revoke ${escapeIdentifier(each)} from ${name}`),
        ];
  return {
    problem: `The role ${role.name}, ${by} ${what}`,
    remedy: run(...statements),
  };
}

function revokeExecute({ name, grantees }: DefinerFunction): string {
  return revoke('execute', `routine ${name}`, grantees);
}

function faultsOf(
  { role }: Actor,
  { all, user, version }: Actors,
): { what: string; statement: string }[] {
  const name = escapeIdentifier(role.name);
  if (role.superuser) {
    // A superuser has all rights below.
    return [
      { what: 'is a superuser', statement: `alter role ${name} nosuperuser` },
    ];
  }
  const faults = [
    {
      isThere: role.bypassesRls,
      what: 'has BYPASSRLS',
      statement: `alter role ${name} nobypassrls`,
    },
    {
      isThere: role.inheritsAdmin,
      what:
        role.name === ADMIN_ROLE
          ? 'sees the rows of every tenant by a policy'
          : `inherits ${ADMIN_ROLE}`,
      statement:
        version < ADMIN_OPTION_SINCE
          ? `alter role ${name} noinherit`
          : `grant ${ADMIN_ROLE} to ${name} with inherit false`,
    },
    {
      isThere: role.replicates,
      what: 'has REPLICATION, and so may copy the whole database',
      statement: `alter role ${name} noreplication`,
    },
    {
      isThere: role.createsRoles && version < ADMIN_OPTION_SINCE,
      what: 'has CREATEROLE, and so may grant other roles to itself',
      statement: `alter role ${name} nocreaterole`,
    },
    ...role.predefined.map(predefined => ({
      // A role that the user can SET ROLE to is an actor itself.
      isThere:
        role.oid !== user.oid ||
        all.every(actor => actor.role.name !== predefined),
      what: `${PREDEFINED[predefined]} (${predefined})`,
      statement: `revoke ${predefined} from ${name}`,
    })),
  ];
  return faults.filter(({ isThere }) => isThere);
}

function readRoles(
  read: QueryRows,
  condition: string,
  value: unknown,
): Promise<Role[]> {
  return read<Role>(
    `select r.oid, r.rolname as name, r.rolsuper as superuser,
            r.rolbypassrls as "bypassesRls", r.rolcreaterole as "createsRoles",
            r.rolreplication as replicates,
            coalesce(pg_has_role(r.oid, a.oid, 'USAGE'), false) as "inheritsAdmin",
            array(select p.rolname::text from pg_roles p
                   where p.rolname = any ($2) and pg_has_role(r.oid, p.oid, 'USAGE')
                   order by 1) as predefined
       from pg_roles r
       left join pg_roles a on a.rolname = '${ADMIN_ROLE}' and (a.oid <> r.oid or not a.rolbypassrls)
      where ${condition}
      order by r.rolname`,
    [value, Object.keys(PREDEFINED)],
  );
}

/**
 * The roles that the user can SET ROLE to. Before PostgreSQL 16 these are all roles of which
 * it is a member; since then the grant needs the option SET, which a member with the ADMIN
 * option can grant to itself.
 */
async function readMemberships(read: QueryRows, user: Role): Promise<Actor[]> {
  const reached = await read<{
    oid: number;
    through: string[];
    isInherited: boolean;
  }>(
    `with recursive reached (oid, settable, through) as (
       select $1::oid, true, null::name
        union
       select m.roleid,
              r.settable and coalesce((to_jsonb(m) ->> 'set_option')::boolean, true)
                or m.admin_option,
              coalesce(r.through, g.rolname)
         from reached r
         join pg_auth_members m on m.member = r.oid
         join pg_roles g on g.oid = m.roleid
        where g.rolname <> '${ADMIN_ROLE}'
     )
     select oid, array_agg(distinct through::text) as through,
            pg_has_role($1::oid, oid, 'USAGE') as "isInherited"
       from reached where settable and oid <> $1::oid group by 1`,
    [user.oid],
  );
  const roles = await readRoles(
    read,
    'r.oid = any ($1::oid[])',
    reached.map(({ oid }) => oid),
  );
  return reached.flatMap(({ oid, through, isInherited }) =>
    roles
      .filter(role => role.oid === oid)
      .map(role => ({ role, through, functions: [], isInherited })),
  );
}

/**
 * The SECURITY DEFINER functions that some roles may call, also as part of an aggregate, for
 * which PostgreSQL checks the rights of the aggregate's owner.
 *
 * Without trigger functions, which return nothing to the caller, and without the function
 * of the policies, which is compared with the migration's elsewhere.
 */
function readFunctions(
  read: QueryRows,
  callers: Actor[],
  schema: string,
): Promise<DefinerFunction[]> {
  const roles = callers
    .filter(actor => !getsAtAll(actor))
    .map(({ role }) => role.oid);
  return read<DefinerFunction>(
    `with callable as (
       select p.oid, p.oid as of from pg_proc p
        where p.prosecdef and p.oid >= ${FIRST_NORMAL_OID}
          and p.prorettype <> all ('{trigger,event_trigger}'::regtype[])
        union
       select a.oid, p.oid
         from pg_proc p
         join pg_depend d on d.refclassid = 'pg_proc'::regclass and d.refobjid = p.oid
                         and d.classid = 'pg_proc'::regclass
         join pg_proc a on a.oid = d.objid and a.prokind = 'a'
        where p.prosecdef and p.oid >= ${FIRST_NORMAL_OID}
     )
     select c.oid, f.proowner as owner,
            format('%I.%I(%s)', n.nspname, p.proname,
                   pg_get_function_identity_arguments(p.oid)) as name,
            array(select distinct g.rolname::text
                    from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) x
                    left join pg_roles g on g.oid = x.grantee
                   where x.grantee = 0 or x.grantee <> p.proowner and exists (
                     select from unnest($1::oid[]) r where pg_has_role(r, x.grantee, 'USAGE')))
              as grantees
       from callable c
       join pg_proc p on p.oid = c.oid
       join pg_proc f on f.oid = c.of
       join pg_namespace n on n.oid = p.pronamespace
      where n.nspname not in ('pg_catalog', 'information_schema')
        and not (n.nspname = $2 and p.proname = 'tenant_required')
        and not exists (
              select from pg_depend d
               where d.classid = 'pg_proc'::regclass and d.objid = c.of
                 and d.refclassid = 'pg_extension'::regclass and d.deptype = 'e')
        and exists (
              select from unnest($1::oid[]) r
               where r <> f.proowner
                 and has_schema_privilege(r, n.oid, 'USAGE')
                 and has_function_privilege(r, p.oid, 'EXECUTE'))
      order by 3`,
    [roles, schema],
  );
}
