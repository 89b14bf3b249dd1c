import { cursorKey } from '../copy/BulkCopy';
import { dropLogTriggers, logFunction } from '../copy/changeLog';
import type { Executor } from '../engine/Executor';
import type { MigrationState } from '../engine/MigrationState';
import {
  describeFound,
  findForeign,
  recordOwnStatement,
} from '../engine/ownership';
import type { OwnRecord } from '../engine/ownership';
import type { Creation, StepContext } from '../engine/Step';
import { RefusedError } from '../errors';
import { operatorCommand } from '../operatorCommand';
import { relationExists } from '../schema/lookups';
import { catchAllPartition, isSwapped } from '../schema/partitions';
import { escapeIdentifier, escapeLiteral } from '../sql';
import { TENANT_TABLES } from '../schema/tables';
import { waitForTransactions } from '../engine/olderTransactions';
import { formatThings } from '../text';
import { PARTITION_LOG } from './names';
import { dropLog, dropTriggerFunctions, switchOff } from './sync';
import type { Tenant } from './Tenant';

/** Into partitions of the tenant, or back into the catch-all partitions. */
export type Direction = 'give' | 'takeBack';

/** The record of a move that has begun, which the next command continues or undoes. */
export interface Preparation extends Tenant {
  direction: Direction;
  /** The copies. */
  tables: string[];
  /** The partitions whose changes its triggers log or mirror. */
  sources: string[];
  /** The transaction of the last swap of phase 5 before it. */
  swap: string | null;
  /** Whether a command has begun to undo it, or has exchanged the partitions. */
  ended?: boolean;
}

/** The command that moves the rows of a tenant. */
export function commandOf(direction: Direction, slug: string): string {
  return direction === 'give'
    ? operatorCommand('partition', slug)
    : operatorCommand('unpartition', slug);
}

/** A preparation, with the objects that its command has created. */
export type BegunPreparation = Preparation & OwnRecord;

// Earlier versions of the commands recorded less.
type Stored = Tenant & Partial<BegunPreparation>;

const PREPARATION = 'partition:preparation';

/** The key of the transaction that switched the triggers to mirroring. */
export const SYNCHRONIZED = 'partition:move';

/** The move that has begun and is neither done nor undone, if there is one. */
export async function readPreparation(
  state: MigrationState,
): Promise<BegunPreparation | undefined> {
  const stored = await state.get<Stored>(PREPARATION);
  return (
    stored && {
      direction: 'give',
      tables: [],
      sources: TENANT_TABLES.map(catchAllPartition),
      swap: null,
      ended: stored.sources === undefined,
      // Without a journal, objects are recognized by their names, as after a restore.
      journal: '',
      known: [],
      ...stored,
    }
  );
}

/** All objects that a move creates, except the indexes of its tables. */
export function creationsOf({
  tables,
  sources,
}: Pick<Preparation, 'tables' | 'sources'>): Creation[] {
  const functions = [
    PARTITION_LOG.replay,
    ...TENANT_TABLES.map(table => logFunction(table, PARTITION_LOG)),
  ];
  return [
    ...[...tables, PARTITION_LOG.table].map(
      (name): Creation => ({ kind: 'relation', name }),
    ),
    ...functions.map(
      (name): Creation => ({ kind: 'function', name: `${name}()` }),
    ),
    ...sources.flatMap(source =>
      ['', '_truncate'].map(
        (suffix): Creation => ({
          kind: 'trigger',
          name: `${PARTITION_LOG.trigger}${suffix}`,
          table: escapeIdentifier(source),
        }),
      ),
    ),
  ];
}

/**
 * Refuses while objects have the names of a preparation's that its command did not create.
 *
 * @throws {@link RefusedError} which names them
 */
export async function refuseForeignMoveObjects({
  executor,
  state,
}: Pick<StepContext, 'executor' | 'state'>): Promise<void> {
  const preparation = await readPreparation(state);
  if (!preparation) {
    return;
  }
  const foreign = await findForeign(
    executor,
    preparation,
    creationsOf(preparation),
  );
  if (foreign.length > 0) {
    throw new RefusedError(
      `The migration did not create ${foreign
        .map(describeFound)
        .join(', ')}, and to drop what was prepared for "${
        preparation.slug
      }" would drop or change it. Rename what stands there, or move it to another ` +
        'schema.',
    );
  }
}

/**
 * A move of a tenant's rows that was stopped, or partitions that are left of a tenant.
 *
 * @public
 */
export interface UnfinishedMove {
  /** The tenant's. */
  slug: string;
  /** A description of it. */
  what: string;
  /** The command that continues it; `null` if nothing can. */
  goOn: string | null;
  /** The command that drops its objects. */
  drop: string;
}

/** The moves that were stopped, with the commands that continue or drop them. */
export async function readUnfinishedMoves({
  executor,
  state,
}: Pick<StepContext, 'executor' | 'state'>): Promise<UnfinishedMove[]> {
  const preparation = await readPreparation(state);
  return [
    ...(preparation
      ? [await describeStopped(executor, state, preparation)]
      : []),
    ...(await findOrphanedPartitions(executor)),
  ];
}

async function describeStopped(
  executor: Executor,
  state: MigrationState,
  { slug, direction, tables, sources, ended }: Preparation,
): Promise<UnfinishedMove> {
  const [found] = await executor.read<{
    active: boolean;
    tables: string[];
    triggers: number;
    entries: number | null;
  }>(
    `select exists (select from tenants
                     where tenant_slug = $1 and deleted_at is null) as active,
            array(select name from unnest($2::text[]) name
                   where to_regclass(quote_ident(name)) is not null) as tables,
            (select count(*)::int from pg_trigger
              where tgname in ('${PARTITION_LOG.trigger}', '${PARTITION_LOG.trigger}_truncate')
                and tgrelid in (select to_regclass(quote_ident(name)) from unnest($3::text[]) name)) as triggers,
            (select greatest(pg_stat_get_live_tuples(oid), 0)::float8 from pg_class
              where oid = to_regclass('${PARTITION_LOG.table}')) as entries`,
    [slug, tables, sources],
  );
  const isDone = ended && sources.length === 0;
  const isMirrored = (await state.get(SYNCHRONIZED)) !== undefined;
  const remains = [
    ...found.tables,
    ...(found.triggers > 0 ? [formatThings(found.triggers, 'trigger')] : []),
    ...(found.entries
      ? [`a log of about ${formatThings(found.entries, 'entry', 'entries')}`]
      : []),
  ];
  const opposite = direction === 'give' ? 'takeBack' : 'give';
  const canGoOn = !ended && (found.active || direction === 'takeBack');
  return {
    slug,
    what: [
      describeProgress({ direction, isDone, ended }),
      remains.length > 0 ? `Left over: ${remains.join(', ')}.` : undefined,
      isMirrored
        ? 'Rows of the partitions that it copies are written twice.'
        : undefined,
    ]
      .filter(Boolean)
      .join(' '),
    goOn: canGoOn ? commandOf(direction, slug) : null,
    drop: commandOf(isDone ? direction : opposite, slug),
  };
}

function describeProgress(options: {
  direction: Direction;
  isDone?: boolean;
  ended?: boolean;
}): string {
  if (options.isDone) {
    return 'It is done, but for what was replaced.';
  }
  if (options.ended) {
    return 'It was given up.';
  }
  return options.direction === 'give'
    ? 'The tenant was being given partitions.'
    : 'Its partitions were being taken back.';
}

/** A tenant deleted by SQL leaves its partitions behind, empty. */
async function findOrphanedPartitions(
  executor: Executor,
): Promise<UnfinishedMove[]> {
  if (!(await isSwapped(executor))) {
    return [];
  }
  const rows = await executor.read<{ names: string[] }>(
    `select array_agg(c.relname::text order by c.relname) as names
       from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent in (select to_regclass(name) from unnest($1::text[]) name)
        and pg_get_expr(c.relpartbound, c.oid) like 'FOR VALUES IN (%'
        and not exists (
          select from tenants t
           where pg_get_expr(c.relpartbound, c.oid) = format('FOR VALUES IN (%L)', t.tenant_id))
      group by pg_get_expr(c.relpartbound, c.oid)`,
    [[...TENANT_TABLES]],
  );
  return rows.map(({ names }) => {
    const [, slug] = /^entities_tenant_(.+)$/.exec(names[0]) ?? ['', '<slug>'];
    const guess = slug.includes('$') ? '<slug>' : slug.replace(/_/g, '-');
    return {
      slug: guess,
      what: `The tenant is gone, and its partitions are left: ${names.join(
        ', ',
      )}.`,
      goOn: null,
      drop: operatorCommand('unpartition', guess),
    };
  });
}

/**
 * The statements that record a preparation, for the transaction that creates its objects.
 *
 * @param objects - those that exist by then
 */
export function rememberPreparation(
  state: MigrationState,
  preparation: Preparation,
  objects: Pick<Preparation, 'tables' | 'sources'> = preparation,
): string[] {
  return [
    state.put(PREPARATION, preparation),
    recordOwnStatement(PREPARATION, creationsOf(objects)),
  ];
}

/** A table that a copy replaces, by its names before and after. */
export interface Replaced {
  before: string;
  after: string;
}

/**
 * The statements that record that the copies are in their place, and which tables are left
 * to drop. They run in the transaction of the exchange, before its locks.
 */
export function putExchanged(
  state: MigrationState,
  preparation: Preparation,
  replaced: Replaced[],
): string[] {
  const exchanged = {
    ...preparation,
    ended: true,
    tables: replaced.map(({ after }) => after),
    sources: [],
  };
  const before = { tables: replaced.map(table => table.before), sources: [] };
  return [
    ...forgetCursors(state, preparation),
    state.forget(SYNCHRONIZED),
    ...rememberPreparation(state, exchanged, before),
  ];
}

function forgetPreparation(
  state: MigrationState,
  preparation: Pick<Preparation, 'tables' | 'sources'>,
): string[] {
  return [
    ...forgetCursors(state, preparation),
    state.forget(PREPARATION),
    state.forget(SYNCHRONIZED),
  ];
}

function forgetCursors(
  state: MigrationState,
  { tables, sources }: Pick<Preparation, 'tables' | 'sources'>,
): string[] {
  return tables.flatMap(table =>
    sources.map(source => state.forget(cursorKey(table, source))),
  );
}

/**
 * Drops the objects of a preparation: the copies before the exchange, the replaced
 * partitions after it.
 *
 * @param patienceMs - for how long it waits for locks and open transactions
 */
export async function endPreparation(
  context: StepContext,
  patienceMs?: number,
): Promise<void> {
  const { executor, state } = context;
  const preparation = await readPreparation(state);
  if (!preparation) {
    return;
  }
  await refuseForeignMoveObjects(context);
  const { tables } = preparation;
  const sources: string[] = [];
  for (const source of preparation.sources) {
    if (await relationExists(executor, source)) {
      sources.push(escapeIdentifier(source));
    }
  }
  if (sources.length > 0) {
    await switchTriggersOff(context, preparation, sources, patienceMs);
  }
  await executor.transaction({
    title: 'Drop the tables that are not in use, and the change log',
    locks:
      'ACCESS EXCLUSIVE on them, and on what a partition references that was ' +
      'replaced, for a change of the catalog.',
    statements: [
      ...tables.map(table => `drop table if exists ${escapeIdentifier(table)}`),
      ...dropLog,
    ],
    patienceMs,
  });
  for (const source of sources) {
    await executor.transaction({
      title: `Stop following the changes of ${source}`,
      locks: `ACCESS EXCLUSIVE on ${source}, for a change of the catalog.`,
      tables: [source],
      statements: dropLogTriggers(source, PARTITION_LOG),
      patienceMs,
    });
  }
  await executor.transaction({
    title: 'Drop the functions of the triggers, and forget the move',
    locks: 'None.',
    statements: [
      ...dropTriggerFunctions,
      ...forgetPreparation(state, preparation),
    ],
  });
}

/** Replaces the trigger functions, and waits for transactions that may run the old ones. */
async function switchTriggersOff(
  context: StepContext,
  preparation: Preparation,
  sources: string[],
  patienceMs?: number,
): Promise<void> {
  const { executor, state, settings } = context;
  await executor.transaction({
    title: `End what was prepared for "${preparation.slug}"`,
    locks: 'None: functions of triggers are replaced by ones that do nothing.',
    statements: [
      ...switchOff(settings.schema),
      ...rememberPreparation(state, { ...preparation, ended: true }),
      state.forget(SYNCHRONIZED),
    ],
  });
  const relations = sources
    .map(source => `to_regclass(${escapeLiteral(source)})`)
    .join(', ');
  await waitForTransactions(context, {
    title: 'Wait for the transactions that write to the partitions',
    // A transaction that has written there may still run the function of before.
    which: `l.mode = 'RowExclusiveLock' and l.relation = any (array[${relations}]::oid[])`,
    why: 'they may still write to the copies, which are dropped then',
    patienceMs,
  });
}

/**
 * Drops the objects of a move after its partitions and their triggers are gone.
 *
 * @throws {@link RefusedError} if other objects have their names
 */
export async function dropUnfinishedMove(context: StepContext): Promise<void> {
  const { executor, state } = context;
  const preparation = await readPreparation(state);
  if (!preparation) {
    await dropOldFence(context);
    return;
  }
  await refuseForeignMoveObjects(context);
  await executor.transaction({
    title: 'Drop the tables that were prepared for the move of a tenant',
    locks: 'ACCESS EXCLUSIVE on tables that are not in use.',
    statements: [
      ...preparation.tables.map(
        table => `drop table if exists ${escapeIdentifier(table)}`,
      ),
      ...dropTriggerFunctions,
      ...dropLog,
      ...forgetPreparation(state, preparation),
    ],
  });
}

// An earlier version of the commands kept older transactions off the tables by a
// policy, until a command had waited for them.
const OLD_FENCE = {
  policy: 'tenancy_partition_fence',
  dropFunction:
    'drop function if exists tenancy_snapshot_after_move(xid8, uuid, uuid)',
};

/**
 * Drops the fence of a command of an earlier version that was killed after the rows had
 * moved. Only such a command leaves its transaction recorded without a preparation.
 */
export async function dropOldFence({
  executor,
  state,
}: StepContext): Promise<void> {
  if ((await readPreparation(state)) || !(await state.get(SYNCHRONIZED))) {
    return;
  }
  const tables = await executor.read<{ name: string }>(
    `select polrelid::regclass::text as name from pg_policy
      where polname = '${OLD_FENCE.policy}'
        and polrelid in (select to_regclass(name) from unnest($1::text[]) name)`,
    [[...TENANT_TABLES]],
  );
  await executor.transaction({
    title: 'Drop the fence of an earlier version',
    locks: 'ACCESS EXCLUSIVE on each table, for a change of the catalog.',
    tables: tables.map(({ name }) => name),
    statements: [
      ...tables.map(({ name }) => `drop policy ${OLD_FENCE.policy} on ${name}`),
      OLD_FENCE.dropFunction,
      ...dropTriggerFunctions,
      ...dropLog,
      state.forget(SYNCHRONIZED),
    ],
  });
}
