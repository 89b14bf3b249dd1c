import type { StepContext } from '../engine/Step';
import { RefusedError } from '../errors';
import { oldName } from '../schema/partitions';
import { escapeIdentifier, escapeLiteral } from '../sql';
import { LOCK_CLASS } from '../session/operatorLock';
import {
  cleanupTransactions,
  refuseBeforeSwap,
  RETENTION_HOURS,
} from './cleanup';
import { operatorCommand } from '../operatorCommand';

const EVERY_TEN_MINUTES = '*/10 * * * *';

/** Where pg_cron is. */
interface Cron {
  /** Whether its functions are in this database. */
  here: boolean;
  /** The database that its jobs are kept in, if the server has loaded it. */
  database: string | null;
  current: string;
}

/**
 * Lets pg_cron clean up as soon as the tables of before the swap are old enough.
 *
 * The job looks every ten minutes: it waits for no lock longer than we do, leaves
 * everything alone while an operator is at work or after a rollback, and removes
 * itself when it is done.
 *
 * @throws {@link RefusedError} before the swap, and without pg_cron
 */
export async function scheduleCleanup(context: StepContext): Promise<void> {
  await refuseBeforeSwap(context);
  const cron = await findCron(context);
  const job = escapeLiteral(jobName(context));
  const command = escapeLiteral(cleanupJob(context));
  if (!cron.here) {
    throw new RefusedError(adviseWithoutCron(cron, job, command));
  }
  await context.executor.execute(
    `select cron.schedule(${job}, '${EVERY_TEN_MINUTES}', ${command})`,
  );
}

function adviseWithoutCron(cron: Cron, job: string, command: string): string {
  return cron.database
    ? `pg_cron keeps its jobs in the database ${cron.database}. Run this there:\n` +
        `select cron.schedule_in_database(${job}, '${EVERY_TEN_MINUTES}', ${command}, ` +
        `${escapeLiteral(cron.current)})`
    : `pg_cron is not installed in this database: run "${operatorCommand(
        'cleanup',
      )}" without ` +
        `--schedule when the swap is ${RETENTION_HOURS} hours old.`;
}

function jobName({ settings }: StepContext): string {
  return `tenancy-cleanup-${settings.schema}`;
}

async function findCron({ executor }: StepContext): Promise<Cron> {
  const [cron] = await executor.read<Cron>(
    `select exists (select from pg_extension where extname = 'pg_cron') as here,
            nullif(current_setting('cron.database_name', true), '') as database,
            current_database() as current`,
  );
  return cron;
}

/** The cleanup as one statement that any session can run at any time. */
export function cleanupJob(context: StepContext): string {
  const { schema, lockTimeoutMs } = context.settings;
  const statements = cleanupTransactions(context).flatMap(
    transaction => transaction.statements,
  );
  return `do $cleanup$
begin
  perform set_config('search_path', ${escapeLiteral(
    escapeIdentifier(schema),
  )}, true);
  perform set_config('lock_timeout', '${lockTimeoutMs}ms', true);
  if not pg_try_advisory_xact_lock(${LOCK_CLASS}, hashtext(${escapeLiteral(
    schema,
  )})) then
    return;
  end if;
  if to_regclass('${oldName('entities')}') is not null
     and now() > (select (value ->> 'at')::timestamptz from tenancy_migration_state
                   where key = 'swap') + interval '${RETENTION_HOURS} hours' then
${statements.map(statement => `    ${statement};`).join('\n')}
    if to_regnamespace('cron') is not null then
      execute format('select cron.unschedule(%L)', ${escapeLiteral(
        jobName(context),
      )});
    end if;
  end if;
end $cleanup$`;
}
