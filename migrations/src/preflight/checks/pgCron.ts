import type { Executor } from '../../engine/Executor';
import { readExtension } from '../../schema/extensions';
import { escapeIdentifier } from '../../sql';
import { failure, ok, warning } from '../Finding';
import type { Outcome } from '../Finding';
import type { PreflightCheck, PreflightContext } from '../PreflightCheck';
import { operatorCommand } from '../../operatorCommand';

const NAME = 'pg_cron';

const ELSEWHERE =
  'The jobs run elsewhere then: the application purges deleted entities, and ' +
  `somebody has to run "${operatorCommand('cleanup')}" when its time has come.`;

/** Settings of the server that a login may not be allowed to see. */
interface CronSettings {
  /** Whether the server has loaded it; null where that is hidden. */
  loaded: boolean | null;
  /** The database that its jobs stand in; null where that is hidden or unset. */
  database: string | null;
}

/** The extension that runs the jobs; it may be missing where that is allowed. */
export const pgCron: PreflightCheck = {
  name: NAME,
  scope: 'server',
  async run(context) {
    const { executor, options, facts } = context;
    const { installedIn, available } = await readExtension(executor, NAME);
    if (installedIn) {
      return [await judgeInstalled(context)];
    }
    const found = available
      ? describe(await readSettings(executor), facts.database)
      : {
          message: `${NAME} is not available on the server.`,
          advice: `Install it, such as with the package postgresql-${Math.floor(
            facts.version / 10000,
          )}-cron.`,
        };
    const { message, advice, sql } = found;
    return [
      options.allowMissing.includes(NAME)
        ? warning(message, { advice: ELSEWHERE })
        : failure(message, {
            advice: `${advice} Or give --allow-missing ${NAME}. ${ELSEWHERE}`,
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
  const { loaded } = await readSettings(executor);
  if (loaded === false) {
    return warning(
      `${NAME} is installed in this database, but the server has not loaded it: no job would run.`,
      {
        advice: `Add ${NAME} to shared_preload_libraries and restart the server.`,
      },
    );
  }
  return usable
    ? ok(`${NAME} is installed in this database.`)
    : warning(
        `${NAME} is installed in this database, but the login ${facts.login} may not use it.`,
        {
          advice:
            'Let a superuser run this if the migration is to schedule jobs.',
          sql: `grant usage on schema cron to ${escapeIdentifier(
            facts.login,
          )};`,
        },
      );
}

// From pg_settings, which leaves out what a login may not see; current_setting()
// would fail.
async function readSettings(executor: Executor): Promise<CronSettings> {
  const [settings] = await executor.read<CronSettings>(
    `select max(setting) filter (where name = 'shared_preload_libraries')
              ~ '(^|[, "/])pg_cron' as loaded,
            max(setting) filter (where name = 'cron.database_name') as database
       from pg_settings
      where name in ('shared_preload_libraries', 'cron.database_name')`,
  );
  return settings;
}

function describe(
  { loaded, database }: CronSettings,
  here: string,
): Pick<Outcome, 'message' | 'advice' | 'sql'> {
  if (loaded === false) {
    return {
      message: `${NAME} is available on the server, but not loaded.`,
      advice: `Add it to shared_preload_libraries, set cron.database_name to ${here}, restart the server and create the extension.`,
      sql: `create extension ${NAME};`,
    };
  }
  if (database !== null && database !== here) {
    return {
      message:
        `${NAME} belongs to the database ${database} of this server ` +
        `(cron.database_name), not to ${here}.`,
      advice:
        `Set cron.database_name to ${here}, restart the server and create the ` +
        `extension; or keep it, and schedule the jobs from ${database} with ` +
        'cron.schedule_in_database.',
      sql: `create extension ${NAME};`,
    };
  }
  const hidden =
    database === null
      ? ' (which database it belongs to is hidden from the login)'
      : '';
  return {
    message: `${NAME} is available on the server, but not created in ${here}${hidden}.`,
    advice:
      loaded === null
        ? 'Let a superuser create it, after adding it to shared_preload_libraries if it is not there.'
        : 'Let a superuser create it.',
    sql: `create extension ${NAME};`,
  };
}
