import { DatabaseError } from 'pg';
import {
  EngineTablesError,
  escapeIdentifier as name,
  escapeLiteral as text,
} from './TablesSession';
import type { TablesSession } from './TablesSession';

// A copy of a schema that upstream's migrations have made, in one transaction and a tenth of
// the time that the migrations take. What it does not know, it refuses; the migrations
// make the schema then.

/** The schema has what is not copied: the message names it. */
export class NotCopiedError extends EngineTablesError {}

/**
 * Creates a schema with the relations, rows, functions and triggers of another one of the
 * same owner. The caller has begun a transaction, and keeps others from changing the source.
 *
 * Locks: ACCESS SHARE on the source's tables, which nobody changes; all else is on what
 * the transaction has created and no other session sees.
 *
 * @param revokeFrom - roles that get no rights in the copy, whatever default privileges say
 * @throws {@link NotCopiedError} if the source has what is not copied
 */
export async function cloneSchema(
  session: TablesSession,
  source: string,
  target: string,
  revokeFrom: string[],
): Promise<void> {
  await session.useSchema(source);
  await refuseUnknown(session, source);
  const statements = await describeSchema(session, source);
  await session.query(`create schema ${name(target)}`);
  await session.useSchema(target);
  // Functions come before the tables whose columns may use them.
  await session.query('set local check_function_bodies = off');
  try {
    // In one message: with one for each, the way to the server and back is most of the time.
    await session.query(statements.join(';\n'));
  } catch (error) {
    // Syntax, or a name that is not found: there is an object that no query above knows of.
    if (error instanceof DatabaseError && error.code?.startsWith('42')) {
      throw new NotCopiedError(
        `The schema "${source}" can't be copied for a tenant: ${error.message}`,
        { cause: error },
      );
    }
    throw error;
  }
  await pinFunctions(session, target);
  await revokeAll(session, target, revokeFrom);
}

/** Takes all rights in a schema from everybody and from these roles. */
export async function revokeAll(
  session: TablesSession,
  schema: string,
  from: string[],
): Promise<void> {
  const roles = ['public', ...from.map(name)].join(', ');
  for (const what of [
    'schema',
    'all tables in schema',
    'all sequences in schema',
    'all routines in schema',
  ]) {
    await session.query(`revoke all on ${what} ${name(schema)} from ${roles}`);
  }
}

/**
 * Has the functions of a schema that have a search_path of their own find what stands in it.
 * SET search_path FROM CURRENT names the schema in which a function was made: a copy would
 * write to the source, and a function of a renamed schema would find nothing.
 */
export async function pinFunctions(
  session: TablesSession,
  schema: string,
): Promise<void> {
  await session.useSchema(schema);
  const found = await session.query<{ statement: string }>(
    `select format('alter routine %s set search_path from current', f.oid::regprocedure) as statement
       from pg_proc f join pg_namespace n on n.oid = f.pronamespace
      where n.nspname = $1 and exists (
        select from unnest(f.proconfig) s where starts_with(s, 'search_path='))`,
    [schema],
  );
  for (const { statement } of found) {
    await session.query(statement);
  }
}

/**
 * What of a schema is in this condition of SQL is not copied. Each query yields what is in
 * the way, in words.
 */
const UNKNOWN: string[] = [
  // Whatever belongs to the schema, and is no relation, statistics object or function.
  `select pg_describe_object(d.classid, d.objid, 0) as what
     from pg_depend d
    where d.refclassid = 'pg_namespace'::regclass and d.refobjid = (select oid from source)
      and d.classid <> all (array['pg_class', 'pg_statistic_ext', 'pg_proc']::regclass[])`,
  // Functions in C and the like, procedures, and those whose body is bound to objects or names
  // the schema.
  `select pg_describe_object('pg_proc'::regclass, f.oid, 0) || ', which is no plain function in PL/pgSQL or SQL, or names its schema'
     from pg_proc f
     join pg_language l on l.oid = f.prolang
    where f.pronamespace = (select oid from source)
      and (f.prokind <> 'f' or l.lanname not in ('plpgsql', 'sql') or f.prosqlbody is not null
        or f.prosupport <> 0 or strpos(f.prosrc, $1) > 0)`,
  // Whatever depends on a relation of the schema, and is not copied with it.
  `select pg_describe_object(d.classid, d.objid, d.objsubid)
     from pg_depend d
     join relation r on d.refclassid = 'pg_class'::regclass and d.refobjid = r.oid
    where d.classid <> all (array['pg_class', 'pg_type', 'pg_attrdef', 'pg_constraint', 'pg_statistic_ext', 'pg_trigger']::regclass[])
      and not (d.classid = 'pg_rewrite'::regclass and exists (
        select from pg_rewrite w join relation v on v.oid = w.ev_class
         where w.oid = d.objid and w.rulename = '_RETURN' and v.relkind = 'v'))`,
  // Relations of other kinds, and tables that are not plain.
  `select pg_describe_object('pg_class'::regclass, r.oid, 0) || ', which is not a plain table, view, sequence or index'
     from relation r
     left join pg_am a on a.oid = r.relam
    where r.relkind not in ('r', 'v', 'S', 'i') or r.relpersistence <> 'p' or r.relispartition
       or r.reloftype <> 0 or r.reltablespace <> 0 or r.relrowsecurity or r.relforcerowsecurity
       or (r.relkind = 'r' and (a.amname <> 'heap' or r.relreplident <> 'd'))
       or exists (select from pg_inherits h where r.oid in (h.inhrelid, h.inhparent))`,
  `select pg_describe_object('pg_class'::regclass, a.attrelid, a.attnum) || ', which has rights or is inherited'
     from pg_attribute a
     join relation r on r.oid = a.attrelid
    where a.attnum > 0 and not a.attisdropped
      and (a.attacl is not null or not a.attislocal or a.attinhcount > 0)`,
  `select pg_describe_object('pg_attrdef'::regclass, d.oid, 0)
     from pg_attrdef d
     join relation r on r.oid = d.adrelid
    where r.relkind = 'v'`,
  `select pg_describe_object('pg_class'::regclass, i.indexrelid, 0) || ', which is invalid, clustered, a replica identity or has statistics targets'
     from pg_index i
     join relation r on r.oid = i.indrelid
    where not i.indisvalid or not i.indisready or i.indisclustered or i.indisreplident
       or exists (select from pg_attribute a where a.attrelid = i.indexrelid and a.attstattarget > 0)`,
  // The others are foreign keys to other schemas. Constraint triggers come with the triggers.
  `select pg_describe_object('pg_constraint'::regclass, c.oid, 0)
     from pg_constraint c
     join relation r on r.oid = c.conrelid
    where c.contype not in ('p', 'u', 'f', 'c', 'x', 'n', 't')
       or (c.contype = 'n' and (c.connoinherit or not c.convalidated))
       or (c.contype = 'f' and not exists (select from relation f where f.oid = c.confrelid))`,
  `select pg_describe_object('pg_constraint'::regclass, c.oid, 0) || ' of another schema'
     from pg_constraint c
     join relation r on r.oid = c.confrelid
    where not exists (select from relation o where o.oid = c.conrelid)`,
];

/** The schema and its relations, for queries that begin with it. */
const SOURCE = `with source as (select oid from pg_namespace where nspname = $1),
  relation as (select c.* from pg_class c join source s on s.oid = c.relnamespace)`;

async function refuseUnknown(
  session: TablesSession,
  source: string,
): Promise<void> {
  const found = await session.query<{ what: string }>(
    `${SOURCE} ${UNKNOWN.map(query => `(${query})`).join(
      ' union ',
    )} order by 1`,
    [source],
  );
  if (found.length > 0) {
    throw new NotCopiedError(
      `The schema "${source}" has what is not copied for a tenant: ${found
        .map(({ what }) => what)
        .join('; ')}`,
    );
  }
}

interface SequenceRow {
  sequence: string;
  type: string;
  start: string;
  increment: string;
  minimum: string;
  maximum: string;
  cache: string;
  cycles: boolean;
  last: string | null;
  options: string[] | null;
  /** The column that owns it, or whose identity it is. */
  table: string | null;
  column: string | null;
  isIdentity: boolean;
}

interface ColumnRow {
  table: string;
  column: string;
  type: string;
  collation: string | null;
  default: string | null;
  /** 's' stored, 'v' virtual. */
  generated: '' | 's' | 'v';
  /** 'a' always, 'd' by default. */
  identity: '' | 'a' | 'd';
  notNull: boolean;
  /** Of the constraint, where PostgreSQL keeps one: since 18. */
  notNullName: string | null;
  options: string[] | null;
  statistics: number | null;
  /** If it is not the one of the type. */
  storage: string | null;
  compression: string | null;
}

const COLUMNS = `select r.relname as table, a.attname as column,
    format_type(a.atttypid, a.atttypmod) as type,
    case when a.attcollation <> t.typcollation then
      (select format('%I.%I', n.nspname, l.collname)
         from pg_collation l join pg_namespace n on n.oid = l.collnamespace
        where l.oid = a.attcollation) end as collation,
    pg_get_expr(d.adbin, d.adrelid) as default,
    a.attgenerated as generated, a.attidentity as identity, a.attnotnull as "notNull",
    (select c.conname from pg_constraint c
      where c.conrelid = r.oid and c.contype = 'n' and c.conkey = array[a.attnum]) as "notNullName",
    a.attoptions as options,
    nullif(a.attstattarget, -1)::int as statistics,
    case when a.attstorage <> t.typstorage then
      case a.attstorage when 'p' then 'plain' when 'e' then 'external'
                        when 'x' then 'extended' else 'main' end end as storage,
    case a.attcompression when 'p' then 'pglz' when 'l' then 'lz4' end as compression
  from relation r
  join pg_attribute a on a.attrelid = r.oid and a.attnum > 0 and not a.attisdropped
  join pg_type t on t.oid = a.atttypid
  left join pg_attrdef d on d.adrelid = r.oid and d.adnum = a.attnum
  where r.relkind = 'r'
  order by r.oid, a.attnum`;

const SEQUENCES = `select r.relname as sequence, format_type(s.seqtypid, null) as type,
    s.seqstart as start, s.seqincrement as increment, s.seqmin as minimum, s.seqmax as maximum,
    s.seqcache as cache, s.seqcycle as cycles,
    pg_sequence_last_value(r.oid) as last, r.reloptions as options,
    o.relname as table, a.attname as column, coalesce(d.deptype = 'i', false) as "isIdentity"
  from relation r
  join pg_sequence s on s.seqrelid = r.oid
  left join pg_depend d on d.classid = 'pg_class'::regclass and d.objid = r.oid
    and d.refclassid = 'pg_class'::regclass and d.refobjsubid > 0 and d.deptype in ('a', 'i')
  left join pg_class o on o.oid = d.refobjid
  left join pg_attribute a on a.attrelid = d.refobjid and a.attnum = d.refobjsubid
  order by r.oid`;

const TABLES = `select r.relname as table, r.relkind as kind,
    array(select unnest(r.reloptions) union all
          select 'toast.' || unnest(t.reloptions)) as options,
    case when r.relkind = 'v' then pg_get_viewdef(r.oid, true) end as definition
  from relation r
  left join pg_class t on t.oid = r.reltoastrelid
  where r.relkind in ('r', 'v')
  order by r.oid`;

// "pretty" spells the table's name without its schema where the search_path finds it.
const CONSTRAINTS = `select r.relname as table, c.conname as constraint, c.contype as type,
    pg_get_constraintdef(c.oid, true) as definition,
    x.relname as index, x.reloptions as options
  from pg_constraint c
  join relation r on r.oid = c.conrelid
  left join pg_class x on x.oid = c.conindid and c.contype in ('p', 'u', 'x')
  where c.contype in ('p', 'u', 'c', 'x', 'f')
  order by c.contype = 'f', c.oid`;

const INDEXES = `select pg_get_indexdef(i.indexrelid, 0, true) as definition
  from pg_index i
  join relation r on r.oid = i.indrelid
  where not exists (select from pg_constraint c
                     where c.conindid = i.indexrelid and c.contype in ('p', 'u', 'x'))
  order by i.indexrelid`;

const STATISTICS = `select s.stxname as name, r.relname as table,
    array(select case k when 'd' then 'ndistinct' when 'f' then 'dependencies' else 'mcv' end
            from unnest(s.stxkind) k where k <> 'e') as kinds,
    pg_get_statisticsobjdef_columns(s.oid) as columns,
    nullif(s.stxstattarget, -1)::int as target
  from pg_statistic_ext s
  join pg_class r on r.oid = s.stxrelid
  where s.stxnamespace = (select oid from source)
  order by s.oid`;

/** What follows CREATE FUNCTION, without the schema of the name. */
const FUNCTIONS = `select substr(pg_get_functiondef(f.oid),
    length(format('CREATE OR REPLACE FUNCTION %I.', s.nspname)) + 1) as definition
  from pg_proc f join pg_namespace s on s.oid = f.pronamespace
  where s.oid = (select oid from source)
  order by f.oid`;

// "pretty" as above. PostgreSQL makes the internal ones itself, for foreign keys.
const TRIGGERS = `select r.relname as table, t.tgname as trigger,
    pg_get_triggerdef(t.oid, true) as definition,
    case t.tgenabled when 'D' then 'disable' when 'R' then 'enable replica'
                     when 'A' then 'enable always' end as state
  from pg_trigger t
  join relation r on r.oid = t.tgrelid
  where not t.tgisinternal
  order by t.oid`;

// Objects are named as COMMENT ON wants them.
const COMMENTS = `select case r.relkind when 'r' then 'table' when 'v' then 'view'
                   when 'S' then 'sequence' else 'index' end as kind,
    quote_ident(r.relname) as name, d.description as comment
  from pg_description d
  join relation r on d.classoid = 'pg_class'::regclass and d.objoid = r.oid and d.objsubid = 0
  union all
  select 'column', format('%I.%I', r.relname, a.attname), d.description
  from pg_description d
  join relation r on d.classoid = 'pg_class'::regclass and d.objoid = r.oid
  join pg_attribute a on a.attrelid = r.oid and a.attnum = d.objsubid and d.objsubid > 0
  union all
  select 'constraint', format('%I on %I', c.conname, r.relname), d.description
  from pg_description d
  join pg_constraint c on d.classoid = 'pg_constraint'::regclass and d.objoid = c.oid
  join relation r on r.oid = c.conrelid
  union all
  select 'trigger', format('%I on %I', t.tgname, r.relname), d.description
  from pg_trigger t
  join pg_description d on d.classoid = 'pg_trigger'::regclass and d.objoid = t.oid
  join relation r on r.oid = t.tgrelid
  union all
  select 'function', f.oid::regprocedure::text, d.description
  from pg_proc f
  join pg_description d on d.classoid = 'pg_proc'::regclass and d.objoid = f.oid
  where f.pronamespace = (select oid from source)
  union all
  select 'statistics', quote_ident(s.stxname), d.description
  from pg_description d
  join pg_statistic_ext s on d.classoid = 'pg_statistic_ext'::regclass and d.objoid = s.oid
  where s.stxnamespace = (select oid from source)`;

/** The statements that make the relations of a schema in the current one. */
async function describeSchema(
  session: TablesSession,
  source: string,
): Promise<string[]> {
  const read = <Row extends object>(query: string) =>
    session.query<Row>(`${SOURCE} ${query}`, [source]);
  const sequences = await read<SequenceRow>(SEQUENCES);
  const columns = await read<ColumnRow>(COLUMNS);
  const relations = await read<{
    table: string;
    kind: 'r' | 'v';
    options: string[];
    definition: string | null;
  }>(TABLES);
  const constraints = await read<{
    table: string;
    constraint: string;
    type: string;
    definition: string;
    index: string | null;
    options: string[] | null;
  }>(CONSTRAINTS);
  const indexes = await read<{ definition: string }>(INDEXES);
  const statistics = await read<{
    name: string;
    table: string;
    kinds: string[];
    columns: string;
    target: number | null;
  }>(STATISTICS);
  const comments = await read<{ kind: string; name: string; comment: string }>(
    COMMENTS,
  );
  const functions = await read<{ definition: string }>(FUNCTIONS);
  const triggers = await read<{
    table: string;
    trigger: string;
    definition: string;
    state: string | null;
  }>(TRIGGERS);
  const tables = relations.filter(({ kind }) => kind === 'r');
  const views = relations.filter(({ kind }) => kind === 'v');
  const own = sequences.filter(({ isIdentity }) => !isIdentity);

  return [
    ...functions.map(({ definition }) => `create function ${definition}`),
    ...own.map(
      each =>
        `create sequence ${name(each.sequence)} as ${each.type} ${rangeOf(
          each,
        )}`,
    ),
    ...tables.map(({ table, options }) => {
      const items = columns
        .filter(column => column.table === table)
        .map(column => columnSql(column, sequences));
      return `create table ${name(table)} (${items.join(', ')})${withOptions(
        options,
      )}`;
    }),
    ...own.flatMap(({ sequence, table, column }) =>
      table && column
        ? [
            `alter sequence ${name(sequence)} owned by ${name(table)}.${name(
              column,
            )}`,
          ]
        : [],
    ),
    ...columns.flatMap(columnSettings),
    // Before the constraints: rows may refer to each other.
    ...(await rowStatements(session, source, tables, columns)),
    ...sequences.flatMap(({ sequence, last }) =>
      last === null
        ? []
        : [`select setval(${text(name(sequence))}::regclass, ${last})`],
    ),
    ...constraints.flatMap(({ table, constraint, definition, ...rest }) => [
      `alter table ${name(table)} add constraint ${name(
        constraint,
      )} ${definition}`,
      ...(rest.index && rest.options
        ? [`alter index ${name(rest.index)} set (${optionList(rest.options)})`]
        : []),
    ]),
    ...indexes.map(({ definition }) => definition),
    ...views.map(
      ({ table, options, definition }) =>
        `create view ${name(table)}${withOptions(options)} as ${definition}`,
    ),
    ...statistics.flatMap(each => [
      `create statistics ${name(each.name)}${
        each.kinds.length > 0 ? ` (${each.kinds.join(', ')})` : ''
      } on ${each.columns} from ${name(each.table)}`,
      ...(each.target === null
        ? []
        : [
            `alter statistics ${name(each.name)} set statistics ${each.target}`,
          ]),
    ]),
    // After the rows, which are copied as they are.
    ...triggers.flatMap(({ table, trigger, definition, state }) => [
      definition,
      ...(state
        ? [`alter table ${name(table)} ${state} trigger ${name(trigger)}`]
        : []),
    ]),
    ...comments.map(
      each => `comment on ${each.kind} ${each.name} is ${text(each.comment)}`,
    ),
  ];
}

function columnSql(column: ColumnRow, sequences: SequenceRow[]): string {
  const parts = [name(column.column), column.type];
  if (column.collation) {
    parts.push(`collate ${column.collation}`);
  }
  if (column.generated) {
    const kind = column.generated === 's' ? 'stored' : 'virtual';
    parts.push(`generated always as (${column.default}) ${kind}`);
  } else if (column.default !== null) {
    parts.push(`default ${column.default}`);
  }
  const identity = sequences.find(
    each =>
      each.isIdentity &&
      each.table === column.table &&
      each.column === column.column,
  );
  if (identity) {
    parts.push(
      `generated ${
        column.identity === 'a' ? 'always' : 'by default'
      } as identity ` +
        `(sequence name ${name(identity.sequence)} ${rangeOf(identity)})`,
    );
  }
  if (column.notNull) {
    const constraint = column.notNullName
      ? `constraint ${name(column.notNullName)} `
      : '';
    parts.push(`${constraint}not null`);
  }
  return parts.join(' ');
}

function columnSettings(column: ColumnRow): string[] {
  const alter = `alter table ${name(column.table)} alter column ${name(
    column.column,
  )}`;
  return [
    ...(column.options ? [`${alter} set (${optionList(column.options)})`] : []),
    ...(column.statistics === null
      ? []
      : [`${alter} set statistics ${column.statistics}`]),
    ...(column.storage ? [`${alter} set storage ${column.storage}`] : []),
    ...(column.compression
      ? [`${alter} set compression ${column.compression}`]
      : []),
  ];
}

function rangeOf(sequence: SequenceRow): string {
  return (
    `increment by ${sequence.increment} minvalue ${sequence.minimum} ` +
    `maxvalue ${sequence.maximum} start with ${sequence.start} ` +
    `cache ${sequence.cache} ${sequence.cycles ? 'cycle' : 'no cycle'}`
  );
}

function withOptions(options: string[]): string {
  return options.length > 0 ? ` with (${optionList(options)})` : '';
}

/** Options as the catalogs have them, `name=value`, as SQL. */
function optionList(options: string[]): string {
  return options
    .map(option => {
      const at = option.indexOf('=');
      const key = option.slice(0, at).split('.').map(name).join('.');
      return `${key} = ${text(option.slice(at + 1))}`;
    })
    .join(', ');
}

/** Statements that copy the rows: upstream's list of migrations, and what these insert. */
async function rowStatements(
  session: TablesSession,
  source: string,
  tables: { table: string }[],
  columns: ColumnRow[],
): Promise<string[]> {
  const filled = await session.query<{ table: string }>(
    tables
      .map(
        ({ table }) =>
          `select ${text(table)} as table where exists (select from ${name(
            source,
          )}.${name(table)})`,
      )
      .join(' union all '),
  );
  return filled.map(({ table }) => {
    const list = columns
      .filter(column => column.table === table && !column.generated)
      .map(({ column }) => name(column))
      .join(', ');
    return (
      `insert into ${name(table)} (${list}) overriding system value ` +
      `select ${list} from ${name(source)}.${name(table)}`
    );
  });
}
