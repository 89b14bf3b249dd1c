import { ADMIN_ROLE, APP_ROLE } from '../roles';
import { escapeIdentifier } from '../sql';
import { enumerate } from '../text';
import { distinct, revoke, run } from './Finding';
import type { Grantee, IsolationFinding, QueryRows } from './Finding';

/** From here on CREATEROLE alone does not let a role grant others to itself. */
const ADMIN_OPTION_SINCE = 160000;

/** The first object identifier that is not PostgreSQL's own. */
export const FIRST_NORMAL_OID = 16384;

/** Roles of PostgreSQL that get at all data, in tables or in files. */
const PREDEFINED: Record<string, string> = {
  pg_read_all_data: 'may read all data',
  pg_write_all_data: 'may write all data',
  pg_read_server_files: 'may read the files of the server',
  pg_write_server_files: 'may write the files of the server',
  pg_execute_server_program: 'may run programs on the server',
};

/** What is known of a role. */
export interface Role {
  oid: number;
  name: string;
  superuser: boolean;
  bypassesRls: boolean;
  createsRoles: boolean;
  replicates: boolean;
  /** It has the rights of `portal_admin` without asking for them. */
  inheritsAdmin: boolean;
  /** Of the predefined ones, those whose rights it has. */
  predefined: string[];
}

/** A SECURITY DEFINER function that is neither PostgreSQL's nor of an extension. */
interface DefinerFunction {
  oid: number;
  /** As SQL, with its schema and arguments. */
  name: string;
  owner: number;
  /** Whom the right to call it was granted to. */
  grantees: Grantee[];
}

/** A role with whose rights statements of the database user may run. */
export interface Actor {
  role: Role;
  /** The roles granted to the user by which it may act as this one. */
  through: string[];
  /** The functions of this role that the user may call. */
  functions: DefinerFunction[];
  /** The user has its rights without acting as it. */
  isInherited: boolean;
}

/** The database user, and all that it may become. */
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
 * Finds all roles with whose rights statements of the user may run: those that it may
 * act as, and the owners of the SECURITY DEFINER functions that it may call. What such a
 * function does with the rights of its owner PostgreSQL can't tell, so it may do all of it.
 *
 * What the user may do as `portal_admin` is left out, with all that leads on from there:
 * that is granted to it deliberately, and each use is audited.
 *
 * @param options - with `schema`, that of the tables
 */
export async function readActors(
  read: QueryRows,
  { user, all: [self], version }: Actors,
  { schema }: { schema: string },
): Promise<Actors> {
  const all = [self, ...(await readMemberships(read, user))];
  // Each function leads to its owner, who may call others.
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
 * The actors whose rights on single objects tell something: not those that get at all of
 * them anyway, nor those whose rights the user has as well.
 */
export function lookersOf({ all }: Actors): Actor[] {
  return all.filter(actor => !getsAtAll(actor) && !actor.isInherited);
}

/** What is wrong with the roles by themselves, whatever there is in the database. */
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

/** What is wrong with an actor; the remedy is that of the user, or ends what leads to it. */
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
    // It may everything: what follows holds for it anyway.
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
      what: `inherits ${ADMIN_ROLE}`,
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
      // Where the user may act as it, it is one of the actors by itself.
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
       left join pg_roles a on a.rolname = '${ADMIN_ROLE}' and a.oid <> r.oid
      where ${condition}
      order by r.rolname`,
    [value, Object.keys(PREDEFINED)],
  );
}

/**
 * The roles that the user may act as (SET ROLE). Before PostgreSQL 16 that is every one
 * that it is a member of; from then on the grant has to say so, but a member with the
 * ADMIN option may grant that to itself.
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
 * The SECURITY DEFINER functions that some roles may call, also as a part of an aggregate,
 * of which PostgreSQL asks the right of the aggregate's owner.
 *
 * Trigger functions are left out: they return nothing to the caller. So is the function
 * that policies call, which is compared with that of the migration.
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
