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
import { escapeIdentifier, escapeLiteral } from '../sql';
import {
  lockTogether,
  longestRequest,
  withLockRetries,
} from '../session/lockRetries';
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

/** What an operator may say about a move. */
export interface MoveOptions {
  /** For how long, in milliseconds, the exchange may lock the tables. */
  maxBlockMs?: number;
  /** For how long, in milliseconds, others are waited for before it is given up. */
  patienceMs?: number;
  /** And for how long what was prepared is tried to be dropped then. */
  undoPatienceMs?: number;
}

/** The default of {@link MoveOptions.maxBlockMs}. */
export const DEFAULT_MAX_BLOCK_MS = 5000;

/** What a command about a tenant's partitions has done. */
export interface PartitionResult {
  /** Whether there was anything to do. */
  changed: boolean;
  /** The partitions that the tenant has, or had. */
  partitions?: Partitions;
}

// So many entries take a few milliseconds, and most of the time there are hardly any.
const LONGEST_LOG = 100;

// 55P03, lock_not_available: the attempt is given up like one that got no lock,
// and the log is replayed again before the next one.
const REFUSE_LONG_LOG = `do $$ begin
  if (select count(*) from ${PARTITION_LOG.table}) > ${LONGEST_LOG} then
    raise exception 'The change log is too long' using errcode = '55P03';
  end if;
end $$`;

// What is in the way of a move is in the way of dropping its triggers, too.
const UNDO_PATIENCE_MS = 30_000;

// Copies that came to differ again while older transactions were waited for.
const MOST_ROUNDS = 10;

/**
 * Gives a tenant a partition of each table, while everybody works.
 *
 * @throws {@link RefusedError} unless the partitioned tables are in use, for a tenant
 *   that can have none, and if the tables would be locked for too long
 * @throws {@link LockNotGrantedError} if others are in the way for too long
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
 * Takes a tenant's partitions back: its rows go where those of all tenants are that
 * have none. The tenant may be deleted.
 *
 * @throws {@link RefusedError} unless the partitioned tables are in use, for a tenant
 *   that keeps its partition, and if the tables would be locked for too long
 * @throws {@link LockNotGrantedError} if others are in the way for too long
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
  /** What there is to do, if anything. */
  move: Move | undefined;
  /** What an earlier command had prepared, and is undone now. */
  ended: Preparation | undefined;
}

/**
 * Finds out what a command has to do, and undoes what an earlier one has left, unless
 * it goes on with it. Also for a tenant that can have no partitions any more.
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
  // A slug that is mistyped is refused without a change.
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

/** Whether a move goes on where an earlier command was stopped. */
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

/** The triggers may have been dropped or disabled, as by the way back of phase 5. */
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
 * Copies the partitions that change, keeps the copies equal to them, and puts the
 * copies in their place. Until then nothing that is in use is changed, and a move that
 * is given up leaves nothing.
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

/** The rows have moved, whatever becomes of this. */
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

/** A login that can't act as an owner to whom no row is shown (see SEE_NO_ROW). */
async function warnOfValidation({
  executor,
  reporter,
}: StepContext): Promise<void> {
  const [login] = await executor.read<{ name: string }>(
    `select rolname as name from pg_roles
      where rolname = session_user and not rolsuper
        and (rolbypassrls or not pg_has_role(oid, '${ADMIN_ROLE}', 'usage'))`,
  );
  if (login) {
    reporter.warn(
      `PostgreSQL will look through the rows while the tables are locked, because the ` +
        `login "${login.name}" bypasses row-level security or does not inherit ` +
        `${ADMIN_ROLE}. As a superuser, or as a login that inherits it ` +
        'and does not bypass row-level security, the tables are locked for milliseconds.',
    );
  }
}

/** A command that was stopped from outside is gone on with instead. */
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
  reporter.info('Give the move up, and drop what was prepared for it');
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
 * Makes the copies equal to their sources, and has the triggers keep them so: from
 * this transaction on every snapshot shows the same rows on both sides.
 *
 * SHARE ROW EXCLUSIVE on the partitions that are copied, for the replay of what has
 * changed in the last milliseconds: who writes there waits, who reads does not, and the
 * other partitions are not touched.
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
    // Autovacuum is cancelled without a writer waiting (see Executor.ts).
    'set local lock_timeout = 5000',
    `lock table ${sources.join(', ')} in share update exclusive mode`,
    lockTogether(
      sources,
      longestRequest({ lockTimeoutMs: settings.lockTimeoutMs }),
      'share row exclusive',
    ),
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
          lockTimeoutMs: settings.lockTimeoutMs,
          patienceMs,
        },
        async () => {
          await replayOnce(session, PARTITION_LOG);
          await runTogether(session, statements);
        },
      ),
  });
  await compare(context, move);
}

/** Also shows that the changes since then were made on both sides. */
async function compare(
  { executor, reporter }: StepContext,
  { copies }: Move,
): Promise<void> {
  reporter.info('Compare the copies with the rows that they were made of');
  await executor.work({
    title: 'Compare the copies with the rows that they were made of.',
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
 * Puts the copies in their place once every snapshot that is left shows both sides
 * equal. So no answer is ever wrong: neither by a snapshot from before the
 * exchange, nor where row-level security does not hold.
 */
async function exchangeCopies(
  context: StepContext,
  move: Move,
  options: MoveOptions,
): Promise<void> {
  for (let round = 1; round <= MOST_ROUNDS; round += 1) {
    await waitForTransactions(context, {
      title:
        'Wait for transactions that began before every change was made in the copies',
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
    'Again and again, copies came to differ from their partitions while the tables were ' +
      'written to, or transactions took over snapshots from before the copies were ' +
      'complete. Run the command again in a quieter hour.',
  );
}

/** What becomes of an attempt: copies may differ, or a snapshot be too old. */
type Outcome = 'done' | 'differs' | 'older';

async function exchangeOnce(
  context: StepContext,
  move: Move,
  { maxBlockMs = DEFAULT_MAX_BLOCK_MS, patienceMs }: MoveOptions,
): Promise<Outcome> {
  const { executor, state, settings, reporter } = context;
  const { lockTimeoutMs } = settings;
  const title =
    move.direction === 'give'
      ? `Give "${move.tenant.slug}" its partitions`
      : `Take the partitions of "${move.tenant.slug}" back`;
  const preparation =
    (await readPreparation(state)) ?? (await newPreparation(context, move));
  const exchange = await describeExchange(executor, state, move, preparation, {
    lockTimeoutMs,
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
        { title, session, reporter, lockTimeoutMs, patienceMs },
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
    // In one message: the locks are not held for the time of a round trip.
    await session.query(blocking.join(';\n'));
  } catch (error) {
    await session.rollback();
    // The time may be over before the handler of it is in place.
    throw error instanceof CancelledError &&
      performance.now() - begun >= maxBlockMs
      ? tooLong('begin', maxBlockMs)
      : error;
  }
}

/** In one message: the locks are not held for the time of a round trip. */
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
      return new RefusedError(
        `Moving the rows would lock the tables for more than ${maxBlockMs} ms: by ` +
          `then it was about to ${
            (error as Error).message
          }. Nothing was changed. ` +
          'Give it more time with --max-block <ms>, in a quiet hour: everybody who ' +
          'uses the tables waits for it.',
      );
    case EXCHANGE_ERRORS.tenantDeleted:
      return new RefusedError(
        `The tenant "${tenant.slug}" was deleted meanwhile. It keeps its rows where ` +
          'they are.',
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
      '<ms>, in a quiet hour: everybody who uses the tables waits for it.',
  );
}

function codeOf(error: unknown): string | undefined {
  return error instanceof DatabaseError ? error.code : undefined;
}
