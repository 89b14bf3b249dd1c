import { DatabaseError } from 'pg';
import { replayOnce, SNAPSHOT } from '../copy/replay';
import { cursorKey } from '../copy/BulkCopy';
import { assertEqual, examineCopies } from '../copy/compare';
import { STATE_TABLE } from '../engine/MigrationState';
import type { StepContext } from '../engine/Step';
import {
  CancelledError,
  LockNotGrantedError,
  RefusedError,
  VerificationError,
} from '../errors';
import { operatorCommand } from '../operatorCommand';
import { relationExists } from '../schema/lookups';
import { ADMIN_ROLE } from '../roles';
import { TENANT_TABLES } from '../schema/tables';
import { escapeIdentifier, escapeLiteral } from '../sql';
import { lockTogether, withLockRetries } from '../session/lockRetries';
import type { MigrationSession } from '../session/MigrationSession';
import { waitForTransactions } from '../engine/olderTransactions';
import {
  describeExchange,
  EXCHANGE_ERRORS,
  LOCKED_MS,
  MAY_BE_OLDER,
} from './exchange';
import type { Exchange } from './exchange';
import {
  commandOf,
  dropOldFence,
  endPreparation,
  readPreparation,
  SYNCHRONIZED,
} from './unfinishedMoves';
import type { Direction, Preparation } from './unfinishedMoves';
import { PARTITION_LOG } from './names';
import {
  describeMove,
  newPreparation,
  prepareCopies,
  readIndexes,
  readUniqueColumns,
  refuseTakenNames,
  replay,
  sourcesOf,
  targetsOf,
} from './prepare';
import type { Move } from './prepare';
import { switchToMirror } from './sync';
import {
  findPartitions,
  findTenant,
  refuseDeleted,
  refuseDependents,
  refuseOtherDefaults,
  refuseOutsidePhase5,
} from './Tenant';
import type { FoundTenant, Partitions } from './Tenant';

/** Limits of a move. */
export interface MoveOptions {
  /** For how long, in milliseconds, the exchange may lock the tables. */
  maxBlockMs?: number;
  /** For how long, in milliseconds, the move waits for locks and older transactions. */
  patienceMs?: number;
  /** For how long, in milliseconds, a move that failed tries to drop what it prepared. */
  undoPatienceMs?: number;
}

/** The default of {@link MoveOptions.maxBlockMs}. */
export const DEFAULT_MAX_BLOCK_MS = 5000;

/** The result of a partition command. */
export interface PartitionResult {
  /** False if the tenant was already there. */
  changed: boolean;
  /** The partitions that the tenant has, or had. */
  partitions?: Partitions;
}

// Entries that a replay under the lock may have: they take a few milliseconds.
const LONGEST_LOG = 100;

// 55P03, lock_not_available, makes withLockRetries repeat the attempt, which replays the
// log without a lock first.
const REFUSE_LONG_LOG = `do $$ begin
  if (select count(*) from ${PARTITION_LOG.table}) > ${LONGEST_LOG} then
    raise exception 'The change log is too long' using errcode = '55P03';
  end if;
end $$`;

// Transactions that block a move also block DROP TRIGGER.
const UNDO_PATIENCE_MS = 30_000;

// Rounds in which copies differ again by the time that older transactions have ended.
const MOST_ROUNDS = 10;

/**
 * Gives a tenant a partition of each table, while applications read and write.
 *
 * @throws {@link RefusedError} unless the partitioned tables are in use, for a tenant
 *   that can have none, and if the exchange would take longer than `maxBlockMs`
 * @throws {@link LockNotGrantedError} if locks or older transactions outlast the patience
 */
export async function givePartition(
  context: StepContext,
  slug: string,
  options: MoveOptions = {},
): Promise<PartitionResult> {
  const { found, partitions, move } = await begin(context, slug, 'give');
  refuseDeleted(slug, found);
  return move
    ? perform(context, move, options)
    : { changed: false, partitions };
}

/**
 * Takes a tenant's partitions back: its rows go into the catch-all partitions. The tenant
 * may be deleted.
 *
 * @throws {@link RefusedError} unless the partitioned tables are in use, for a tenant
 *   that keeps its partition, and if the exchange would take longer than `maxBlockMs`
 * @throws {@link LockNotGrantedError} if locks or older transactions outlast the patience
 */
export async function takeBackPartition(
  context: StepContext,
  slug: string,
  options: MoveOptions = {},
): Promise<PartitionResult> {
  const { found, move, ended } = await begin(context, slug, 'takeBack');
  if (!found && ended?.slug !== slug) {
    refuseDeleted(slug, found);
  }
  return move ? perform(context, move, options) : { changed: false };
}

interface Begun {
  found: FoundTenant | undefined;
  partitions: Partitions | undefined;
  /** The move to perform, if any. */
  move: Move | undefined;
  /** The preparation of an earlier command that this one has dropped. */
  ended: Preparation | undefined;
}

/**
 * Plans a command, and drops what an earlier one has prepared unless this one continues
 * it. Also for a tenant that can have no partitions any more.
 */
async function begin(
  context: StepContext,
  slug: string,
  direction: Direction,
): Promise<Begun> {
  const { executor, state, reporter } = context;
  await refuseOutsidePhase5(executor);
  const found = await findTenant(executor, slug);
  const partitions = found && (await findPartitions(executor, found));
  const isToDo =
    direction === 'give'
      ? found?.state === 'active' && !partitions
      : partitions;
  const move =
    found && isToDo
      ? await describeMove(executor, direction, found, partitions)
      : undefined;
  const preparation = await readPreparation(state);
  let ended: Preparation | undefined;
  // The caller refuses a mistyped slug: leave other tenants' preparations alone.
  const isMeant = move !== undefined || preparation?.slug === slug;
  if (
    preparation &&
    isMeant &&
    !(move && (await canGoOn(context, move, preparation)))
  ) {
    reporter.info(
      `Drop what an earlier command has prepared for "${preparation.slug}"`,
    );
    await endPreparation(context);
    ended = preparation;
  }
  await dropOldFence(context);
  return { found, partitions, move, ended };
}

/** Whether a move can continue the preparation of an earlier command. */
async function canGoOn(
  { executor, state }: StepContext,
  move: Move,
  preparation: Preparation,
): Promise<boolean> {
  const swap = await state.get<{ xid: string }>('swap');
  if (
    preparation.ended ||
    preparation.id !== move.tenant.id ||
    preparation.direction !== move.direction ||
    preparation.swap !== (swap?.xid ?? null)
  ) {
    return false;
  }
  for (const { table, target } of targetsOf(move)) {
    if (
      !preparation.tables.includes(target) ||
      !(await hasSameColumns(executor, table, target))
    ) {
      return false;
    }
  }
  const synchronized = await state.get(SYNCHRONIZED);
  let copied = synchronized;
  for (const { source, target } of move.copies) {
    copied ??= await state.get(cursorKey(target, source));
  }
  return (
    (!copied || (await isFollowed(executor, move))) &&
    (!synchronized || (await hasAllIndexes(executor, move)))
  );
}

async function hasSameColumns(
  executor: StepContext['executor'],
  table: string,
  target: string,
): Promise<boolean> {
  const [{ same }] = await executor.read<{ same: boolean }>(
    `select array(select format('%s %s %s', attname, format_type(atttypid, atttypmod), attnotnull)
                    from pg_attribute where attrelid = to_regclass(quote_ident($1))
                     and attnum > 0 and not attisdropped order by 1)
          = array(select format('%s %s %s', attname, format_type(atttypid, atttypmod), attnotnull)
                    from pg_attribute where attrelid = to_regclass(quote_ident($2))
                     and attnum > 0 and not attisdropped order by 1) as same`,
    [table, target],
  );
  return same;
}

/** Whether all triggers are there: undoing phase 5, or a user, may have removed some. */
async function isFollowed(
  executor: StepContext['executor'],
  move: Move,
): Promise<boolean> {
  const sources = sourcesOf(move).map(({ source }) => source);
  const [{ triggers }] = await executor.read<{ triggers: number }>(
    `select count(*)::int as triggers from pg_trigger
      where tgrelid in (select to_regclass(quote_ident(name)) from unnest($1::text[]) name)
        and tgname in ('${PARTITION_LOG.trigger}', '${PARTITION_LOG.trigger}_truncate')
        and tgenabled = 'A'`,
    [sources],
  );
  return triggers === 2 * sources.length;
}

async function hasAllIndexes(
  executor: StepContext['executor'],
  move: Move,
): Promise<boolean> {
  for (const { table, target } of targetsOf(move)) {
    for (const { name } of await readIndexes(executor, table, target)) {
      if (!(await relationExists(executor, name))) {
        return false;
      }
    }
  }
  return true;
}

/**
 * Copies the partitions that change, keeps the copies equal to them, and puts the copies
 * in their place. Until that exchange the tables in use stay unchanged, and a move that
 * fails drops its copies.
 */
async function perform(
  context: StepContext,
  move: Move,
  options: MoveOptions,
): Promise<PartitionResult> {
  const { executor, state } = context;
  const { partitions } = move;
  await refuseDependents(
    executor,
    sourcesOf(move).map(({ source }) => source),
  );
  await refuseOtherDefaults(executor);
  const earlier = await readPreparation(state);
  const preparation = earlier ?? (await newPreparation(context, move));
  await refuseTakenNames(executor, move, earlier);
  await warnOfValidation(context);
  try {
    if (!(earlier && (await state.get(SYNCHRONIZED)))) {
      await prepareCopies(context, move, preparation);
      await synchronize(context, move, options);
    }
    await exchangeCopies(context, move, options);
  } catch (error) {
    if (isGivenUp(error)) {
      await giveUp(context, move, options);
    }
    throw error;
  }
  await dropReplaced(context, move);
  return { changed: true, partitions };
}

/** Drops the replaced partitions; the rows have moved even if this fails. */
async function dropReplaced(
  context: StepContext,
  { direction, tenant }: Move,
): Promise<void> {
  try {
    await endPreparation(context);
  } catch (error) {
    if (!(error instanceof LockNotGrantedError)) {
      throw error;
    }
    context.reporter.warn(
      `The rows have moved. What was replaced could not be dropped yet (${
        error.message
      }) Run "${commandOf(direction, tenant.slug)}" later, which drops it.`,
    );
  }
}

/** Warns of a login that cannot avoid the validation of foreign keys (see seeNoRow). */
async function warnOfValidation({
  executor,
  reporter,
}: StepContext): Promise<void> {
  const [login] = await executor.read<{ name: string }>(
    `select l.rolname as name
       from pg_roles l join pg_roles a on a.rolname = '${ADMIN_ROLE}'
      where l.rolname = session_user and not l.rolsuper and a.rolbypassrls
        and (l.rolbypassrls or not pg_has_role(l.oid, a.oid, 'usage'))`,
  );
  if (login) {
    reporter.warn(
      `PostgreSQL will read all rows while the tables are locked, because the login ` +
        `"${login.name}" bypasses row-level security or does not inherit ` +
        `${ADMIN_ROLE}. As a superuser, or as a login that inherits ${ADMIN_ROLE} ` +
        'and does not bypass row-level security, the command locks them for milliseconds.',
    );
  }
}

/** Whether the move failed by itself. One stopped from outside can be continued. */
function isGivenUp(error: unknown): boolean {
  return (
    error instanceof DatabaseError ||
    error instanceof RefusedError ||
    error instanceof VerificationError ||
    error instanceof LockNotGrantedError
  );
}

async function giveUp(
  context: StepContext,
  { tenant }: Move,
  { undoPatienceMs = UNDO_PATIENCE_MS }: MoveOptions,
): Promise<void> {
  const { executor, reporter } = context;
  if (executor.dryRun) {
    return;
  }
  reporter.info('The move has failed: drop what was prepared for it');
  try {
    await endPreparation(context, undoPatienceMs);
  } catch (error) {
    reporter.warn(
      `Not all of it could be dropped (${
        error instanceof Error ? error.message : error
      }). Run "${operatorCommand(
        'unpartition',
        tenant.slug,
      )}" later, which drops it.`,
    );
  }
}

/**
 * Makes the copies equal to their sources, and switches the triggers from logging to
 * mirroring: from this transaction on every snapshot shows the same rows on both sides.
 *
 * Takes SHARE ROW EXCLUSIVE on the partitions that are copied, for the replay of the last
 * changes, at most {@link LONGEST_LOG} of them: writers of these partitions wait for
 * milliseconds, readers do not.
 *
 * No change is lost between the two replays. The first one, without a lock, only keeps the
 * log short; what commits after it waits in the log for the second one, under the lock.
 * {@link exchangeCopies} refuses while the log has entries.
 */
async function synchronize(
  context: StepContext,
  move: Move,
  { patienceMs }: MoveOptions,
): Promise<void> {
  const { executor, settings, reporter } = context;
  const title = 'Have every change made in the copies too';
  const sources = sourcesOf(move).map(({ source }) => escapeIdentifier(source));
  const statements = [
    'set local synchronous_commit = off',
    // Waits for autovacuum, or cancels it, before any writer has to (see Executor.ts).
    'set local lock_timeout = 5000',
    `lock table ${sources.join(', ')} in share update exclusive mode`,
    lockTogether(sources, settings.maxPauseMs, 'share row exclusive'),
    REFUSE_LONG_LOG,
    `select ${PARTITION_LOG.replay}()`,
    switchToMirror(
      settings.schema,
      move.copies,
      await readUniqueColumns(executor),
    ),
    `insert into ${STATE_TABLE} (key, value)
values (${escapeLiteral(
      SYNCHRONIZED,
    )}, jsonb_build_object('xid', pg_current_xact_id()::text))
on conflict (key) do update set value = excluded.value`,
  ];
  await executor.work({
    title: `${title}. SHARE ROW EXCLUSIVE on the partitions that are copied, for milliseconds.`,
    script: ['begin', ...statements, 'commit'],
    run: session =>
      withLockRetries(
        {
          title,
          session,
          reporter,
          tables: sources,
          mode: 'share row exclusive',
          maxPauseMs: settings.maxPauseMs,
          patienceMs,
        },
        async () => {
          // Repeated with each attempt: writers fill the log in between.
          await replayOnce(session, PARTITION_LOG);
          await runTogether(session, statements);
        },
      ),
  });
  await compare(context, move);
}

/** Compares both sides in one snapshot, with the changes that triggers have mirrored. */
async function compare(
  { executor, reporter }: StepContext,
  { copies }: Move,
): Promise<void> {
  reporter.info('Compare the copies with their sources');
  await executor.work({
    title: 'Compare the copies with their sources.',
    script: [],
    run: session =>
      session.transaction(SNAPSHOT, async () => {
        const read = <Row>(sql: string, values?: unknown[]) =>
          session.query<Row>(sql, values);
        for (const others of [false, true]) {
          assertEqual(
            await examineCopies(
              read,
              copies.filter(copy => copy.others === others),
              PARTITION_LOG,
            ),
          );
        }
      }),
  });
}

/**
 * Puts the copies in their place once every remaining snapshot shows both sides equal, so
 * that a query with a snapshot from before the exchange returns the same rows after it.
 */
async function exchangeCopies(
  context: StepContext,
  move: Move,
  options: MoveOptions,
): Promise<void> {
  for (let round = 1; round <= MOST_ROUNDS; round += 1) {
    await waitForTransactions(context, {
      title:
        'Wait for transactions that began before the triggers changed the copies too',
      which: `l.locktype = 'virtualxid' and ${MAY_BE_OLDER}`,
      why: 'they may have snapshots that do not show all rows of the copies',
      patienceMs: options.patienceMs,
    });
    const outcome = await exchangeOnce(context, move, options);
    if (outcome === 'done') {
      return;
    }
    if (outcome === 'differs') {
      await replay(context);
      await synchronize(context, move, options);
    }
  }
  throw new LockNotGrantedError(
    `In each of ${MOST_ROUNDS} rounds, copies differed from their partitions by concurrent ` +
      'writes, or transactions used snapshots from before the copies were complete. ' +
      'Run the command again in a quieter hour.',
  );
}

/** The outcome of an attempt: `differs` if the log has entries, `older` for a snapshot. */
type Outcome = 'done' | 'differs' | 'older';

async function exchangeOnce(
  context: StepContext,
  move: Move,
  { maxBlockMs = DEFAULT_MAX_BLOCK_MS, patienceMs }: MoveOptions,
): Promise<Outcome> {
  const { executor, state, settings, reporter } = context;
  const { maxPauseMs } = settings;
  const title =
    move.direction === 'give'
      ? `Give "${move.tenant.slug}" its partitions`
      : `Take the partitions of "${move.tenant.slug}" back`;
  const preparation =
    (await readPreparation(state)) ?? (await newPreparation(context, move));
  const exchange = await describeExchange(executor, state, move, preparation, {
    timeoutMs: maxPauseMs,
    maxBlockMs,
  });
  let outcome: Outcome = 'done';
  await executor.work({
    title:
      `${title}. ACCESS EXCLUSIVE on the three tables, SHARE ROW EXCLUSIVE on what they ` +
      `reference, for changes of the catalog, and for ${maxBlockMs} ms at the most.`,
    script: [...exchange.quiet, ...exchange.blocking],
    run: session =>
      withLockRetries(
        {
          title,
          session,
          reporter,
          tables: TENANT_TABLES,
          maxPauseMs,
          patienceMs,
        },
        async () => {
          try {
            await runExchange(session, exchange, maxBlockMs);
          } catch (error) {
            const code = codeOf(error);
            if (code === EXCHANGE_ERRORS.differs) {
              outcome = 'differs';
              return;
            }
            if (code === EXCHANGE_ERRORS.older) {
              outcome = 'older';
              return;
            }
            throw explain(error, move, maxBlockMs);
          }
          const [{ locked }] = await session.query<{ locked: string }>(
            `select current_setting('${LOCKED_MS}') as locked`,
          );
          reporter.info(
            `${title}: done. The tables were locked for ${locked} ms.`,
          );
        },
      ),
  });
  return outcome;
}

async function runExchange(
  session: MigrationSession,
  { quiet, blocking }: Exchange,
  maxBlockMs: number,
): Promise<void> {
  let begun = Infinity;
  try {
    await session.query(quiet.join(';\n'));
    begun = performance.now();
    // In one message: no round trip while the locks are held.
    await session.query(blocking.join(';\n'));
  } catch (error) {
    await session.rollback();
    // statement_timeout may fire before the exception handler is entered.
    throw error instanceof CancelledError &&
      performance.now() - begun >= maxBlockMs
      ? tooLong('begin', maxBlockMs)
      : error;
  }
}

/** Sends a transaction as one message: no round trip while its locks are held. */
async function runTogether(
  session: MigrationSession,
  statements: string[],
): Promise<void> {
  try {
    await session.query(['begin', ...statements, 'commit'].join(';\n'));
  } catch (error) {
    await session.rollback();
    throw error;
  }
}

function explain(
  error: unknown,
  { tenant }: Move,
  maxBlockMs: number,
): unknown {
  switch (codeOf(error)) {
    case EXCHANGE_ERRORS.tooLong:
      return tooLong((error as Error).message, maxBlockMs);
    case EXCHANGE_ERRORS.tenantDeleted:
      return new RefusedError(
        `The tenant "${tenant.slug}" was deleted meanwhile. Its rows stay where they are.`,
      );
    case EXCHANGE_ERRORS.changed:
      return new RefusedError(
        `The partitions have changed since they were copied: ${
          (error as Error).message
        }. Run the command again.`,
      );
    default:
      return error;
  }
}

function tooLong(part: string, maxBlockMs: number): RefusedError {
  return new RefusedError(
    `Moving the rows would lock the tables for more than ${maxBlockMs} ms: by then it ` +
      `was about to ${part}. Nothing was changed. Give it more time with --max-block ` +
      '<ms>, in a quiet hour: all sessions that use the tables wait for it.',
  );
}

function codeOf(error: unknown): string | undefined {
  return error instanceof DatabaseError ? error.code : undefined;
}
