import { STATE_TABLE } from '../engine/MigrationState';
import { readCreated } from '../engine/ownership';
import type { StepContext } from '../engine/Step';
import { RefusedError } from '../errors';
import { defaultTenantPartition, isSwapped } from './partitions';
import { TENANT_SETTING } from './policies';
import { DEFAULT_TENANT_ID, TENANT_TABLES } from './tables';
import type { TenantTable } from './tables';
import { escapeIdentifier } from '../sql';
import { enumerate, script } from '../text';

// A publication holds tables by their OIDs, and its subscribers have tables of their own. So
// nothing of it follows the new column, the new tables and the swap: the tables leave every
// publication before phase 1, and come back after phase 5. What then comes back are the
// partitions of the default tenant: a subscriber from before gets no rows of other tenants.

type Context = Pick<StepContext, 'executor' | 'state' | 'settings'>;

/** The publications that have the tables, or get those that the migration creates. */
export interface Publications {
  message: string;
  advice: string;
  /** The statements for this server and for its subscribers, in their order. */
  sql: string;
  /** Those that get every table which a new tenant adds. */
  growing: string[];
}

interface Row {
  name: string;
  /** FOR ALL TABLES. */
  all: boolean;
  /** FOR TABLES IN SCHEMA, of the tables' schema. */
  ofSchema: boolean;
  /** What follows WITH. */
  options: string;
  members: Member[];
  /** The tables that a growing publication keeps, as SQL. */
  others: string[];
}

interface Member {
  table: TenantTable;
  /** As the publication has it, which after the swap may be a partition. */
  name: string;
  /** Whether the publication names it, and not its schema or nothing. */
  named: boolean;
  columns: string[] | null;
  filter: string | null;
}

/** Where the tables are after the command that is refused. */
interface Way {
  later: string;
  nameLater(table: TenantTable): string;
  columnsLater(columns: string[]): string[];
  /**
   * Lets a login read the default tenant. Row-level security binds the copy that a
   * subscription begins with, and not the changes that follow.
   */
  admit(targets: string[], login: string): string[];
  /** Takes that back. */
  dismiss(targets: string[], login: string): string[];
}

const FORWARD: Way = {
  later: 'after phase 5',
  nameLater: defaultTenantPartition,
  // A list of columns has to have those of the replica identity.
  columnsLater: columns => [...new Set([...columns, 'tenant_id'])],
  // Partitions have no policy of ours, so that it is the only one. No login keeps a right to
  // a partition.
  admit: (targets, login) =>
    targets.flatMap(target => [
      `drop policy if exists ${copyPolicy(login)} on ${target}`,
      `create policy ${copyPolicy(
        login,
      )} on ${target} for select to ${escapeIdentifier(login)} using (true)`,
    ]),
  dismiss: (targets, login) =>
    targets.map(
      target => `drop policy if exists ${copyPolicy(login)} on ${target}`,
    ),
};

function copyPolicy(login: string): string {
  return escapeIdentifier(`replication to ${login}`.slice(0, 63));
}

const BACK: Way = {
  later: 'after the rollback',
  nameLater: table => table,
  // The undo of phase 1 drops it.
  columnsLater: columns => columns.filter(each => each !== 'tenant_id'),
  admit: (_, login) => [
    `alter role ${escapeIdentifier(
      login,
    )} set ${TENANT_SETTING} = '${DEFAULT_TENANT_ID}'`,
  ],
  dismiss: (_, login) => [
    `alter role ${escapeIdentifier(login)} reset ${TENANT_SETTING}`,
  ],
};

/**
 * Refuses a command that changes the tables while a publication has them.
 *
 * @throws {@link RefusedError} with all publications
 */
export async function refusePublications(
  context: Context,
  what: string,
): Promise<void> {
  const found = await findPublications(context);
  if (found) {
    const { message, advice, sql } = found;
    throw new RefusedError(
      `${what}: ${message}\n${advice}\n${sql.replace(/^/gm, '    ')}`,
    );
  }
}

/** The statement that fails if a table in use has been published since the checks. */
export const refuseLaterPublications = `do $$ begin
  if exists (select from pg_publication_rel r join pg_class c on c.oid = r.prrelid
              where coalesce(pg_partition_root(c.oid)::oid, c.oid)
                      in (${TENANT_TABLES.map(
                        table => `'${table}'::regclass`,
                      ).join(', ')})) then
    raise exception 'A table was added to a publication a moment ago'
      using errcode = 'integrity_constraint_violation',
            hint = 'Run the command again: it has the statements that take it out.';
  end if;
end $$`;

/** The publications that have the tables in use, or will have those that are created. */
export async function findPublications(
  context: Context,
): Promise<Publications | undefined> {
  const rows = await readPublications(context);
  if (rows.length === 0) {
    return undefined;
  }
  const way = (await isSwapped(context.executor)) ? BACK : FORWARD;
  const subscribers = await readSubscribers(context);
  const schema = escapeIdentifier(context.settings.schema);
  return {
    growing: rows
      .filter(({ all, ofSchema }) => all || ofSchema)
      .map(({ name }) => name),
    message: `Publications have the tables, or get those that are added: ${enumerate(
      rows.map(row => describe(row, schema)),
    )}. Subscribers stop at a table or column that they lack, and nothing of a publication follows the swap.`,
    advice: [
      'Run these statements in their order.',
      ...(subscribers.subscriptions.length > 0
        ? ['Each subscription is named here as its slot is.']
        : []),
    ].join(' '),
    sql: sections([
      ['At the publisher, now', rows.flatMap(row => removal(row, schema))],
      ['At each subscriber, now', refresh(subscribers)],
      ...comeback(rows, { way, subscribers, schema }),
    ]),
  };
}

function describe({ name, all, ofSchema, members }: Row, schema: string) {
  if (all) {
    return `${name} (FOR ALL TABLES)`;
  }
  return ofSchema
    ? `${name} (TABLES IN SCHEMA ${schema})`
    : `${name} (${members.map(member => member.name).join(', ')})`;
}

async function readPublications({
  executor,
  state,
  settings,
}: Context): Promise<Row[]> {
  const [{ version }] = await executor.read<{ version: number }>(
    `select current_setting('server_version_num')::int as version`,
  );
  const ofSchema =
    version >= 150000
      ? `exists (select from pg_publication_namespace s join pg_namespace n on n.oid = s.pnnspid
                  where s.pnpubid = p.oid and n.nspname = $1)`
      : 'false';
  // PostgreSQL 14 has no lists of columns and no conditions, and 18 more options.
  return executor.read<Row>(
    `with relation as (
       select c.oid, n.nspname as schema, c.relname as name, c.relispartition as part,
              coalesce(pg_partition_root(c.oid)::oid, c.oid) as root
         from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where c.relkind in ('r', 'p') and c.relpersistence = 'p' and c.oid >= 16384
     ), own as (
       select r.*, o.relname as "table" from relation r join pg_class o on o.oid = r.root
        where r.schema = $1 and o.relname = any ($2)
     ), publication as (
       select p.*, ${ofSchema} as ofschema, to_jsonb(p) ->> 'pubgencols' = 's' as generated
         from pg_publication p
     )
     select * from (
       select p.pubname as name, p.puballtables as "all", p.ofschema as "ofSchema",
              format('publish = %L, publish_via_partition_root = %s', concat_ws(', ',
                case when pubinsert then 'insert' end, case when pubupdate then 'update' end,
                case when pubdelete then 'delete' end, case when pubtruncate then 'truncate' end),
                p.pubviaroot::text)
                || case when p.generated then ', publish_generated_columns = stored' else '' end
                as options,
              coalesce((
                select json_agg(json_build_object('table', o."table",
                         'name', format('%I.%I', o.schema, o.name), 'named', r.oid is not null,
                         'columns', case when to_jsonb(r) ->> 'prattrs' is not null
                                         then to_jsonb(t) -> 'attnames' end,
                         'filter', to_jsonb(t) ->> 'rowfilter')
                         order by array_position($2, o."table"::text), o.name)
                  from own o
                  left join pg_publication_rel r on r.prpubid = p.oid and r.prrelid = o.oid
                  left join pg_publication_tables t on t.pubname = p.pubname
                        and t.schemaname = o.schema and t.tablename = o.name
                 where r.oid is not null or (p.puballtables or p.ofschema) and not o.part),
                '[]') as members,
              array(
                select format('%I.%I', c.schema, c.name) from relation c
                 where (p.puballtables or p.ofschema and c.schema = $1) and not c.part
                   and c.oid not in (select oid from own)
                   and c.schema <> 'information_schema' and c.schema !~ '^tenant_([0-9a-f]{32}|template)$'
                   and not (c.schema = $1 and (c.name ~ '^(tenancy|adoption)_' or 'relation ' || c.oid = any ($3)))
                   and not exists (select from pg_publication_rel r
                                    where r.prpubid = p.oid and r.prrelid = c.oid)
                 order by 1) as others
         from publication p) found
      where "all" or "ofSchema" or json_array_length(members) > 0
      order by name`,
    [
      settings.schema,
      [...TENANT_TABLES],
      // Who adopts may be another login than the one that ran the phases.
      (await mayReadState(executor)) ? await readCreated(state) : [],
    ],
  );
}

async function mayReadState(executor: Context['executor']): Promise<boolean> {
  const [{ may }] = await executor.read<{ may: boolean | null }>(
    `select has_table_privilege(to_regclass('${STATE_TABLE}')::oid, 'select') as may`,
  );
  return may === true;
}

interface Subscribers {
  /** The names of the slots, which are those of the subscriptions unless they say otherwise. */
  subscriptions: string[];
  /** Those that need rights to copy the rows that are there already. */
  logins: { name: string; bypassesPolicies: boolean }[];
}

async function readSubscribers({ executor }: Context): Promise<Subscribers> {
  const [row] = await executor.read<Subscribers>(
    `with slot as (
       select s.slot_name, r.rolname, r.rolsuper, r.rolbypassrls
         from pg_replication_slots s
         left join pg_stat_activity a on a.pid = s.active_pid
         left join pg_roles r on r.oid = a.usesysid
        where s.database = current_database() and s.plugin = 'pgoutput' and not s.temporary
          and s.slot_name !~ '^pg_\\d+_sync_')
     select array(select slot_name::text from slot order by 1) as subscriptions,
            coalesce((select json_agg(distinct jsonb_build_object(
                               'name', rolname, 'bypassesPolicies', rolbypassrls))
                        from slot where not rolsuper), '[]') as logins`,
  );
  return row;
}

/** In one transaction, so that the other tables never leave a growing publication. */
function removal(row: Row, schema: string): string[] {
  const name = escapeIdentifier(row.name);
  const kept = row.others.join(', ');
  if (row.all) {
    return [
      'begin',
      `drop publication ${name}`,
      `create publication ${name}${kept ? ` for table ${kept}` : ''} with (${
        row.options
      })`,
      'commit',
    ];
  }
  const alter = `alter publication ${name}`;
  const named = row.members
    .filter(member => member.named)
    .map(member => member.name)
    .join(', ');
  return [
    ...(row.ofSchema
      ? [
          'begin',
          `${alter} drop tables in schema ${schema}`,
          ...(kept ? [`${alter} add table ${kept}`] : []),
          'commit',
        ]
      : []),
    ...(named ? [`${alter} drop table ${named}`] : []),
  ];
}

function refresh({ subscriptions }: Subscribers): string[] {
  return subscriptions.map(
    each => `alter subscription ${escapeIdentifier(each)} refresh publication`,
  );
}

/** How the tables get back into the publications: where they are then. */
function comeback(
  rows: Row[],
  about: { way: Way; subscribers: Subscribers; schema: string },
): [string, string[]][] {
  const { way, subscribers, schema } = about;
  const target = ({ table }: Member) => `${schema}.${way.nameLater(table)}`;
  const members = rows.flatMap(row => row.members);
  if (members.length === 0) {
    return [];
  }
  const names = [...new Set(members.map(({ name }) => name))];
  const targets = [...new Set(members.map(target))];
  const admitted = subscribers.logins.flatMap(({ name, bypassesPolicies }) => {
    const login = escapeIdentifier(name);
    return [
      `grant select on ${targets.join(', ')} to ${login}`,
      ...(bypassesPolicies ? [] : way.admit(targets, name)),
    ];
  });
  const dismissed = subscribers.logins.flatMap(({ name, bypassesPolicies }) => {
    const login = escapeIdentifier(name);
    return [
      ...(way === FORWARD
        ? [`revoke select on ${targets.join(', ')} from ${login}`]
        : []),
      ...(bypassesPolicies ? [] : way.dismiss(targets, name)),
    ];
  });
  return [
    [
      `At each subscriber, ${way.later}`,
      subscribers.subscriptions.length === 0
        ? []
        : [
            `truncate ${names.join(', ')}`,
            ...names.flatMap(name => {
              const { table } = members.find(each => each.name === name)!;
              const later = way.nameLater(table);
              return [
                `alter table ${name} add column if not exists tenant_id uuid`,
                ...(name === `${schema}.${later}`
                  ? []
                  : [`alter table ${name} rename to ${later}`]),
              ];
            }),
          ],
    ],
    [
      `At the publisher, ${way.later}`,
      [
        ...admitted,
        ...rows
          .filter(row => row.members.length > 0)
          .map(
            row =>
              `alter publication ${escapeIdentifier(
                row.name,
              )} add table ${row.members
                .map(each => `${target(each)}${restriction(each, way)}`)
                .join(', ')}`,
          ),
      ],
    ],
    ['At each subscriber, at last', refresh(subscribers)],
    ['At the publisher, once the rows are copied', dismissed],
  ];
}

function restriction({ columns, filter }: Member, way: Way): string {
  const list = columns && way.columnsLater(columns).map(escapeIdentifier);
  return `${list ? ` (${list.join(', ')})` : ''}${
    filter ? ` where (${filter})` : ''
  }`;
}

function sections(parts: [string, string[]][]): string {
  return parts
    .filter(([, statements]) => statements.length > 0)
    .map(([title, statements]) => `-- ${title}:\n${script(statements)}`)
    .join('\n');
}
