import { CHANGE_LOG } from '../../copy/changeLog';
import { operatorCommand } from '../../operatorCommand';
import { oldName } from '../../schema/partitions';
import { TENANT_TABLES } from '../../schema/tables';
import { escapeIdentifier } from '../../sql';
import { explainLookup } from './entityLookup';

/** Something to watch after the cutover. */
interface ChecklistItem {
  title: string;
  /** How often, and for how long. */
  when: string;
  /** Where to look, what is expected, and what to do otherwise. */
  text: string[];
  /** A line for a shell. */
  shell?: string;
  /** One statement, without its semicolon. */
  sql?: string;
}

const KEPT_TABLES = [CHANGE_LOG, ...TENANT_TABLES.map(oldName)];

/** In the order in which problems appear. */
const ITEMS: ChecklistItem[] = [
  {
    title: 'Refused tenants',
    when: 'every 5 minutes for the first hour, then daily for a week',
    text: [
      'Count the answers of the application by their status. 403 with {"error":"Invalid tenant"} is a ' +
        'slug without an active tenant: some are expected of mistyped hostnames. Many of one ' +
        'hostname mean that its first label is taken for a tenant: set app.baseUrl or tenancy.baseDomains.',
      'Other 403 are permissions, and 401 credentials: neither may become more than before the cutover.',
    ],
    shell: `grep -E '"status":"?403' <log of the application> | grep -oE '"url":"[^"?]*' | sort | uniq -c | sort -rn | head`,
  },
  {
    title: 'Queries without a tenant',
    when: 'every 5 minutes for the first hour, then daily for a week',
    text: [
      'Expected: none, in the log of the application and in that of PostgreSQL. Each is a request that ' +
        'failed, never one that saw too much: find the code that queries without setting app.tenant_id.',
    ],
    shell: `grep -E 'permission denied for table (${TENANT_TABLES.join(
      '|',
    )})' <logs>`,
  },
  {
    title: 'Connections',
    when: 'every minute for the first hour, then as part of your monitoring',
    text: [
      'Expected: below the size of the pool (100 for each instance) and of max_connections, and no session ' +
        'idle in a transaction for seconds. In the log of the application, "Timeout acquiring a ' +
        'connection" means that its pool is exhausted.',
    ],
    sql: `select usename, state, count(*) as sessions,
       max(now() - xact_start) as longest_transaction,
       current_setting('max_connections') as max_connections
  from pg_stat_activity
 where datname = current_database() and backend_type = 'client backend'
 group by usename, state
 order by sessions desc`,
  },
  {
    title: 'Waits',
    when: 'every minute for the first hour, and whenever requests are slow',
    text: [
      'Expected: hardly any row that lasts. Lock: see who holds it with pg_blocking_pids. LockManager: ' +
        'queries touch many partitions, so look for those without tenant_id in their condition.',
    ],
    sql: `select wait_event_type, wait_event, count(*) as sessions,
       array_agg(pid) as pids, max(now() - query_start) as longest
  from pg_stat_activity
 where datname = current_database() and state = 'active'
   and wait_event is not null and pid <> pg_backend_pid()
 group by wait_event_type, wait_event
 order by sessions desc`,
  },
  {
    title: 'Look-ups of entities',
    when: 'every 15 minutes for the first hour, then daily for a week',
    text: [
      'Put in a reference of yours. Expected: under 20 ms in all, a single partition, and an index on ' +
        '(tenant_id, entity_ref). Over 50 ms: run "analyze entities", and look at the plan again.',
    ],
    sql: explainLookup('component:default/example', 'text'),
  },
  {
    title: 'Rows of each tenant',
    when: 'after an hour, then daily for a week (it reads all of entities)',
    text: [
      'Expected: the default tenant as before, and others only as they were filled. A tenant near its ' +
        'limit will have writes refused.',
    ],
    sql: `select t.tenant_slug, t.max_entities,
       count(e.entity_id) filter (where e.deleted_at is null) as live,
       count(e.entity_id) filter (where e.deleted_at is not null) as deleted
  from tenants t left join entities e using (tenant_id)
 where t.deleted_at is null
 group by t.tenant_id
 order by live desc`,
  },
  {
    title: 'Sizes of the partitions',
    when: 'daily until the cleanup',
    text: [
      'Expected: entities_catch_all and its siblings stay small. A tenant that has grown large there gets ' +
        `partitions of its own: "${operatorCommand('partition', '<slug>')}".`,
    ],
    sql: `select c.relname as partition, pg_size_pretty(pg_total_relation_size(c.oid)) as size,
       greatest(c.reltuples, 0)::bigint as about_rows
  from pg_class p
  join pg_inherits i on i.inhparent = p.oid
  join pg_class c on c.oid = i.inhrelid
 where p.oid in (${TENANT_TABLES.map(table => `to_regclass('${table}')`).join(
   ', ',
 )})
   and p.relkind = 'p'
 order by pg_total_relation_size(c.oid) desc`,
  },
  {
    title: 'Old tables and change log',
    when: 'every few hours until the cleanup',
    text: [
      `Until the cleanup, ${CHANGE_LOG} takes a row for each write of the default tenant, so that a ` +
        'rollback loses none. Expected: it grows with those writes, and the disk has room until then.',
    ],
    sql: `select name, pg_size_pretty(pg_total_relation_size(to_regclass(name))) as size
  from unnest(array[${KEPT_TABLES.map(name => `'${name}'`).join(', ')}]) as name
 where to_regclass(name) is not null`,
  },
  {
    title: 'Cleanup',
    when: 'once, 24 to 48 hours after the swap',
    text: [
      `When all of the above is as expected: "${operatorCommand(
        'cleanup',
      )}". ` +
        'It ends the possibility to go back with a rollback. No row: the tables are not swapped, or ' +
        'cleaned up.',
    ],
    sql: `select at as swapped, at + interval '24 hours' as not_before,
       at + interval '48 hours' as not_after
  from (select (value ->> 'at')::timestamptz as at
          from tenancy_migration_state where key = 'swap') as swap
 where to_regclass('entities_old') is not null`,
  },
];

// What Markdown has below "1. ".
const TEXT_INDENT = ' '.repeat(3);
const CODE_INDENT = ' '.repeat(7);

const LINE_LENGTH = 80;

const TITLE = `After the cutover: what to watch
================================

Run the queries as a superuser or as the login that runs the migration, in the
latter case with "set role portal_admin" for those that read entities. Where
portal_admin has no BYPASSRLS, leave row_security on.
pg_stat_activity shows the sessions of others only to members of pg_monitor.
Begin with:
`;

const GOING_BACK = [
  'Multi-tenancy alone: set MULTI_TENANCY_ENABLED to false and restart every ' +
    'instance of the application. Every request gets the default tenant; the tables ' +
    'and the data of other tenants stay as they are. When it is on again, run ' +
    `"${operatorCommand('phase6', '--base-url <url>')}" again.`,
  'The tables too, until the cleanup: set MULTI_TENANCY_ENABLED to false, restart ' +
    'every instance of the application, and only then run ' +
    `"${operatorCommand(
      'rollback',
    )}". It refuses while an instance is connected ` +
    'that works with the tables. No write of the default tenant is lost. Rows of ' +
    'other tenants stay in the archive, and the command says how many. (With ' +
    '"--to 4" it would drop the archive, and refuses to while that holds such rows.)',
  'After the cleanup: only from a backup.',
];

/**
 * What to watch after the cutover, for how long, and how to go back: readable in a
 * terminal, and also as Markdown.
 */
export function cutoverChecklist({ schema }: { schema: string }): string {
  const settings = [
    `set search_path = ${escapeIdentifier(schema)}`,
    'set row_security = off',
  ];
  return [
    TITLE,
    `${settings.map(setting => `    ${setting};`).join('\n')}\n`,
    ...ITEMS.map(renderItem),
    'Going back\n----------\n',
    ...GOING_BACK.map(renderBullet),
    '',
  ].join('\n');
}

function renderItem(item: ChecklistItem, index: number): string {
  const { title, when, text, shell, sql } = item;
  const code = shell ?? `${sql};`;
  return [
    `${index + 1}. ${title}`,
    '',
    ...[`When: ${when}.`, ...text].flatMap(paragraph => [
      ...wrap(paragraph).map(line => TEXT_INDENT + line),
      '',
    ]),
    ...code.split('\n').map(line => CODE_INDENT + line),
    '',
  ].join('\n');
}

function renderBullet(text: string): string {
  return `- ${wrap(text).join('\n  ')}`;
}

// What is quoted may be a command, to be copied from one line.
const WORDS = /\S*"[^"]*"\S*|\S+/g;

function wrap(text: string): string[] {
  const lines: string[] = [''];
  for (const word of text.match(WORDS) ?? []) {
    const line = `${lines[lines.length - 1]} ${word}`.trim();
    if (TEXT_INDENT.length + line.length > LINE_LENGTH) {
      lines.push(word);
    } else {
      lines[lines.length - 1] = line;
    }
  }
  return lines;
}
