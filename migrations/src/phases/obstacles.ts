import type { Executor } from '../engine/Executor';
import type { PhaseNumber, StepContext } from '../engine/Step';
import { RefusedError } from '../errors';
import { refusePublications } from '../schema/publications';
import { inheritStatements } from '../schema/membership';
import { TENANT_POLICY } from '../schema/policies';
import { escapeIdentifier } from '../sql';
import { ENTITY_KEY, TENANT_TABLES } from '../schema/tables';
import {
  bypassesPolicies,
  readViews,
  SECURITY_INVOKER_SINCE,
} from '../schema/views';
import type { TableView } from '../schema/views';
import { enumerate, script } from '../text';

// The preflight and the phases share these checks, so that the preflight reports all that a
// later phase would refuse.

/** A property of the tables with which a phase refuses to begin. */
export interface Obstacle {
  /** The check of the preflight that reports it. */
  check:
    | 'constraints'
    | 'dependents'
    | 'foreign keys'
    | 'grants'
    | 'row-level security'
    | 'tables'
    | 'views';
  /** The phases that refuse because of it. */
  phases: PhaseNumber[];
  message: string;
  /** How the operator removes it. */
  advice: string;
  /** Statements that remove it, or that show more of it. */
  sql?: string;
  /** The condition under which `--force` is right: `no reader needs them`. */
  forcedIf?: string;
}

/** Tables as names that are SQL, or as their OIDs. */
type Tables = readonly (string | number)[];

/** The obstacles of the three tables as they are before the swap. */
export async function findObstacles(
  context: Pick<StepContext, 'executor'>,
  tables: Tables = TENANT_TABLES,
): Promise<Obstacle[]> {
  const { executor } = context;
  return [
    ...(await findConstraints(executor, tables)),
    ...(await findPolicies(executor, tables)),
    ...(await findTruncating(executor, tables)),
    ...(await findClosedToOwner(executor, tables)),
    ...(await findViews(executor, tables)),
    ...(await findDependents(executor, tables)),
  ];
}

/** Whether `--force` turns the obstacle into a warning. */
export function isForced(
  { forcedIf }: Obstacle,
  { settings }: Pick<StepContext, 'settings'>,
): boolean {
  return settings.force && forcedIf !== undefined;
}

/** The advice on an obstacle, with that on `--force`. */
export function adviceOf({ advice, forcedIf }: Obstacle): string {
  return forcedIf ? `${advice} Or give --force, if ${forcedIf}.` : advice;
}

/**
 * Refuses a phase because of obstacles, and warns of those that the operator forces.
 *
 * @throws {@link RefusedError} with all of them
 */
export async function refuseObstacles(
  context: StepContext,
  phase: PhaseNumber,
): Promise<void> {
  await refusePublications(context, `Phase ${phase} cannot begin`);
  const obstacles = await findObstacles(context);
  refuseThese(
    context,
    `Phase ${phase} cannot begin`,
    obstacles.filter(({ phases }) => phases.includes(phase)),
  );
}

/**
 * Refuses a swap, in either direction, while objects depend on the tables in use by their
 * OIDs, and so would read or reference the old tables after it.
 *
 * @throws {@link RefusedError} with all of them
 */
export async function refuseDependents(
  context: Pick<StepContext, 'executor' | 'settings' | 'reporter'>,
): Promise<void> {
  refuseThese(context, 'The tables cannot be swapped', [
    ...(await findMaterialized(context.executor)),
    ...(await findDependents(context.executor, TENANT_TABLES)),
  ]);
}

function refuseThese(
  context: Pick<StepContext, 'settings' | 'reporter'>,
  what: string,
  obstacles: Obstacle[],
): void {
  const refused = obstacles.filter(each => !isForced(each, context));
  if (refused.length > 0) {
    throw new RefusedError(`${what}:\n${refused.map(describe).join('\n')}`);
  }
  obstacles.forEach(({ message }) => context.reporter.warn(message));
}

function describe(obstacle: Obstacle): string {
  const { message, sql } = obstacle;
  return [
    `- ${message}`,
    `  ${adviceOf(obstacle)}`,
    ...(sql ? [sql.replace(/^/gm, '    ')] : []),
  ].join('\n');
}

interface Constraint {
  name: string;
  /** The name of the table as SQL. */
  table: string;
  kind: 'exclusion' | 'noInherit' | 'wholeRow' | 'wholeRowIndex';
  definition: string;
  /** The name of an index as SQL. */
  index: string | null;
}

/** Constraints and indexes of which a partitioned table can have no like. */
async function findConstraints(
  executor: Executor,
  tables: Tables,
): Promise<Obstacle[]> {
  // A variable of the attribute 0 is the row as a whole, which is of another type in
  // another table.
  const wholeRow = `'\\{VAR :varno \\d+ :varattno 0 '`;
  const rows = await executor.read<Constraint>(
    `with ours as (
       select c.oid, format('%I.%I', n.nspname, c.relname) as sql
         from unnest($1::regclass[]::oid[]) t (oid) join pg_class c on c.oid = t.oid
         join pg_namespace n on n.oid = c.relnamespace)
     select k.conname as name, o.sql as table, pg_get_constraintdef(k.oid) as definition,
            case when k.contype = 'c' and k.conbin::text ~ ${wholeRow} then 'wholeRow'
                 else 'noInherit' end as kind,
            null as index
       from ours o join pg_constraint k on k.conrelid = o.oid
      where k.contype in ('c', 'n')
        and (k.connoinherit or k.contype = 'c' and k.conbin::text ~ ${wholeRow})
      union all
     select c.relname, o.sql, pg_get_indexdef(c.oid),
            case when i.indisexclusion then 'exclusion' else 'wholeRowIndex' end,
            format('%I.%I', n.nspname, c.relname)
       from ours o join pg_index i on i.indrelid = o.oid
       join pg_class c on c.oid = i.indexrelid join pg_namespace n on n.oid = c.relnamespace
      where i.indisexclusion
         or concat(i.indexprs::text, i.indpred::text) ~ ${wholeRow}
      order by 2, 1`,
    [tables.map(String)],
  );
  return rows.map(row => ({
    check: 'constraints',
    phases: [5],
    ...describeConstraint(row),
  }));
}

function describeConstraint(
  row: Constraint,
): Pick<Obstacle, 'message' | 'advice' | 'sql'> {
  const { table, kind, definition } = row;
  const name = escapeIdentifier(row.name);
  const drop = `alter table ${table} drop constraint ${name}`;
  switch (kind) {
    // PostgreSQL 14 allows none on a partitioned table. Later versions require the
    // partition key in it with `=`, which would be another constraint.
    case 'exclusion':
      return {
        message: `${table} has the exclusion constraint ${row.name}.`,
        advice:
          'A partitioned table cannot have it as it is. Drop it, and keep the rule in a trigger.',
        sql: script([drop]),
      };
    case 'noInherit':
      return {
        message: `The constraint ${row.name} of ${table} is NO INHERIT, which one of a partitioned table cannot be.`,
        advice: 'Let it be inherited: nothing inherits from the table.',
        sql: script(
          definition.startsWith('NOT NULL')
            ? [`alter table ${table} alter constraint ${name} inherit`]
            : [
                `${drop}, add constraint ${name} ${definition.replace(
                  / NO INHERIT\b/,
                  '',
                )} not valid`,
                `alter table ${table} validate constraint ${name}`,
              ],
        ),
      };
    case 'wholeRow':
      return {
        message: `The constraint ${row.name} of ${table} is on the row as a whole, which cannot be copied: ${definition}.`,
        advice: 'Drop it, or write it with the names of the columns.',
        sql: script([drop]),
      };
    default:
      return {
        message: `The index ${row.name} of ${table} is on the row as a whole, which cannot be copied.`,
        advice: 'Drop it, or write it with the names of the columns.',
        sql: script([`drop index concurrently ${row.index}`]),
      };
  }
}

/** Permissive policies are combined by OR, so any other one would show more rows. */
async function findPolicies(
  executor: Executor,
  tables: Tables,
): Promise<Obstacle[]> {
  const rows = await executor.read<{
    name: string;
    sql: string;
    inUse: boolean;
    policies: string[];
  }>(
    `select c.relname as name, format('%I.%I', n.nspname, c.relname) as sql,
            (c.relrowsecurity or c.relforcerowsecurity) and not exists (
              select from pg_policy where polrelid = c.oid and polname = $2) as "inUse",
            array(select polname::text from pg_policy
                   where polrelid = c.oid and polpermissive and polname <> $2
                   order by 1) as policies
       from unnest($1::regclass[]::oid[]) t (oid) join pg_class c on c.oid = t.oid
       join pg_namespace n on n.oid = c.relnamespace`,
    [tables.map(String), TENANT_POLICY],
  );
  return rows.flatMap(({ name, sql, inUse, policies }) => [
    ...(policies.length > 0
      ? [
          {
            check: 'row-level security' as const,
            phases: [4 as const],
            message: `${name} has policies: ${enumerate(policies)}.`,
            advice:
              'They would let rows through beside the one of phase 4: drop them, or create them AS RESTRICTIVE.',
            sql: script(
              policies.map(
                policy => `drop policy ${escapeIdentifier(policy)} on ${sql}`,
              ),
            ),
          },
        ]
      : []),
    ...(inUse
      ? [
          {
            check: 'row-level security' as const,
            phases: [4 as const],
            message: `${name} has row-level security enabled.`,
            advice: 'Disable it: phase 4 enables it, and its undo ends it.',
            sql: script([
              `alter table ${sql} disable row level security, no force row level security`,
            ]),
          },
        ]
      : []),
  ]);
}

/** Policies do not restrict TRUNCATE. */
async function findTruncating(
  executor: Executor,
  tables: Tables,
): Promise<Obstacle[]> {
  const rows = await executor.read<{ name: string; sql: string }>(
    `select c.relname as name, format('%I.%I', n.nspname, c.relname) as sql
       from pg_class c join pg_namespace n on n.oid = c.relnamespace,
            aclexplode(c.relacl) a
      where c.oid = any ($1::regclass[]::oid[])
        and a.grantee = 0 and a.privilege_type = 'TRUNCATE' order by 1`,
    [tables.map(String)],
  );
  return rows.map(({ name, sql }) => ({
    check: 'grants',
    phases: [4],
    message: `PUBLIC may TRUNCATE ${name}, and so delete the rows of every tenant.`,
    advice: 'Revoke that.',
    sql: script([`revoke truncate on ${sql} from public`]),
  }));
}

/** portal_admin lacks the rights that an owner has revoked from itself. */
async function findClosedToOwner(
  executor: Executor,
  tables: Tables,
): Promise<Obstacle[]> {
  const rows = await executor.read<{
    name: string;
    sql: string;
    owner: string;
  }>(
    `select c.relname as name, format('%I.%I', n.nspname, c.relname) as sql,
            pg_get_userbyid(c.relowner) as owner
       from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where c.oid = any ($1::regclass[]::oid[])
        and not exists (
          select from aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) a
           where a.grantee = c.relowner and a.privilege_type = 'SELECT')
      order by 1`,
    [tables.map(String)],
  );
  return rows.map(({ name, sql, owner }) => ({
    check: 'grants',
    phases: [4],
    message: `${owner} owns ${name} and may not read it, nor may portal_admin once the table is handed to it.`,
    advice: 'Grant the owner what an owner has.',
    sql: script([`grant all on ${sql} to ${escapeIdentifier(owner)}`]),
  }));
}

/** Views that show every tenant's rows, or that cannot follow the tables. */
async function findViews(
  executor: Executor,
  tables: Tables,
): Promise<Obstacle[]> {
  const [{ version, login }] = await executor.read<{
    version: number;
    login: string;
  }>(
    `select current_setting('server_version_num')::int as version, session_user as login`,
  );
  const obstacles: Obstacle[] = [];
  for (const view of await readViews(executor, tables)) {
    obstacles.push(
      ...(view.materialized
        ? [materialized(view)]
        : [
            ...(await unreachable(executor, view, login)),
            ...leaking(view, version),
            ...grouping(view),
          ]),
    );
  }
  return obstacles;
}

/** Materialized views keep reading the old tables after the swap. */
async function findMaterialized(executor: Executor): Promise<Obstacle[]> {
  return (await readViews(executor, TENANT_TABLES))
    .filter(view => view.materialized && view.direct)
    .map(materialized);
}

function materialized({ qualifiedName: name, owner }: TableView): Obstacle {
  return {
    check: 'views',
    phases: [4, 5],
    message: `${name} (of ${owner}) is a materialized view: it holds copies of rows, which row-level security does not protect, and stays with the tables of before.`,
    advice: 'Make a view of it, or drop it.',
    sql: script([`drop materialized view ${name}`]),
    forcedIf:
      'those who read it may see every tenant, and it is dropped before the cleanup',
  };
}

/** Phase 4 alters views and phase 5 replaces them, as their owner. */
async function unreachable(
  executor: Executor,
  view: TableView,
  login: string,
): Promise<Obstacle[]> {
  const { qualifiedName: name, owner, direct, ours } = view;
  if (ours || !(direct || bypassesPolicies(view))) {
    return [];
  }
  return [
    {
      check: 'views',
      phases: [
        ...(bypassesPolicies(view) ? [4 as const] : []),
        ...(direct ? [5 as const] : []),
      ],
      message: `The login ${login} does not have the rights of ${owner}, the owner of the view ${name}, which phases 4 and 5 have to change.`,
      advice: 'Let a superuser run this.',
      // Membership would make the login a superuser.
      sql: script(
        view.ownerIsSuperuser
          ? [`alter view ${name} owner to ${escapeIdentifier(login)}`]
          : await inheritStatements(executor, owner),
      ),
    },
  ];
}

function leaking(view: TableView, version: number): Obstacle[] {
  const { qualifiedName: name, owner, ours } = view;
  return !ours || !bypassesPolicies(view) || version >= SECURITY_INVOKER_SINCE
    ? []
    : [
        {
          check: 'views',
          phases: [4],
          message: `${owner}, the owner of the view ${name}, bypasses row-level security, so the view would show every tenant's rows.`,
          advice:
            'Give it to an owner that does not bypass row-level security and may read the tables.',
          sql: script([`alter view ${name} owner to <role>`]),
          forcedIf: 'those who read it may see every tenant',
        },
      ];
}

/**
 * A view that groups by the primary key may select other columns. The primary key of the
 * partitioned tables begins with tenant_id, so GROUP BY entity_id no longer covers it.
 */
function grouping(view: TableView): Obstacle[] {
  const { qualifiedName: name, groupedByKeyOf: table } = view;
  return table === null
    ? []
    : [
        {
          check: 'views',
          phases: [5],
          message:
            `The view ${name} groups by the primary key of ${table} alone, and shows other columns of it. ` +
            'Phase 5 cannot bring it along: the new primary key has two columns.',
          advice:
            `Name in its GROUP BY each column of ${table} that it shows outside of an aggregate ` +
            '("create or replace view"): it then shows the same, and hangs on no key.',
          sql: `select pg_get_viewdef('${name.replace(
            /'/g,
            "''",
          )}'::regclass);`,
          forcedIf: 'it groups by tenant_id as well',
        },
      ];
}

// What a table has by itself goes where it goes, views are replaced by the swap or named
// apart, publications are refused by themselves, and the foreign keys of relations and
// refresh_state on their entity are rebuilt.
const DEPENDENTS = `
  with ours as (
    select c.oid, c.relname as name, t.oid as type, t.typarray as array_type
      from unnest($1::regclass[]::oid[]) o (oid) join pg_class c on c.oid = o.oid
      join pg_type t on t.oid = c.reltype
  ), rebuilt as (
    select k.oid from pg_constraint k join ours o on o.oid = k.conrelid
     where k.confrelid in (select oid from ours where name = 'entities')
       and o.name <> 'entities'
       and k.conkey <@ array(select attnum from pg_attribute
                              where attrelid = k.conrelid
                                and attname in ('tenant_id', $2::json ->> o.name))
  )
  select distinct pg_describe_object(classid, objid, objsubid) as name,
         case when classid = 'pg_constraint'::regclass then 'foreign keys'
              when classid = 'pg_rewrite'::regclass and exists (
                select from pg_rewrite r join ours o on o.oid = r.ev_class
                 where r.oid = objid) then 'tables'
              when classid = 'pg_class'::regclass and exists (
                select from pg_inherits where inhrelid = objid) then 'tables'
              else 'dependents' end as check
    from pg_depend
   where deptype = 'n'
     and (refclassid = 'pg_class'::regclass and refobjid in (select oid from ours)
       or refclassid = 'pg_type'::regclass
            and refobjid in (select unnest(array[type, array_type]) from ours))
     and not (classid = 'pg_rewrite'::regclass and exists (
       select from pg_rewrite r join pg_class v on v.oid = r.ev_class
        where r.oid = objid and v.relkind in ('v', 'm')))
     and not (classid = 'pg_constraint'::regclass and exists (
       select from pg_constraint k
        where k.oid = objid and (k.contype <> 'f' or k.conparentid <> 0
                                 or k.oid in (select oid from rebuilt))))
     and not (classid = 'pg_policy'::regclass and exists (
       select from pg_policy p where p.oid = objid and p.polrelid in (select oid from ours)))
     and classid not in ('pg_trigger'::regclass, 'pg_attrdef'::regclass,
                         'pg_publication_rel'::regclass)
   union
  select pg_describe_object('pg_rewrite'::regclass, r.oid, 0), 'tables'
    from pg_rewrite r join ours o on o.oid = r.ev_class
   order by 1`;

/** Objects that the swap would leave on the old tables, by preflight check. */
async function findDependents(
  executor: Executor,
  tables: Tables,
): Promise<Obstacle[]> {
  const found = await executor.read<Pick<Obstacle, 'check'> & { name: string }>(
    DEPENDENTS,
    [tables.map(String), JSON.stringify(ENTITY_KEY)],
  );
  const checks = [...new Set(found.map(({ check }) => check))];
  return checks.map(check => {
    const names = found.filter(each => each.check === check);
    return {
      check,
      phases: [5],
      message:
        'These stay with the tables that go out of use in phase 5, whatever those are called: ' +
        `${names.map(({ name }) => name).join('; ')}.`,
      advice: 'Drop them, and create them again after the swap.',
      forcedIf: 'no reader needs them',
    };
  });
}
