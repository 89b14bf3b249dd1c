import { DatabaseError } from 'pg';
import type { StepContext } from '../engine/Step';
import { CancelledError, RefusedError } from '../errors';
import { escapeIdentifier, escapeLiteral } from '../schema/sql';
import { catchAllPartition } from '../schema/partitions';
import { TENANT_TABLES } from '../schema/tables';
import {
  lockTogether,
  longestRequest,
  withLockRetries,
} from '../session/lockRetries';
import type { MigrationSession } from '../session/MigrationSession';
import { createMoveFence } from './fence';
import { PARTITION_LOG } from './names';
import type { Partitions, Tenant } from './Tenant';

/** What an operator may say about a move. */
export interface MoveOptions {
  /** For how long, in milliseconds, whoever uses the tables may be kept waiting. */
  maxBlockMs?: number;
}

/** For how long everybody may wait, unless told otherwise. */
export const DEFAULT_MAX_BLOCK_MS = 5000;

// Codes of our own. PostgreSQL has one (57014) for a statement that statement_timeout
// has ended and one that somebody has cancelled, and tells them apart in a text that is
// translated. Neither is tried again.
const TOO_LONG = 'TP001';
const CANCELLED = 'TP002';

const BEGUN = 'tenancy.move_begun';
const NOTE_BEGIN = `select set_config('${BEGUN}', clock_timestamp()::text, true)`;

// Rows that move are the same rows: triggers of users have fired for them. Before
// version 15, a partition's are switched through its table.
const SILENCE_TRIGGERS = `part := 'switch off triggers';
relevant := case when current_setting('server_version_num')::int >= 150000
  then array[${TENANT_TABLES.map(table => `'${catchAllPartition(table)}'`).join(
    ', ',
  )}]
  else array[${TENANT_TABLES.map(table => `'${table}'`).join(', ')}]
end::regclass[];
for item in
  select tgrelid::regclass as name, tgname, tgenabled from pg_trigger
   where tgrelid = any (relevant) and not tgisinternal and tgenabled <> 'D'
     and tgname not like '${PARTITION_LOG.trigger}%'
loop
  execute format('alter table %s disable trigger %I', item.name, item.tgname);
  restore := restore || format('alter table %s enable %s trigger %I', item.name,
    case item.tgenabled when 'R' then 'replica' when 'A' then 'always' else '' end,
    item.tgname);
end loop;`;

/** A part of a move, as the operator is told which one took too long. */
export interface MovePart {
  title: string;
  statements: string[];
}

/** A move of a tenant's rows between its partitions and the catch-all ones. */
export interface Move {
  title: string;
  tenant: Tenant;
  partitions: Partitions;
  /** Under the locks, with no trigger of users firing. */
  parts: MovePart[];
  /** Before each attempt. */
  prepare?: (session: MigrationSession) => Promise<void>;
}

/**
 * Moves a tenant's rows in one transaction, which ends after `maxBlockMs` with
 * everything as it was before.
 *
 * @throws {@link RefusedError} if that was not long enough
 */
export async function runMove(
  { executor, settings, reporter }: StepContext,
  { title, prepare, ...move }: Move,
  { maxBlockMs = DEFAULT_MAX_BLOCK_MS }: MoveOptions,
): Promise<void> {
  const tables = tablesOf(move.partitions);
  const quietly = [
    'begin',
    // Autovacuum is cancelled without a writer waiting (see Executor.ts).
    'set local lock_timeout = 5000',
    `lock table ${tables.join(', ')} in share update exclusive mode`,
  ];
  const blocking = [
    lockTogether(
      tables,
      longestRequest({ lockTimeoutMs: settings.lockTimeoutMs }),
    ),
    'set local lock_timeout = 0',
    NOTE_BEGIN,
    `set local statement_timeout = ${maxBlockMs}`,
    moveStatement(move, maxBlockMs),
    'set local statement_timeout = 0',
    'commit',
  ];
  await executor.work({
    title:
      `${title}. ACCESS EXCLUSIVE on the three tables, for as long as it takes to ` +
      `move the tenant's rows, and for ${maxBlockMs} ms at the most.`,
    script: [...quietly, ...blocking],
    run: session =>
      withLockRetries(
        {
          title,
          session,
          reporter,
          lockTimeoutMs: settings.lockTimeoutMs,
        },
        async () => {
          await prepare?.(session);
          const begun = Date.now();
          await runOnce(session, { quietly, blocking, maxBlockMs });
          reporter.info(
            `${title}: done. The tables were locked for at most ${
              Date.now() - begun
            } ms.`,
          );
        },
      ),
  });
}

async function runOnce(
  session: MigrationSession,
  move: { quietly: string[]; blocking: string[]; maxBlockMs: number },
): Promise<void> {
  const { quietly, blocking, maxBlockMs } = move;
  let begun: number | undefined;
  try {
    await session.query(quietly.join(';\n'));
    begun = performance.now();
    // In one message: the locks are not held for the time of a round trip.
    await session.query(blocking.join(';\n'));
  } catch (error) {
    await session.rollback();
    if (error instanceof DatabaseError && error.code === CANCELLED) {
      throw new CancelledError();
    }
    const part = isTooLong(error)
      ? error.message
      : // The time was over before the handler of it was in place.
        error instanceof CancelledError &&
        begun !== undefined &&
        performance.now() - begun >= maxBlockMs &&
        'begin';
    throw part
      ? new RefusedError(
          `Moving the rows would lock the tables for more than ${maxBlockMs} ms: by ` +
            `then it was about to ${part}. Nothing was changed. Give it more ` +
            'time with --max-block <ms>, in a quiet hour: everybody who uses the ' +
            'tables waits for it.',
        )
      : error;
  }
}

function isTooLong(error: unknown): error is DatabaseError {
  return error instanceof DatabaseError && error.code === TOO_LONG;
}

/**
 * ACCESS EXCLUSIVE: whoever comes while the rows move waits at the table itself,
 * before it is planned which partition to look at, and so finds them afterwards.
 *
 * ONLY: the other partitions are reached through the tables alone. Locking each of
 * them would take as long as there are tenants.
 */
function tablesOf(partitions: Partitions): string[] {
  return TENANT_TABLES.flatMap(table => [
    table,
    catchAllPartition(table),
    escapeIdentifier(partitions[table]),
  ]).map(name => `only ${name}`);
}

function moveStatement(
  { tenant, parts }: Pick<Move, 'tenant' | 'parts'>,
  maxBlockMs: number,
): string {
  const all = [
    ...parts,
    {
      title: 'keep older transactions off',
      statements: createMoveFence(tenant.id),
    },
  ];
  return `do $$
#variable_conflict use_column
declare
  part text;
  moved bigint;
  expected bigint;
  relevant regclass[];
  item record;
  restore text[] := '{}';
  command text;
begin
  -- The plans of foreign keys are made once rather than for every row.
  perform set_config('plan_cache_mode', 'force_generic_plan', true);
${indent(SILENCE_TRIGGERS)}
${all
  .map(({ title, statements }) =>
    [`part := ${escapeLiteral(title)}`, ...statements]
      .map(statement => indent(`${statement};`))
      .join('\n'),
  )
  .join('\n')}
  foreach command in array restore loop execute command; end loop;
exception when query_canceled then
  -- Sooner than the timeout it can only have been somebody.
  if clock_timestamp() < current_setting('${BEGUN}')::timestamptz + interval '${maxBlockMs} milliseconds' then
    raise exception 'cancelled' using errcode = '${CANCELLED}';
  end if;
  raise exception '%', part using errcode = '${TOO_LONG}';
end $$`;
}

function indent(text: string): string {
  return text.replace(/^/gm, '  ');
}
