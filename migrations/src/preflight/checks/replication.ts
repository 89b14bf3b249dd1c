import { findPublications } from '../../schema/publications';
import { TENANT_TABLES } from '../../schema/tables';
import { enumerate } from '../../text';
import { failure, warning } from '../PreflightCheck';
import type {
  Outcome,
  PreflightCheck,
  PreflightContext,
} from '../PreflightCheck';

/** Publications, replica identities and slots: what readers of the log get of the tables. */
export const replication: PreflightCheck = {
  name: 'replication',
  scope: 'server',
  fine: 'No publication has the tables, and no slot of this database is read otherwise.',
  async run(context) {
    return [
      ...(await publications(context)),
      ...(await identities(context)),
      ...(await slots(context)),
    ];
  },
};

/** After the swap a publication may have the tables, as long as it does not grow with tenants. */
async function publications(context: PreflightContext): Promise<Outcome[]> {
  const found = await findPublications(context);
  if (!found) {
    return [];
  }
  const { message, advice, sql, growing } = found;
  if (!context.facts.swapped) {
    return [failure(message, { advice, sql })];
  }
  return growing.length > 0
    ? [
        warning(
          `Publications get the tables of each new tenant: ${enumerate(
            growing,
          )}. A subscriber stops at one that it lacks.`,
          { advice: 'Let them name their tables.' },
        ),
      ]
    : [];
}

/** Partitions have the default identity or all columns, which is more than any other. */
async function identities({
  executor,
  facts,
}: PreflightContext): Promise<Outcome[]> {
  const rows = await executor.read<{ name: string }>(
    `select relname as name from pg_class
      where oid = any ($1) and relkind = 'r' and relreplident in ('i', 'n')
      order by array_position($2, relname::text)`,
    [facts.tables.map(({ oid }) => oid), [...TENANT_TABLES]],
  );
  return rows.length === 0
    ? []
    : [
        warning(
          `The replica identity of ${enumerate(
            rows.map(({ name }) => name),
          )} is an index, or nothing: from phase 5 on it is all columns.`,
        ),
      ];
}

interface Slot {
  name: string;
  plugin: string;
  active: boolean;
}

/** A slot without a publication decodes every table of the database. */
async function slots({ executor }: PreflightContext): Promise<Outcome[]> {
  const rows = await executor.read<Slot>(
    `select slot_name as name, plugin, active from pg_replication_slots
      where slot_type = 'logical' and database = current_database() and not temporary
      order by 1`,
  );
  const decoding = rows.filter(({ plugin }) => plugin !== 'pgoutput');
  const idle = rows.filter(({ active }) => !active);
  const list = (some: Slot[]) =>
    enumerate(some.map(({ name, plugin }) => `${name} (${plugin})`));
  return [
    ...(decoding.length > 0
      ? [
          warning(
            `Slots decode every table, without a publication: ${list(
              decoding,
            )}. They get the tables of every tenant, and from phase 5 on changes of their partitions.`,
            {
              advice:
                'Let their readers name the tables that they want, such as by add-tables of wal2json.',
              details: decoding,
            },
          ),
        ]
      : []),
    ...(idle.length > 0
      ? [
          warning(
            `Nothing reads these slots, so that the server keeps all that the phases write to its log: ${list(
              idle,
            )}.`,
            {
              advice: 'Start their readers, or drop the slots.',
              sql: idle
                .map(
                  ({ name }) => `select pg_drop_replication_slot('${name}');`,
                )
                .join('\n'),
              details: idle,
            },
          ),
        ]
      : []),
  ];
}

const SHORTER_WAITS = `-- At each standby, before phase 1:
alter system set max_standby_streaming_delay = '1s';
select pg_reload_conf();
-- At each standby, after phase 5:
alter system reset max_standby_streaming_delay;
select pg_reload_conf();`;

/** Servers that replay the log, the locks of the phases among it. */
export const standbys: PreflightCheck = {
  name: 'standbys',
  scope: 'server',
  fine: 'No standby follows the server by streaming replication or a slot.',
  async run({ executor, facts }) {
    const rows = await executor.read<{
      name: string;
      hidden: boolean;
    }>(
      `select coalesce(nullif(r.application_name, ''), 'process ' || r.pid) as name,
              r.state is null as hidden
         from pg_stat_replication r
        where r.state is distinct from 'backup' and not exists (
          select from pg_replication_slots s
           where s.active_pid = r.pid and s.slot_type = 'logical')
        union all
       select 'slot ' || slot_name, false from pg_replication_slots
        where slot_type = 'physical' and not active
        order by 1`,
    );
    const hidden = rows.some(each => each.hidden);
    return rows.length === 0
      ? []
      : [
          warning(
            `${
              hidden
                ? `Without pg_monitor, the login ${facts.login} does not see whether these are standbys`
                : 'Standbys replay the log of this server'
            }: ${enumerate(
              rows.map(({ name }) => name),
            )}. A query there that meets a lock of a phase delays others by 30 s.`,
            {
              advice:
                'Let such a query be cancelled after a second, or send reads to this server meanwhile.',
              sql: SHORTER_WAITS,
              details: rows,
            },
          ),
        ];
  },
};
