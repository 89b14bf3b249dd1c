import { passesPolicies } from '../schema/policies';
import { findingOf, FIRST_NORMAL_OID, lookersOf } from './actors';
import type { Actor, Actors } from './actors';
import { revoke, run } from './Finding';
import type { Grantee, IsolationFinding, QueryRows } from './Finding';
import type { Table } from './tables';

/** The version since which views have the option security_invoker. */
const SECURITY_INVOKER_SINCE = 150000;

/** A relation that shows rows of the tables, directly or through another one. */
interface Reader {
  oid: number;
  /** As SQL, with its schema. */
  name: string;
  /** A view, a materialized view, a table with a rule, or one that tables inherit from. */
  kind: 'view' | 'materialized' | 'rule' | 'parent';
  owner: number;
  ownerName: string;
  /** It reads with the rights of the role that queries it. */
  invoker: boolean;
  /** The relations that its query reads. */
  sources: number[];
  /** The relations that its rules read and write, always with the rights of its owner. */
  ruleSources: number[];
  /** The grantees of rights on it whose rights an actor has. */
  grantees: Grantee[];
}

/** The rights of a role on the tables and their readers. */
interface Access {
  role: number;
  /** The readers and tables on which it has a right. */
  reads: number[];
  /** Those of them in whose schema it has USAGE. */
  reaches: number[];
  /** The catalog's tables whose policies do not bind it. */
  unbound: number[];
}

/**
 * Views, rules and parents of the tables that show an actor rows past the policies.
 *
 * Each view of a chain reads with the rights of its owner, or with `security_invoker` with
 * those of the querying role. The policies apply neither to the copies of a materialized
 * view nor to a query of a table's parent.
 */
export async function findingsOfReaders(
  read: QueryRows,
  actors: Actors,
  tables: Table[],
): Promise<IsolationFinding[]> {
  const lookers = lookersOf(actors);
  const readers = await readReaders(read, lookers, tables);
  if (readers.length === 0) {
    return [];
  }
  const access = await readAccess(read, lookers, readers, tables);
  return lookers.flatMap(actor => {
    const { oid } = actor.role;
    const reached = access.find(({ role }) => role === oid)?.reaches ?? [];
    return readers
      .filter(each => reached.includes(each.oid))
      .filter(each => shows(each.oid, oid, { readers, access }))
      .map(each => findingOfReader(each, actor, actors));
  });
}

/** Whether a relation shows a role rows past the policies. */
function shows(
  relation: number,
  role: number,
  known: { readers: Reader[]; access: Access[] },
  above: number[] = [],
): boolean {
  const reader = known.readers.find(({ oid }) => oid === relation);
  const of = (oid: number) => known.access.find(each => each.role === oid);
  if (!reader) {
    return of(role)?.unbound.includes(relation) ?? false;
  }
  if (reader.kind === 'materialized' || reader.kind === 'parent') {
    return true;
  }
  // Rules may form a cycle.
  if (above.includes(relation)) {
    return false;
  }
  const showsOne = (source: number, reading: number) =>
    of(reading)?.reads.includes(source) === true &&
    shows(source, reading, known, [...above, relation]);
  return (
    reader.sources.some(source =>
      showsOne(source, reader.invoker ? role : reader.owner),
    ) || reader.ruleSources.some(source => showsOne(source, reader.owner))
  );
}

function findingOfReader(
  { name, kind, ownerName, grantees }: Reader,
  actor: Actor,
  actors: Actors,
): IsolationFinding {
  const { version } = actors;
  const remedy =
    grantees.length > 0
      ? run(revoke('all', `table ${name}`, grantees))
      : `give ${name} to an owner that is not the database user`;
  switch (kind) {
    case 'materialized':
      return findingOf(
        actors,
        actor,
        `has rights on the materialized view ${name}, which holds copies of tenants' rows ` +
          'that no policy protects',
        remedy,
      );
    case 'parent':
      return findingOf(
        actors,
        actor,
        `has rights on ${name}, from which tables of tenants inherit: a query of it does ` +
          'not obey their policies',
        remedy,
      );
    case 'rule':
      return findingOf(
        actors,
        actor,
        `may write to ${name}, a rule on which reads or writes rows of every tenant with ` +
          `the rights of ${ownerName}`,
        remedy,
      );
    default:
      return findingOf(
        actors,
        actor,
        `has rights on the view ${name}, which shows rows of every tenant: it reads them ` +
          `with the rights of ${ownerName}, whom the policies do not bind`,
        version < SECURITY_INVOKER_SINCE
          ? `${remedy}, or give it to an owner whom row-level security binds`
          : `${run(
              `alter view ${name} set (security_invoker = true)`,
            )}, or ${remedy}`,
      );
  }
}

async function readReaders(
  read: QueryRows,
  lookers: Actor[],
  tables: Table[],
): Promise<Reader[]> {
  const edge = (condition: string) =>
    `coalesce((select json_agg(distinct e.source::int8) from edges e
                where e.reader = c.oid and ${condition}), '[]')`;
  return read<Reader>(
    `with recursive edges (reader, source, kind) as materialized (
       select r.ev_class, d.refobjid, case r.ev_type when '1' then 'view' else 'rule' end
         from pg_rewrite r
         join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid
                         and d.refclassid = 'pg_class'::regclass
        where r.ev_class <> d.refobjid and r.oid >= ${FIRST_NORMAL_OID}
        union
       select inhparent, inhrelid, 'parent' from pg_inherits
     ), reached (oid) as (
       select unnest($2::oid[])
        union
       select e.reader from reached join edges e on e.source = reached.oid
     )
     select c.oid, format('%I.%I', n.nspname, c.relname) as name, c.relowner as owner,
            pg_get_userbyid(c.relowner)::text as "ownerName",
            case when c.relkind = 'v' then 'view'
                 when c.relkind = 'm' then 'materialized'
                 when exists (select from edges e join reached r on r.oid = e.source
                               where e.reader = c.oid and e.kind = 'parent') then 'parent'
                 else 'rule' end as kind,
            coalesce((select option_value::boolean from pg_options_to_table(c.reloptions)
                       where option_name = 'security_invoker'), false) as invoker,
            ${edge(`e.kind = 'view'`)} as sources,
            ${edge(`e.kind = 'rule'`)} as "ruleSources",
            array(select distinct g.rolname::text
                    from (select c.relacl as acl
                           union all
                          select attacl from pg_attribute where attrelid = c.oid) granted,
                         aclexplode(granted.acl) x
                    left join pg_roles g on g.oid = x.grantee
                   where x.grantee = 0 or x.grantee <> c.relowner and exists (
                     select from unnest($1::oid[]) r where pg_has_role(r, x.grantee, 'USAGE')))
              as grantees
       from reached join pg_class c on c.oid = reached.oid
       join pg_namespace n on n.oid = c.relnamespace
      where c.oid <> all ($2::oid[]) and c.relkind in ('v', 'm', 'r', 'p', 'f')
      order by 2`,
    [lookers.map(({ role }) => role.oid), tables.map(({ oid }) => oid)],
  );
}

function readAccess(
  read: QueryRows,
  lookers: Actor[],
  readers: Reader[],
  tables: Table[],
): Promise<Access[]> {
  const those = (condition: string) =>
    `coalesce(json_agg(c.oid::int8) filter (where ${condition}), '[]')`;
  return read<Access>(
    `select a.oid as role, ${those('c.may')} as reads,
            ${those(
              `c.may and has_schema_privilege(a.oid, c.schema, 'USAGE')`,
            )} as reaches,
            ${those(`c.is_ours and (${passesPolicies(
              'a',
            )} or not c.relrowsecurity
              or not c.relforcerowsecurity and pg_has_role(a.oid, c.relowner, 'USAGE'))`)}
              as unbound
       from pg_roles a
      cross join lateral (
        select o.*, o.relnamespace as schema, o.oid = any ($3::oid[]) as is_ours,
               has_table_privilege(a.oid, o.oid, 'SELECT, INSERT, UPDATE, DELETE')
                 or has_any_column_privilege(a.oid, o.oid, 'SELECT, INSERT, UPDATE') as may
          from pg_class o where o.oid = any ($2::oid[] || $3::oid[])) c
      where a.oid = any ($1::oid[])
      group by a.oid`,
    [
      [
        ...lookers.map(({ role }) => role.oid),
        ...readers.map(({ owner }) => owner),
      ],
      readers.map(({ oid }) => oid),
      tables.map(({ oid }) => oid),
    ],
  );
}
