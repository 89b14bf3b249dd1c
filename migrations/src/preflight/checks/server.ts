import { RETENTION_HOURS } from '../../cleanup/cleanup';
import type { Executor } from '../../engine/Executor';
import { operatorCommand } from '../../operatorCommand';
import { readExtension, REQUIRED_EXTENSIONS } from '../../schema/lookups';
import { escapeIdentifier } from '../../sql';
import { enumerate, formatThings } from '../../text';
import { failure, ok, warning } from '../PreflightCheck';
import type {
  Outcome,
  PreflightCheck,
  PreflightContext,
} from '../PreflightCheck';

/** The oldest PostgreSQL on which the migration works (specification, B). */
const MINIMUM = 14;

/** Vulnerabilities that show rows past row-level security, and the minors that fix them. */
const LEAKS: { name: string; mended: Record<number, number> }[] = [
  { name: 'CVE-2025-8713', mended: { 14: 19, 15: 14, 16: 10, 17: 6 } },
  { name: 'CVE-2024-10976', mended: { 14: 14, 15: 9, 16: 5, 17: 1 } },
];

/** PostgreSQL 14 or later; warns of minors with {@link LEAKS}. */
export const serverVersion: PreflightCheck = {
  name: 'server version',
  scope: 'server',
  async run({ facts }) {
    return [judgeVersion(facts.version, facts.versionText)];
  },
};

/**
 * Judges a version of PostgreSQL.
 *
 * @param version - `server_version_num`: 140005
 * @param text - `server_version`: 14.5
 */
export function judgeVersion(version: number, text: string): Outcome {
  const major = Math.floor(version / 10000);
  const minor = version % 10000;
  if (major < MINIMUM) {
    return failure(
      `The server is PostgreSQL ${text}; ${MINIMUM} or later is needed.`,
      { advice: 'Upgrade the server first.' },
    );
  }
  const leaks = LEAKS.filter(({ mended }) => minor < (mended[major] ?? 0));
  if (leaks.length > 0) {
    const names = leaks.map(({ name }) => name).join(' and ');
    const needed = Math.max(...leaks.map(({ mended }) => mended[major]));
    return warning(
      `PostgreSQL ${text} can show rows past row-level security (${names}).`,
      { advice: `Update the server to ${major}.${needed} or later.` },
    );
  }
  return ok(`PostgreSQL ${text}.`);
}

const STATEMENTS = 20;

const ADVICE =
  'Connect to the server itself: the lock that keeps a second operator out and ' +
  'the settings of the session belong to one process of the server.';

/** One process of the server serves all of the session, and only this session. */
export const connection: PreflightCheck = {
  name: 'connection',
  scope: 'server',
  async run(context) {
    const { executor, serverPid } = context;
    const pids = new Set<number>();
    let age = 0;
    for (let each = 0; each < STATEMENTS; each += 1) {
      const [row] = await executor.read<{ pid: number; age: number }>(
        `select pid, extract(epoch from clock_timestamp() - backend_start)::float8 as age
           from pg_stat_get_activity(pg_backend_pid())`,
      );
      pids.add(row.pid);
      age = row.age;
    }
    if (pids.size > 1) {
      return [
        failure(
          `${pids.size} processes of the server answered ${STATEMENTS} statements: ` +
            'something pools the connections by the transaction.',
          { advice: ADVICE },
        ),
      ];
    }
    // An idle pooler hands out the same connection each time. But its greeting names
    // another process, or the connection is older than this command. Two durations can
    // be compared even if the clocks differ.
    if (serverPid !== undefined && !pids.has(serverPid)) {
      return [
        pooled(
          'The process of the server is not the one that greeted the command',
          context,
        ),
      ];
    }
    if (age > process.uptime() + 1) {
      return [pooled('The connection is older than this command', context)];
    }
    return [ok('One process of the server serves the session.')];
  },
};

/** Pooling by the session does no harm, and cannot be told apart: --force accepts it. */
function pooled(sign: string, { settings }: PreflightContext): Outcome {
  return {
    level: settings.force ? 'warning' : 'failure',
    message: `${sign}: something pools connections.`,
    advice: `${ADVICE} Give --force if it pools by the session.`,
  };
}

/** The server takes writes: it is no standby, and nothing is read-only. */
export const writable: PreflightCheck = {
  name: 'writable',
  scope: 'server',
  async run({ executor, facts }) {
    // Not transaction_read_only, which a dry run sets itself.
    const [{ standby, readOnly }] = await executor.read<{
      standby: boolean;
      readOnly: boolean;
    }>(
      `select pg_is_in_recovery() as standby,
              current_setting('default_transaction_read_only')::boolean as "readOnly"`,
    );
    if (standby) {
      return [
        failure('The server is a standby, which takes no writes.', {
          advice: 'Connect to the primary server.',
        }),
      ];
    }
    if (readOnly) {
      return [
        failure('default_transaction_read_only is on for this login here.', {
          advice:
            'Turn it off where it was set: for the server, the database or the login.',
          sql:
            `alter database ${escapeIdentifier(
              facts.database,
            )} reset default_transaction_read_only;\n` +
            `alter role ${escapeIdentifier(
              facts.login,
            )} reset default_transaction_read_only;`,
        }),
      ];
    }
    return [ok('The server takes writes.')];
  },
};

/** The extensions that phase 1 creates where they are missing. */
export const extensions: PreflightCheck = {
  name: 'extensions',
  scope: 'server',
  async run(context) {
    const outcomes: Outcome[] = [];
    for (const name of REQUIRED_EXTENSIONS) {
      outcomes.push(await judgeExtension(context, name));
    }
    return outcomes;
  },
};

async function judgeExtension(
  { executor, facts }: PreflightContext,
  name: string,
): Promise<Outcome> {
  const { installedIn, available, creatable } = await readExtension(
    executor,
    name,
  );
  if (installedIn) {
    return ok(`${name} is installed, in the schema ${installedIn}.`);
  }
  if (!available) {
    return failure(`${name} is not available on the server.`, {
      advice:
        'Install the package of the server that has the additional modules, such ' +
        'as postgresql-contrib.',
    });
  }
  if (!creatable) {
    return failure(
      `${name} is not installed, and the login ${facts.login} may not create it.`,
      {
        advice: `Let a superuser run this in the database ${facts.database}.`,
        sql: `create extension ${escapeIdentifier(name)};`,
      },
    );
  }
  return ok(`${name} is not installed yet: phase 1 creates it.`);
}

const PG_CRON = 'pg_cron';

const CRON_ELSEWHERE =
  'The jobs run elsewhere then: the application purges deleted entities, and you ' +
  `run "${operatorCommand(
    'cleanup',
  )}" ${RETENTION_HOURS} hours after the swap.`;

/** Settings of the server, some of which the login may not see. */
interface CronSettings {
  /** Whether the server has loaded it; null if hidden. */
  loaded: boolean | null;
  /** The database of its jobs; null if hidden or unset. */
  database: string | null;
}

/** The extension that runs the jobs; `--allow-missing` makes its absence a warning. */
export const pgCron: PreflightCheck = {
  name: PG_CRON,
  scope: 'server',
  async run(context) {
    const { executor, options, facts } = context;
    const { installedIn, available } = await readExtension(executor, PG_CRON);
    if (installedIn) {
      return [await judgeInstalled(context)];
    }
    const found = available
      ? describeCron(await readCronSettings(executor), facts.database)
      : {
          message: `${PG_CRON} is not available on the server.`,
          advice: `Install it, such as with the package postgresql-${Math.floor(
            facts.version / 10000,
          )}-cron.`,
        };
    const { message, advice, sql } = found;
    return [
      options.allowMissing.includes(PG_CRON)
        ? warning(message, { advice: CRON_ELSEWHERE })
        : failure(message, {
            advice: `${advice} Or give --allow-missing ${PG_CRON}. ${CRON_ELSEWHERE}`,
            sql,
          }),
    ];
  },
};

async function judgeInstalled({
  executor,
  facts,
}: PreflightContext): Promise<Outcome> {
  const [{ usable }] = await executor.read<{ usable: boolean }>(
    `select has_schema_privilege(session_user, 'cron', 'usage') as usable`,
  );
  const { loaded } = await readCronSettings(executor);
  if (loaded === false) {
    return warning(
      `${PG_CRON} is installed in this database, but the server has not loaded it: no job would run.`,
      {
        advice: `Add ${PG_CRON} to shared_preload_libraries and restart the server.`,
      },
    );
  }
  return usable
    ? ok(`${PG_CRON} is installed in this database.`)
    : warning(
        `${PG_CRON} is installed in this database, but the login ${facts.login} may not use it.`,
        {
          advice:
            'Let a superuser run this if the migration is to schedule jobs.',
          sql: `grant usage on schema cron to ${escapeIdentifier(
            facts.login,
          )};`,
        },
      );
}

// From pg_settings, which leaves out hidden settings; current_setting() would fail.
async function readCronSettings(executor: Executor): Promise<CronSettings> {
  const [settings] = await executor.read<CronSettings>(
    `select max(setting) filter (where name = 'shared_preload_libraries')
              ~ '(^|[, "/])pg_cron' as loaded,
            max(setting) filter (where name = 'cron.database_name') as database
       from pg_settings
      where name in ('shared_preload_libraries', 'cron.database_name')`,
  );
  return settings;
}

function describeCron(
  { loaded, database }: CronSettings,
  here: string,
): Pick<Outcome, 'message' | 'advice' | 'sql'> {
  if (loaded === false) {
    return {
      message: `${PG_CRON} is available on the server, but not loaded.`,
      advice: `Add it to shared_preload_libraries, set cron.database_name to ${here}, restart the server and create the extension.`,
      sql: `create extension ${PG_CRON};`,
    };
  }
  if (database !== null && database !== here) {
    return {
      message:
        `${PG_CRON} belongs to the database ${database} of this server ` +
        `(cron.database_name), not to ${here}.`,
      advice:
        `Set cron.database_name to ${here}, restart the server and create the ` +
        `extension; or keep it, and schedule the jobs from ${database} with ` +
        `cron.schedule_in_database, as "${operatorCommand(
          'cleanup',
          '--schedule',
        )}" prints it with the statement that ends it.`,
      sql: `create extension ${PG_CRON};`,
    };
  }
  const hidden =
    database === null
      ? ' (which database it belongs to is hidden from the login)'
      : '';
  return {
    message: `${PG_CRON} is available on the server, but not created in ${here}${hidden}.`,
    advice:
      loaded === null
        ? 'Let a superuser create it, after adding it to shared_preload_libraries if it is not there.'
        : 'Let a superuser create it.',
    sql: `create extension ${PG_CRON};`,
  };
}

const LONG_SECONDS = 60;

const WHY_WAIT =
  'Indexes are built only when transactions older than the build have ended, and ' +
  'locks are waited for.';

/** Transactions that the phases would wait for. */
export const transactions: PreflightCheck = {
  name: 'long transactions',
  scope: 'server',
  fine: 'No long transaction is open in this database.',
  async run(context) {
    return [
      ...(await sessions(context)),
      ...(await prepared(context)),
      ...(await slots(context)),
      ...(await hiddenSessions(context)),
    ];
  },
};

// Without the texts of queries, which may hold secrets.
async function sessions({
  executor,
  options,
}: PreflightContext): Promise<Outcome[]> {
  const seconds = options.longTransactionSeconds ?? LONG_SECONDS;
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
        advice: `${WHY_WAIT} Wait for them, or end what has been forgotten.`,
        details: rows,
      },
    ),
  ];
}

/** Prepared transactions belong to no session, and keep their locks until they are ended. */
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
        `${WHY_WAIT} No session ends these: commit them (COMMIT PREPARED), or roll back ` +
        'those that were forgotten (ROLLBACK PREPARED).',
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

/** Without pg_read_all_stats, PostgreSQL hides how old transactions of other roles are. */
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
