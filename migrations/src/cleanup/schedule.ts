import { refuseStatement } from '../engine/ownership';
import type { StepContext } from '../engine/Step';
import { RefusedError } from '../errors';
import { operatorCommand } from '../operatorCommand';
import { oldName } from '../schema/partitions';
import { TENANT_TABLES } from '../schema/tables';
import { limitWaits, lockTogether } from '../session/lockRetries';
import { LOCK_CLASS } from '../session/operatorLock';
import { escapeIdentifier, escapeLiteral } from '../sql';
import {
  cleanupTransactions,
  DROPPED,
  refuseBeforeSwap,
  RETENTION_HOURS,
} from './cleanup';

const EVERY_TEN_MINUTES = '*/10 * * * *';

/**
 * Lets pg_cron clean up as soon as the tables of before the swap are old enough.
 *
 * The job looks every ten minutes: it waits for no lock longer than we do, leaves
 * everything alone while an operator is at work or after a rollback, and removes
 * itself when it is done.
 *
 * @throws {@link RefusedError} before the swap, and where pg_cron is not in this database: with
 *   the statements for the one that has it
 */
export async function scheduleCleanup(context: StepContext): Promise<void> {
  const { executor } = context;
  await refuseBeforeSwap(context);
  const job = escapeLiteral(jobName(context));
  const command = escapeLiteral(cleanupJob(context));
  const [cron] = await executor.read<{
    here: boolean;
    database: string | null;
    current: string;
  }>(
    `select exists (select from pg_extension where extname = 'pg_cron') as here,
            nullif(current_setting('cron.database_name', true), '') as database,
            current_database() as current`,
  );
  if (cron.here) {
    await executor.execute(
      `select cron.schedule(${job}, '${EVERY_TEN_MINUTES}', ${command})`,
    );
    return;
  }
  if (cron.database === null) {
    throw new RefusedError(
      `pg_cron is not installed in this database: run "${operatorCommand(
        'cleanup',
      )}" without --schedule when the swap is ${RETENTION_HOURS} hours old.`,
    );
  }
  throw new RefusedError(
    `pg_cron keeps its jobs in the database ${cron.database}. Run there:\n` +
      `select cron.schedule_in_database(${job}, '${EVERY_TEN_MINUTES}', ${command}, ` +
      `${escapeLiteral(cron.current)})\n` +
      'and when the old tables are gone, or after a rollback:\n' +
      `select cron.unschedule(jobid) from cron.job where jobname = ${job}`,
  );
}

function jobName({ settings }: StepContext): string {
  return `tenancy-cleanup-${settings.schema}`;
}

/** The cleanup as one statement that any session can run at any time. */
export function cleanupJob(context: StepContext): string {
  const { schema, maxPauseMs } = context.settings;
  const statements = cleanupTransactions(context).flatMap(
    transaction => transaction.statements,
  );
  return `do $cleanup$
begin
  perform set_config('search_path', ${escapeLiteral(
    escapeIdentifier(schema),
  )}, true);
  if not pg_try_advisory_xact_lock(${LOCK_CLASS}, hashtext(${escapeLiteral(
    schema,
  )})) then
    return;
  end if;
  if to_regclass('${oldName('entities')}') is not null
     and now() > (select (value ->> 'at')::timestamptz from tenancy_migration_state
                   where key = 'swap') + interval '${RETENTION_HOURS} hours' then
${[
  refuseStatement(DROPPED),
  lockTogether(TENANT_TABLES, maxPauseMs),
  `perform${limitWaits(maxPauseMs).slice('select'.length)}`,
  ...statements,
]
  .map(statement => `    ${statement};`)
  .join('\n')}
    if to_regnamespace('cron') is not null then
      execute format('select cron.unschedule(%L)', ${escapeLiteral(
        jobName(context),
      )});
    end if;
  end if;
end $cleanup$`;
}
