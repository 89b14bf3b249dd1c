import { ADMIN_ROLE, APP_PRIVILEGES } from '../roles';
import { TENANT_REQUIRED } from '../schema/policies';
import { escapeIdentifier } from '../sql';
import { findingOf, lookersOf } from './actors';
import type { Actors } from './actors';
import { enumerate } from '../text';
import { distinct, revoke, run } from './Finding';
import type { Grantee, IsolationFinding, QueryRows } from './Finding';
import type { Table } from './tables';

/** A granted right on a table or a column. */
export interface Right {
  table: number;
  /** In lower case: `select`. */
  privilege: string;
  grantee: Grantee;
  /** The actors that have it by this grant. */
  actors: number[];
}

/** MAINTAIN, since PostgreSQL 17: VACUUM and the like, which show no rows. */
const HARMLESS = 'maintain';

export function readRights(
  read: QueryRows,
  { all }: Actors,
  tables: Table[],
): Promise<Right[]> {
  return read<Right>(
    `with granted as (
       select c.oid, c.relowner, a.grantee, a.privilege_type
         from pg_class c, aclexplode(c.relacl) a where c.oid = any ($2::oid[])
        union
       select c.oid, c.relowner, a.grantee, a.privilege_type
         from pg_class c join pg_attribute t on t.attrelid = c.oid and not t.attisdropped,
              aclexplode(t.attacl) a
        where c.oid = any ($2::oid[])
     )
     select g.oid as table, lower(g.privilege_type collate "C") as privilege, r.rolname::text as grantee,
            coalesce((select json_agg(a::int8) from unnest($1::oid[]) a
                       where g.grantee = 0 or pg_has_role(a, g.grantee, 'USAGE')), '[]')
              as actors
       from granted g left join pg_roles r on r.oid = g.grantee
      where g.grantee <> g.relowner and lower(g.privilege_type collate "C") <> '${HARMLESS}'
      order by array_position($2::oid[], g.oid), 2, 3`,
    [all.map(({ role }) => role.oid), tables.map(({ oid }) => oid)],
  );
}

/** Privileges that no actor may have on tables of a kind, with their effect. */
interface Excess {
  kinds: Table['kind'][];
  /** All, if left out. */
  privileges?: string[];
  /** @param tables - their names, with the privilege where there are several */
  what(tables: string): string;
}

const GOVERNED: Table['kind'][] = ['own', 'side', 'search'];

const EXCESSES: Excess[] = [
  {
    kinds: ['part'],
    what: tables =>
      `has rights on ${tables}, and the policies of a table do not hold for a query ` +
      'that names its partition',
  },
  {
    kinds: ['log'],
    what: tables =>
      `has rights on ${tables}, which no policy governs and which names entities of tenants`,
  },
  {
    kinds: GOVERNED,
    privileges: ['truncate'],
    what: tables => `may TRUNCATE ${tables}, which no policy governs`,
  },
  {
    kinds: GOVERNED,
    privileges: ['trigger'],
    what: tables =>
      `may create triggers on ${tables}, which run with the rights of each role that ` +
      `writes there, ${ADMIN_ROLE} among them`,
  },
  {
    kinds: GOVERNED,
    privileges: ['references'],
    what: tables =>
      `may reference ${tables} by foreign keys, which find rows of every tenant`,
  },
  {
    kinds: ['search'],
    privileges: ['insert', 'update', 'delete'],
    what: tables => `may write to ${tables}, which only triggers write to`,
  },
  {
    kinds: ['members'],
    privileges: ['insert', 'update', 'delete', 'truncate', 'trigger'],
    what: tables =>
      `may write to ${tables}, which says who may enter a tenant and which ${ADMIN_ROLE} ` +
      'alone writes to',
  },
  {
    kinds: ['engines'],
    privileges: ['insert', 'update', 'delete', 'truncate', 'trigger'],
    what: tables =>
      `may write to ${tables}, which says what the engine of a tenant reads and which ` +
      `${ADMIN_ROLE} alone writes to`,
  },
  {
    kinds: ['leases'],
    what: tables =>
      `has rights on ${tables}, which say which process works for which tenant and which ` +
      `${ADMIN_ROLE} alone uses`,
  },
  {
    kinds: ['status'],
    what: tables =>
      `has rights on ${tables}, which says why engines of tenants failed and which ` +
      `${ADMIN_ROLE} alone uses`,
  },
];

/** Findings about rights by which an actor bypasses the policies. */
export function findingsOfRights(
  actors: Actors,
  tables: Table[],
  rights: Right[],
): IsolationFinding[] {
  return lookersOf(actors).flatMap(actor =>
    EXCESSES.flatMap(({ kinds, privileges, what }) => {
      const excess = rights.filter(
        right =>
          right.actors.includes(actor.role.oid) &&
          (privileges ?? [right.privilege]).includes(right.privilege) &&
          tables.some(
            ({ oid, kind }) => oid === right.table && kinds.includes(kind),
          ),
      );
      const names = namesOf(tables, excess);
      return names.length === 0
        ? []
        : [
            findingOf(
              actors,
              actor,
              what(enumerate(names)),
              revokeAll(tables, excess, privileges?.join(', ') ?? 'all'),
            ),
          ];
    }),
  );
}

/** Findings about tables that an actor owns, itself or by a role whose rights it has. */
export async function findingsOfOwners(
  read: QueryRows,
  actors: Actors,
  tables: Table[],
): Promise<IsolationFinding[]> {
  const owned = await read<{ actor: number; table: number }>(
    `select a as actor, c.oid as table
       from unnest($1::oid[]) a, pg_class c
      where c.oid = any ($2::oid[]) and pg_has_role(a, c.relowner, 'USAGE')
        and c.relowner::regrole::text <> '${ADMIN_ROLE}'
      order by array_position($2::oid[], c.oid)`,
    [
      lookersOf(actors).map(({ role }) => role.oid),
      tables.map(({ oid }) => oid),
    ],
  );
  return lookersOf(actors).flatMap(actor => {
    const own = tables.filter(({ oid }) =>
      owned.some(each => each.actor === actor.role.oid && each.table === oid),
    );
    if (own.length === 0) {
      return [];
    }
    const statements = own.map(
      ({ sql }) => `alter table ${sql} owner to ${ADMIN_ROLE}`,
    );
    return [
      findingOf(
        actors,
        actor,
        `owns ${enumerate(
          own.map(({ name }) => name),
        )}, itself or by a role that it inherits`,
        run(...statements),
      ),
    ];
  });
}

/** Deviations: rights of other roles than the actors' on partitions. */
export function deviationsOfRights(
  actors: Actors,
  tables: Table[],
  rights: Right[],
): IsolationFinding[] {
  const seen = lookersOf(actors).map(({ role }) => role.oid);
  const parts = tables.filter(({ kind }) => kind === 'part');
  return parts.flatMap(({ oid, name, sql }) => {
    const others = rights.filter(
      right =>
        right.table === oid && !right.actors.some(each => seen.includes(each)),
    );
    return distinct(others.map(right => right.grantee)).map(grantee => ({
      problem: `The partition ${name} can be reached by ${
        grantee ?? 'everybody'
      } past the policies of its table`,
      remedy: run(revoke('all', `table ${sql}`, [grantee])),
    }));
  });
}

/** Missing rights of the database user, with the GRANTs. */
export async function findMissing(
  read: QueryRows,
  actors: Actors,
  tables: Table[],
  schema: string,
): Promise<IsolationFinding[]> {
  const { user } = actors;
  const wanted = tables.flatMap(({ oid, kind }) => {
    const privileges: Partial<Record<Table['kind'], readonly string[]>> = {
      own: APP_PRIVILEGES,
      search: ['select'],
      registry: ['select'],
      members: ['select'],
      engines: ['select'],
    };
    return (privileges[kind] ?? []).map(privilege => ({ oid, privilege }));
  });
  const missing = await read<{ right: string; statement: string }>(
    `select upper(w.privilege collate "C") || ' on ' || c.relname as right,
            format('%s on table %I.%I', w.privilege, n.nspname, c.relname) as statement
       from unnest($2::oid[], $3::text[]) w (oid, privilege)
       join pg_class c on c.oid = w.oid
       join pg_namespace n on n.oid = c.relnamespace
      where not has_table_privilege($1::oid, w.oid, w.privilege)
      union all
     select 'USAGE on the schema ' || n.nspname, format('usage on schema %I', n.nspname)
       from pg_namespace n
      where n.nspname = $4 and not has_schema_privilege($1::oid, n.oid, 'USAGE')
      union all
     -- Of columns that take their values from them, as a serial does.
     select 'USAGE on ' || s.relname,
            format('usage on sequence %I.%I', n.nspname, s.relname)
       from pg_attrdef a
       join pg_depend d on d.classid = 'pg_attrdef'::regclass and d.objid = a.oid
                       and d.refclassid = 'pg_class'::regclass
       join pg_class s on s.oid = d.refobjid and s.relkind = 'S'
       join pg_namespace n on n.oid = s.relnamespace
      where a.adrelid = any ($5::oid[])
        -- In this order: the function fails for a relation that is no sequence.
        and case s.relkind when 'S' then not has_sequence_privilege($1::oid, s.oid, 'USAGE, UPDATE') end
      union all
     select 'EXECUTE on ' || p.proname,
            format('execute on function %I.${TENANT_REQUIRED}', n.nspname)
       from pg_proc p join pg_namespace n on n.oid = p.pronamespace
      where n.nspname = $4 and p.proname = 'tenant_required'
        and p.proargtypes = array['text'::regtype::oid]::oidvector
        and not has_function_privilege($1::oid, p.oid, 'EXECUTE')
      order by 1`,
    [
      user.oid,
      wanted.map(({ oid }) => oid),
      wanted.map(({ privilege }) => privilege),
      schema,
      tables.filter(({ kind }) => kind === 'own').map(({ oid }) => oid),
    ],
  );
  if (missing.length === 0) {
    return [];
  }
  const to = escapeIdentifier(user.name);
  return [
    findingOf(
      actors,
      actors.all[0],
      `has no ${missing.map(({ right }) => right).join(', ')}`,
      run(...missing.map(({ statement }) => `grant ${statement} to ${to}`)),
    ),
  ];
}

function namesOf(tables: Table[], rights: Right[]): string[] {
  return tables
    .filter(({ oid }) => rights.some(({ table }) => table === oid))
    .map(({ name }) => name);
}

/** A statement for each grantee that revokes all rights. */
function revokeAll(
  tables: Table[],
  rights: Right[],
  privileges: string,
): string {
  const statements = distinct(rights.map(({ grantee }) => grantee)).map(
    grantee => {
      const of = tables.filter(({ oid }) =>
        rights.some(right => right.table === oid && right.grantee === grantee),
      );
      return revoke(
        privileges,
        `table ${of.map(({ sql }) => sql).join(', ')}`,
        [grantee],
      );
    },
  );
  return run(...statements);
}
