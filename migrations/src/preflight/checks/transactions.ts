import { ok, warning } from '../Finding';
import type { Outcome } from '../Finding';
import type { PreflightCheck, PreflightContext } from '../PreflightCheck';
import { enumerate, formatThings } from '../../text';

const DEFAULT_SECONDS = 60;

const WHY =
  'Indexes are built only when transactions older than the build have ended, and ' +
  'locks are waited for.';

/** Transactions that the phases would have to wait for. */
export const transactions: PreflightCheck = {
  name: 'long transactions',
  scope: 'server',
  async run(context) {
    const outcomes = [
      ...(await sessions(context)),
      ...(await prepared(context)),
      ...(await slots(context)),
    ];
    const hidden = await hiddenSessions(context);
    return outcomes.length > 0 || hidden.length > 0
      ? [...outcomes, ...hidden]
      : [ok('No long transaction is open in this database.')];
  },
};

// The texts of queries are left out: they may hold what nobody else should read.
async function sessions({
  executor,
  options,
}: PreflightContext): Promise<Outcome[]> {
  const seconds = options.longTransactionSeconds ?? DEFAULT_SECONDS;
  const rows = await executor.read<{
    pid: number;
    login: string | null;
    application: string;
    state: string;
    seconds: number;
  }>(
    `select pid, usename as login, application_name as application,
            coalesce(state, backend_type) as state,
            extract(epoch from clock_timestamp() - xact_start)::int as seconds
       from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()
        and xact_start < clock_timestamp() - make_interval(secs => $1)
      order by xact_start`,
    [seconds],
  );
  if (rows.length === 0) {
    return [];
  }
  const list = rows.map(
    row =>
      `process ${row.pid} of ${row.login ?? 'the server'} ` +
      `("${row.application}", ${row.state}, ${row.seconds} s)`,
  );
  return [
    warning(
      `${formatThings(
        rows.length,
        'transaction',
      )} open for more than ${seconds} s: ` + `${enumerate(list)}.`,
      {
        advice: `${WHY} Wait for them, or end what has been forgotten.`,
        details: rows,
      },
    ),
  ];
}

/** They belong to no session, and keep their locks until somebody ends them. */
async function prepared({
  executor,
  facts,
}: PreflightContext): Promise<Outcome[]> {
  const rows = await executor.read<{
    name: string;
    owner: string;
    since: Date;
    /** Those of the three that it has locked. */
    tables: string[];
  }>(
    `select gid as name, owner, prepared as since,
            array(select distinct c.relname::text
                    from pg_locks own
                    join pg_locks l on l.pid is null
                                   and l.virtualtransaction = own.virtualtransaction
                    join pg_class c on c.oid = l.relation
                   where own.transactionid = x.transaction and own.pid is null
                     and l.relation = any ($1) order by 1) as tables
       from pg_prepared_xacts x
      where database = current_database() order by prepared`,
    [facts.tables.map(({ oid }) => oid)],
  );
  if (rows.length === 0) {
    return [];
  }
  const list = rows.map(({ name, owner, since, tables }) => {
    const locked = tables.length > 0 ? `, has locked ${tables.join(', ')}` : '';
    return `"${name}" of ${owner} (since ${since.toISOString()}${locked})`;
  });
  return [
    warning(`Prepared transactions are open: ${enumerate(list)}.`, {
      advice:
        `${WHY} No session ends these: see that somebody commits them, or rolls ` +
        'back those that have been forgotten.',
      details: rows,
    }),
  ];
}

async function slots({ executor }: PreflightContext): Promise<Outcome[]> {
  const rows = await executor.read<{ name: string; age: number }>(
    `select slot_name as name, age(xmin) as age from pg_replication_slots
      where xmin is not null order by 2 desc`,
  );
  if (rows.length === 0) {
    return [];
  }
  const list = rows.map(({ name, age }) => `${name} (${age} transactions)`);
  return [
    warning(`Replication slots keep old rows: ${enumerate(list)}.`, {
      advice:
        'The backfill writes every row anew, and VACUUM can remove the old ones ' +
        'only when these slots have moved on.',
      details: rows,
    }),
  ];
}

/** Without pg_read_all_stats, PostgreSQL shows only that others are connected. */
async function hiddenSessions({
  executor,
}: PreflightContext): Promise<Outcome[]> {
  const [{ hidden }] = await executor.read<{ hidden: number }>(
    `select count(*)::int as hidden from pg_stat_activity a
      where a.datname = current_database() and a.pid <> pg_backend_pid()
        and a.usesysid is not null
        and not pg_has_role(current_user, a.usesysid, 'USAGE')
        and not pg_has_role(current_user, 'pg_read_all_stats', 'USAGE')`,
  );
  return hidden === 0
    ? []
    : [
        warning(
          `The login may not see how old the transactions of ${formatThings(
            hidden,
            'other session',
          )} are.`,
          { advice: 'Let a superuser grant it pg_monitor.' },
        ),
      ];
}
