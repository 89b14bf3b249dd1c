import { oneTenantCheck, TENANT_TABLES } from '../schema/tables';
import { carryOver } from './carryOver';
import type { Sides } from './carryOver';
import {
  CHANGE_LOG,
  createLogTriggers,
  dropLogTriggers,
  LOG_TRIGGER,
} from './changeLog';
import { createFence, dropFenceOf } from './fence';
import { inTurn, lockTogether } from '../session/lockRetries';
import type { LockRequest } from '../session/lockRetries';
import { REPLAY } from './replay';

// So many entries take a few milliseconds, all of which writers wait for.
const LONGEST_LOG = 500;

// Of a pause that the operator has granted, the replay may take some, too.
const LOG_PER_MS = 5;

// 55P03, lock_not_available: the attempt is given up like one that got no lock,
// and the log is replayed again before the next one.
function refuseLongLog({ queueMs }: LockRequest): string {
  const longest = Math.max(LONGEST_LOG, LOG_PER_MS * queueMs);
  return `do $$ begin
  if (select count(*) from ${CHANGE_LOG}) > ${longest} then
    raise exception 'The change log is too long for a swap' using errcode = '55P03';
  end if;
end $$`;
}

/**
 * The statements of the transaction that puts one side of the three tables in the
 * place of the other, in either direction.
 *
 * It takes ACCESS EXCLUSIVE on both sides, and holds it for the replay of what
 * changed in the last milliseconds and for changes of the catalog. The tables are
 * locked in the order in which applications use them, and a request that is not
 * granted within the lock timeout is given up with all the others, well before
 * PostgreSQL looks for deadlocks: no application's transaction is ever the victim.
 * Where the operator lets it wait for longer, that is for the first table only (see
 * {@link lockTogether}), and each table is the first in its turn.
 *
 * @param conditions - statements that fail where something of the catalog must not
 *   be: run when nobody can change it any more, and nobody waits for us yet
 */
export function swapStatements(
  sides: Sides[],
  request: LockRequest,
  conditions: string[],
): string[] {
  // Those that nobody uses come last: whoever reads them, or an autovacuum of them,
  // must not be waited for while the application waits for us.
  const tables = [
    ...inTurn(TENANT_TABLES, request.turn),
    ...sides.map(({ incoming }) => incoming),
  ];
  return [
    // Writers do not wait for the disk: whatever is committed after the swap takes it
    // there along with itself, the record of the step at the latest.
    'set local synchronous_commit = off',
    // Autovacuum is cancelled without a writer waiting (see lockStatements).
    'set local lock_timeout = 5000',
    `lock table ${tables.join(', ')} in share update exclusive mode`,
    'set local lock_timeout = 0',
    // From here on nobody changes the catalog of the tables, and nobody waits yet.
    ...conditions,
    refuseOtherTenants(sides),
    ...sides.map(refuseMissingLog),
    ...sides.map(refuseOtherColumns),
    lockTogether(tables, request),
    // What is locked below, such as a sequence from which a transaction has taken a
    // number without writing a row yet, is waited for no longer than the tables.
    `set local lock_timeout = ${request.timeoutMs}`,
    refuseLongLog(request),
    `select ${REPLAY}()`,
    ...sides.flatMap(({ table }) => dropLogTriggers(table)),
    carryOver(sides),
    ...sides.flatMap(({ table }) => createLogTriggers(table, table)),
    ...sides.map(({ outgoing }) => dropFenceOf(outgoing)),
    ...createFence(),
  ];
}

/** A cleanup that was begun has ended the log: what was written since is unknown. */
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

/** Somebody has changed the columns of the table in use since the copy was made. */
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
 * The tables of before have room for one tenant only. A look at their rows would
 * take the longer the more there are; the check that was validated says the same.
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
