import { oneTenantCheck, TENANT_TABLES } from '../schema/tables';
import { carryGrants, exchange, refuseLaterGrants } from './exchange';
import type { Sides } from './exchange';
import {
  CHANGE_LOG,
  createDisabledLogTriggers,
  dropLogTriggers,
  enableLogTriggers,
  LOG_TRIGGER,
} from './changeLog';
import { createFence, dropFences } from './fence';
import {
  keepCatalog,
  limitWaits,
  lockTogether,
  LONGER_PAUSE,
} from '../session/lockRetries';
import { REPLAY_FUNCTION } from './replay';

/**
 * Writers wait while the log is replayed under the lock, a quarter of a millisecond to one for each
 * entry. So an attempt replays as many as it may wait milliseconds for the lock. 55P03,
 * lock_not_available, makes withLockRetries repeat the attempt, which replays the log without a
 * lock first.
 */
function refuseLongLog(timeoutMs: number): string {
  return `do $$ begin
  if (select count(*) from ${CHANGE_LOG}) > ${timeoutMs} then
    raise exception 'writers change more than a swap replays within --max-pause' using errcode = '55P03',
      hint = '${LONGER_PAUSE}';
  end if;
end $$`;
}

/** The statements of the transaction that swaps the tables, in two messages. */
export interface SwapStatements {
  /** No reader and no writer waits for these: the log is replayed once more behind them. */
  prepare: string[];
  /** For these all wait. The last one commits. */
  swap: string[];
}

/**
 * The statements of the transaction that puts one side of the three tables in the
 * place of the other, in either direction.
 *
 * It first keeps the catalog of all tables from changing, by SHARE UPDATE EXCLUSIVE. Then it takes
 * ACCESS EXCLUSIVE on both sides, and holds it on those in use for the replay of the last changes
 * and for changes of the catalog, some 10 ms. It locks them in the order in which applications use
 * them; see {@link lockTogether}.
 *
 * @param before - statements that need no lock of the tables in use
 * @param conditions - statements that fail unless the catalog is as it must be: run once
 *   all tables are locked, since CREATE VIEW waits for no weaker lock
 */
export function swapStatements(
  sides: Sides[],
  timeoutMs: number,
  { before, conditions }: { before: string[]; conditions: string[] },
): SwapStatements {
  const incoming = sides.map(side => side.incoming);
  return {
    prepare: [
      'begin',
      // Writers do not wait for this commit's fsync: the next commit, that of the step's
      // record at the latest, flushes it as well.
      'set local synchronous_commit = off',
      ...keepCatalog(incoming),
      ...before,
      ...keepCatalog(TENANT_TABLES),
      refuseOtherTenants(sides),
      ...sides.map(refuseMissingLog),
      ...sides.map(refuseOtherColumns),
      carryGrants(sides),
    ],
    swap: [
      lockTogether(incoming, timeoutMs),
      limitWaits(timeoutMs),
      // Disabled, since the replay changes nothing that is to be logged.
      ...sides.flatMap(({ table, incoming: name }) =>
        createDisabledLogTriggers(table, name),
      ),
      lockTogether(TENANT_TABLES, timeoutMs),
      limitWaits(timeoutMs),
      refuseLongLog(timeoutMs),
      refuseLaterGrants(sides),
      ...conditions,
      `select ${REPLAY_FUNCTION}`,
      ...sides.flatMap(({ table }) => dropLogTriggers(table)),
      exchange(sides),
      ...sides.map(({ table }) => enableLogTriggers(table)),
      dropFences(sides.map(({ outgoing }) => outgoing)),
      ...createFence(),
      'commit',
    ],
  };
}

/** A cleanup that has begun dropped the log: changes since then are not recorded. */
function refuseMissingLog({ table }: Sides): string {
  return `do $$ begin
  if (select count(*) from pg_trigger where tgrelid = '${table}'::regclass
         and tgname in ('${LOG_TRIGGER}', '${LOG_TRIGGER}_truncate')) <> 2 then
    raise exception 'The changes of ${table} are not logged, so that the other side lacks them'
      using errcode = 'integrity_constraint_violation',
            hint = 'Has a cleanup been begun? Then run it to its end: there is no way back any more.';
  end if;
end $$`;
}

/** Fails if the columns of a table in use have changed since it was copied. */
function refuseOtherColumns({ table, incoming }: Sides): string {
  const columns = (name: string) => `array(
         select format('%I %s%s', attname, format_type(atttypid, atttypmod),
                       case when attnotnull then ' not null' else '' end)
           from pg_attribute where attrelid = '${name}'::regclass
            and attnum > 0 and not attisdropped)`;
  return `do $$
declare
  difference text := (
    select string_agg(c, ', ') from unnest(${columns(table)}) c
     where c <> all (${columns(incoming)}));
begin
  if difference is not null then
    raise exception '${incoming} has no %', difference
      using errcode = 'integrity_constraint_violation',
            hint = 'The columns of ${table} have changed. Change those of ${incoming} in the same way.';
  end if;
end $$`;
}

/**
 * The old tables can hold one tenant only. Their validated check constraint proves that
 * without a scan.
 */
function refuseOtherTenants(sides: Sides[]): string {
  const checks = TENANT_TABLES.map(
    table => `('${table}'::regclass, '${oneTenantCheck(table)}')`,
  ).join(', ');
  return `do $$ begin
  if (select relkind from pg_class where oid = 'entities'::regclass) = 'r'
     and (select count(*) from pg_constraint
           where (conrelid, conname) in (${checks}) and convalidated) <> ${TENANT_TABLES.length} then
    raise exception 'The tables are not kept to the default tenant before the swap'
      using errcode = 'integrity_constraint_violation',
            hint = '${sides[0].incoming} is not put in its place. Undo phase 5 and 4, and run phase 3 again.';
  end if;
end $$`;
}
