import {
  CHANGE_LOG,
  dropChangeLog,
  dropLogTriggers,
  logTriggers,
} from '../copy/changeLog';
import { dropFence, dropFenceFunction } from '../copy/fence';
import { REPLAY } from '../copy/replay';
import type { BriefTransaction } from '../engine/Executor';
import type { Creation, StepContext } from '../engine/Step';
import { Journal } from '../engine/journal';
import { recordedBy } from '../engine/ProductMigration';
import {
  explainTaken,
  foreignNames,
  recording,
  renewRecord,
  refuseStatement,
} from '../engine/ownership';
import { RefusedError } from '../errors';
import { operatorCommand } from '../operatorCommand';
import { phases } from '../phases';
import { refuseDependentsOf } from '../schema/dependents';
import { relationExists } from '../schema/lookups';
import { isSwapped, oldName } from '../schema/partitions';
import { TENANT_TABLES } from '../schema/tables';
import { limitWaits, lockTogether } from '../session/lockRetries';
import { LOCK_CLASS } from '../session/operatorLock';
import { escapeIdentifier, escapeLiteral } from '../sql';

// What a cleanup drops.
const DROPPED: Creation[] = [
  ...TENANT_TABLES.map(
    (table): Creation => ({ kind: 'original', name: oldName(table) }),
  ),
  { kind: 'relation', name: CHANGE_LOG },
  ...logTriggers,
];

/** For how long, in hours, the tables of before the swap are kept at least. */
export const RETENTION_HOURS = 24;

/** What `migration_state` remembers of the last swap. */
interface SwapState {
  at: string;
}

/**
 * Drops the tables of before the swap, and everything that only served the way
 * back: the change log, its triggers and functions, and with the tables the
 * temporary indexes (specification, Limits: old table retention).
 *
 * @returns whether there was anything to drop
 * @throws {@link RefusedError} before the swap, and within 24 hours of it unless
 *   `settings.force` is set
 */
export async function cleanup(context: StepContext): Promise<boolean> {
  const { executor, settings } = context;
  await refuseBeforeSwap(context);
  if (!(await isLeft(context))) {
    return false;
  }
  if (!settings.force) {
    await refuseEarly(context);
  }
  const journal = await Journal.read(executor, recordedBy(phases));
  await renewRecord(context, journal);
  const names = await foreignNames(context, journal, [
    { creates: () => DROPPED },
  ]);
  if (names.length > 0) {
    throw new RefusedError(explainTaken(names));
  }
  await refuseDependentsOf(executor, [
    ...TENANT_TABLES.map(oldName),
    CHANGE_LOG,
  ]);
  for (const transaction of cleanupTransactions(context)) {
    await recording(context, DROPPED).executor.transaction(transaction);
  }
  return true;
}

/** The transactions of a cleanup; each can be repeated. */
export function cleanupTransactions({
  state,
}: StepContext): BriefTransaction[] {
  return [
    ...TENANT_TABLES.map(table => ({
      title: `Stop logging the changes of ${table}`,
      locks: `ACCESS EXCLUSIVE on ${table}, for a change of the catalog.`,
      tables: [table],
      statements: dropLogTriggers(table),
    })),
    // It may still be there.
    ...dropFence,
    {
      title: 'Drop the tables of before the swap and the change log',
      locks:
        `ACCESS EXCLUSIVE on tenants, which they reference, and ${CHANGE_LOG}, for a change of ` +
        'the catalog, and on tables that are not in use.',
      tables: ['tenants', CHANGE_LOG],
      statements: [
        ...[...TENANT_TABLES]
          .reverse()
          .map(table => `drop table if exists ${oldName(table)}`),
        ...dropChangeLog(),
        `drop function if exists ${REPLAY}()`,
        dropFenceFunction,
        state.put('cleanup', { done: true }),
      ],
    },
  ];
}

async function isLeft({ executor }: StepContext): Promise<boolean> {
  for (const name of [...TENANT_TABLES.map(oldName), CHANGE_LOG]) {
    if (await relationExists(executor, name)) {
      return true;
    }
  }
  return false;
}

/** @throws {@link RefusedError} while the tables of before are in use */
async function refuseBeforeSwap({ executor }: StepContext): Promise<void> {
  if (!(await isSwapped(executor))) {
    throw new RefusedError(
      'The partitioned tables are not in use: cleaning up would drop nothing but the ' +
        'way to them. Run it after phase 5, or ' +
        `"${operatorCommand('rollback')}" to undo phases.`,
    );
  }
}

async function refuseEarly({ executor, state }: StepContext): Promise<void> {
  const swapped = await state.get<SwapState>('swap');
  const [{ hours }] = await executor.read<{ hours: number }>(
    'select extract(epoch from now() - $1::timestamptz)::float8 / 3600 as hours',
    [swapped?.at],
  );
  if (hours < RETENTION_HOURS) {
    throw new RefusedError(
      `The tables were swapped ${hours.toFixed(
        1,
      )} hours ago, and the old ones are ` +
        `the way back for ${RETENTION_HOURS} hours. Give --force to drop them now.`,
    );
  }
}

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
    ? `pg_cron keeps its jobs in the database ${cron.database}. Run there:\n` +
        `select cron.schedule_in_database(${job}, '${EVERY_TEN_MINUTES}', ${command}, ` +
        `${escapeLiteral(cron.current)})\n` +
        `and when the old tables are gone:\n${endJob(job)}`
    : `pg_cron is not installed in this database: run "${operatorCommand(
        'cleanup',
      )}" without ` +
        `--schedule when the swap is ${RETENTION_HOURS} hours old.`;
}

function endJob(job: string): string {
  return `select cron.unschedule(jobid) from cron.job where jobname = ${job}`;
}

/**
 * The job that may be in another database of the server, and the statement that ends it there.
 * The jobs of that database can't be read from here.
 */
export async function describeJobElsewhere(
  context: StepContext,
): Promise<string | undefined> {
  const { here, database, current } = await findCron(context);
  return here || database === null || database === current
    ? undefined
    : `If the job ${jobName(
        context,
      )} was scheduled in the database ${database}, run this there to end it: ${endJob(
        escapeLiteral(jobName(context)),
      )}`;
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
