import { DatabaseError } from 'pg';
import type { StepContext } from '../engine/Step';
import { RefusedError } from '../errors';
import { escapeIdentifier, escapeLiteral } from '../schema/sql';
import { catchAllPartition } from '../schema/partitions';
import { TENANT_TABLES } from '../schema/tables';
import { withLockRetries } from '../session/lockRetries';
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

// A code of our own: a move that takes too long is not tried again.
const TOO_LONG = 'TP001';

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
  const statements = [
    ...lockStatements(move.partitions, settings.lockTimeoutMs),
    `set local statement_timeout = ${maxBlockMs}`,
    moveStatement(move),
    'set local statement_timeout = 0',
  ];
  await executor.work({
    title:
      `${title}. ACCESS EXCLUSIVE on the three tables, for as long as it takes to ` +
      `move the tenant's rows, and for ${maxBlockMs} ms at the most.`,
    script: ['begin', ...statements, 'commit'],
    run: session =>
      withLockRetries(
        title,
        async () => {
          await prepare?.(session);
          const begun = Date.now();
          await runOnce(session, statements, maxBlockMs);
          reporter.info(
            `${title}: done. The tables were locked for at most ${
              Date.now() - begun
            } ms.`,
          );
        },
        attempts => reporter.waiting(title, attempts),
      ),
  });
}

async function runOnce(
  session: MigrationSession,
  statements: string[],
  maxBlockMs: number,
): Promise<void> {
  try {
    // In one message: the locks are not held for the time of a round trip.
    await session.query(['begin', ...statements, 'commit'].join(';\n'));
  } catch (error) {
    await session.rollback();
    throw error instanceof DatabaseError && error.code === TOO_LONG
      ? new RefusedError(
          `Moving the rows would lock the tables for more than ${maxBlockMs} ms: by ` +
            `then it was about to ${error.message}. Nothing was changed. Give it more ` +
            'time with --max-block <ms>, in a quiet hour: everybody who uses the ' +
            'tables waits for it.',
        )
      : error;
  }
}

/**
 * ACCESS EXCLUSIVE: whoever comes while the rows move waits at the table itself,
 * before it is planned which partition to look at, and so finds them afterwards.
 *
 * ONLY: the other partitions are reached through the tables alone. Locking each of
 * them would take as long as there are tenants.
 */
function lockStatements(
  partitions: Partitions,
  lockTimeoutMs: number,
): string[] {
  const tables = TENANT_TABLES.flatMap(table => [
    table,
    catchAllPartition(table),
    escapeIdentifier(partitions[table]),
  ])
    .map(name => `only ${name}`)
    .join(', ');
  return [
    // Autovacuum is cancelled without a writer waiting (see Executor.ts).
    'set local lock_timeout = 5000',
    `lock table ${tables} in share update exclusive mode`,
    'set local lock_timeout = 0',
    // lock_timeout would hold for each table; this one for all of them together.
    `set local statement_timeout = ${lockTimeoutMs}`,
    `lock table ${tables} in access exclusive mode`,
  ];
}

function moveStatement({
  tenant,
  parts,
}: Pick<Move, 'tenant' | 'parts'>): string {
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
  raise exception '%', part using errcode = '${TOO_LONG}';
end $$`;
}

function indent(text: string): string {
  return text.replace(/^/gm, '  ');
}
