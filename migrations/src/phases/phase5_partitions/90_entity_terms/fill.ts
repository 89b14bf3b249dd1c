import { STATE_TABLE } from '../../../engine/MigrationState';
import type { Progress } from '../../../Reporter';
import type { MigrationSettings, StepContext } from '../../../engine/Step';
import { relationExists } from '../../../schema/lookups';
import { escapeLiteral } from '../../../sql';
import type { MigrationSession } from '../../../session/MigrationSession';
import { limitWaits, withLockRetries } from '../../../session/lockRetries';
import type { TableLocks } from '../../../session/lockRetries';
import { waitForOlderSnapshots } from '../../../engine/olderTransactions';
import { findChanged, findDifferencesSince } from './differences';
import {
  CATCH_UP,
  dropFillFunctionStatements,
  FILL,
  fillFunctionStatements,
  REPAIR,
} from './functions';
import { TERM_INDEXES } from './tables';
import {
  dropTriggerStatements,
  TERM_TRIGGERS,
  triggerStatements,
} from './triggers';

const TITLE = 'Fill entity_terms';
const LOCKED: TableLocks = {
  tables: ['entities', 'entity_terms'],
  mode: 'rows',
};
const CATCH_UP_TITLE = 'Follow the changes during the fill';

/** The state of a fill: when it began, and the ranges that are left. */
const BEGUN = 'phase5.terms';
const RANGE = `${BEGUN}:`;
const FORGET = `delete from ${STATE_TABLE} where key = '${BEGUN}' or key like '${RANGE}%'`;

// Entities that one statement reads, by the operator's batch size in rows: an entity has
// about fifty terms.
const ROWS_OF_AN_ENTITY = 5;
const FEWEST = 20;

// Entities that one statement locks: their terms go into all indexes.
const LOCKED_AT_ONCE = 20;

// Ranges for each session: enough that all sessions end at about the same time, and large
// enough that a small catalog takes one session.
const RANGES = 60;
const SMALLEST_RANGE = 2000;

// maintenance_work_mem: PostgreSQL requires 32 MB for each process of a parallel build; the
// default of 64 MB is too little for the rows of 20,000 entities.
const SORT_IN_MEMORY = `select set_config('maintenance_work_mem', '128MB', false)
 where pg_size_bytes(current_setting('maintenance_work_mem')) < pg_size_bytes('128MB')`;

const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

// The greatest age of a transaction id that PostgreSQL can compare.
const FARTHEST = 1_000_000_000;

const TOO_MANY_CONNECTIONS = '53300';

/** When the fill began. It has the terms of entities of this moment or a later one. */
interface Begun {
  /** The oldest transaction that was open then. */
  since: string;
  /** The database: transaction ids are meaningless in a restored copy. */
  table: string;
}

/** A range of a tenant's entities that is not filled yet. */
interface StoredRange {
  key: string;
  range: { tenant: string; after: string | null; upto: string };
}

interface Batch {
  last: string | null;
  filled: number;
}

/**
 * Gives the entities their terms while others write, and has triggers keep them.
 *
 * 1. Writes the terms of all entities, in ranges that several sessions share. No entity is
 *    locked, no index has to be kept up, and writers pay for no trigger.
 * 2. Builds the indexes, then creates the triggers.
 * 3. Syncs the entities that were changed meanwhile: the `xmin` of their row is a
 *    transaction that was open when the fill began, or a later one. Some are locked
 *    FOR SHARE at a time, and rows that others hold are skipped.
 * 4. Waits for older snapshots, compares the changed entities again, and repairs what
 *    differs.
 *
 * From step 2 on, a change of an entity changes its terms under the lock of its row, which
 * steps 3 and 4 take as well. Step 4 repairs skipped rows, and those of REPEATABLE READ
 * transactions whose snapshot is older than the terms: such a transaction fails with 40001
 * if it writes the same term, and leaves old terms otherwise. Repair rewrites the row of
 * the entity, so that an older snapshot fails with 40001 on it.
 */
export async function fillTerms(context: StepContext): Promise<void> {
  const { executor, reporter, settings } = context;
  await beginAnew(context);
  await executor.transaction({
    title: 'Create the functions that fill entity_terms',
    locks: 'New functions, which no session uses yet.',
    statements: fillFunctionStatements(settings.schema),
  });
  await executor.work({
    title: `${TITLE}. It locks no row`,
    script: [
      `-- Each range of entities in batches\n${fillBatch(
        `${RANGE}00000001`,
        settings,
      )}`,
    ],
    run: session => fillAll(context, session),
  });
  await executor.work({
    title:
      'Build the indexes of entity_terms. SHARE on the table, which only this command writes to',
    script: [
      SORT_IN_MEMORY,
      ...TERM_INDEXES.map(({ statement }) => statement),
      'reset maintenance_work_mem',
    ],
    run: session => buildIndexes(context, session),
  });
  await executor.execute('vacuum (analyze) entity_terms');
  await executor.transaction({
    title: 'Create the triggers that keep the terms',
    locks:
      'SHARE ROW EXCLUSIVE on entities, for a change of the catalog. It waits for ' +
      'the transactions that have written, so that none of them is missed.',
    tables: ['entities'],
    mode: 'share row exclusive',
    statements: triggerStatements,
  });
  reporter.info(CATCH_UP_TITLE);
  await executor.work({
    title: CATCH_UP_TITLE,
    script: [],
    run: session => catchUp(context, session),
  });
  await waitForOlderSnapshots(
    context,
    'they might change entities without seeing their terms.',
  );
  await executor.work({
    title: 'Compare the terms with the entities, and repair them',
    script: [`-- For each entity that differs\nselect ${REPAIR}($1, $2)`],
    run: session => mend(context, session),
  });
  await forgetFill(context);
}

/** Drops the functions; the terms are dropped with their tables. */
export async function forgetFill({ executor }: StepContext): Promise<void> {
  await executor.transaction({
    title: 'Drop the functions that fill entity_terms',
    locks: 'None on tables: no statement calls the functions any more.',
    statements: [...dropFillFunctionStatements, FORGET],
  });
}

/**
 * Discards the state of a fill that cannot be continued: an undone one, or one of the database of which this is a restored copy.
 */
async function beginAnew(context: StepContext): Promise<void> {
  const { executor } = context;
  if (
    !(await relationExists(executor, 'entity_terms')) ||
    (!executor.dryRun && (await canGoOn(context)))
  ) {
    return;
  }
  const [{ untouched }] = await executor.read<{ untouched: boolean }>(
    `select not exists (select from entity_terms)
        and not exists (select from pg_trigger
                         where tgrelid = to_regclass('entities') and tgname = any ($1))
        and not exists (select from unnest($2::text[]) name where to_regclass(name) is not null) as untouched`,
    [TERM_TRIGGERS, TERM_INDEXES.map(({ name }) => name)],
  );
  if (untouched) {
    return;
  }
  await executor.transaction({
    title: `${TITLE} anew`,
    locks:
      'ACCESS EXCLUSIVE on entities and entity_terms, for a change of the catalog.',
    tables: ['entities', 'entity_terms'],
    statements: [
      ...dropTriggerStatements,
      'truncate entity_terms',
      ...TERM_INDEXES.map(({ name }) => `drop index if exists ${name}`),
      FORGET,
    ],
  });
}

async function canGoOn({ executor, state }: StepContext): Promise<boolean> {
  const begun = await state.get<Partial<Begun>>(BEGUN);
  if (begun?.since === undefined || begun.table === undefined) {
    return false;
  }
  const [{ comparable }] = await executor.read<{ comparable: boolean }>(
    `select $2 = 'entities'::regclass::oid::text
        and pg_snapshot_xmax(pg_current_snapshot())::text::numeric - $1 between 0 and ${FARTHEST} as comparable`,
    [begun.since, begun.table],
  );
  return comparable;
}

async function fillAll(
  context: StepContext,
  session: MigrationSession,
): Promise<void> {
  const { reporter } = context;
  if (!(await canGoOn(context))) {
    await begin(session);
  }
  const ranges = await session.query<StoredRange>(
    `select key, value as range from ${STATE_TABLE} where key like '${RANGE}%' order by key`,
  );
  const progress = reporter.progress(TITLE, await estimateEntities(session));
  try {
    await shareOut(context, session, ranges, (worker, range, failed) =>
      fillRange(context, worker, { range, progress, failed }),
    );
  } finally {
    progress.finish();
  }
}

/** Records when the fill began, and the ranges of each tenant's entities. */
async function begin(session: MigrationSession): Promise<void> {
  const entities = await estimateEntities(session);
  const size = Math.max(SMALLEST_RANGE, Math.ceil(entities / RANGES));
  await session.query(
    `begin isolation level repeatable read;
     ${FORGET};
     insert into ${STATE_TABLE} (key, value)
     select '${BEGUN}', jsonb_build_object('since', pg_snapshot_xmin(pg_current_snapshot())::text,
                                           'table', 'entities'::regclass::oid::text);
     insert into ${STATE_TABLE} (key, value)
     select '${RANGE}' || to_char(row_number() over (order by tenant_id, upto), 'FM00000000'),
            jsonb_build_object('tenant', tenant_id, 'upto', upto,
              'after', lag(upto) over (partition by tenant_id order by upto))
       from (select tenant_id, entity_id as upto
               from (select tenant_id, entity_id,
                            row_number() over (partition by tenant_id order by entity_id) as n
                       from entities) entity
              where n % ${size} = 0
              union
             select tenant_id, '${LAST_ID}' from tenants) range;
     commit`,
  );
}

/**
 * Builds the indexes concurrently: half of a parallel build is one process that merges the
 * sorted parts.
 */
async function buildIndexes(
  context: StepContext,
  session: MigrationSession,
): Promise<void> {
  const { reporter } = context;
  await shareOut(
    context,
    session,
    [...TERM_INDEXES.entries()],
    async (worker, [position, { name, statement }]) => {
      reporter.info(`Index ${position + 1} of ${TERM_INDEXES.length}: ${name}`);
      await worker.query(SORT_IN_MEMORY);
      await worker.query(statement);
    },
  );
  await session.query('reset maintenance_work_mem');
}

/**
 * Processes items in as many sessions as PostgreSQL may use processes for an index build
 * (max_parallel_maintenance_workers). An error ends all of them.
 */
async function shareOut<Item>(
  context: StepContext,
  session: MigrationSession,
  items: Item[],
  work: (
    session: MigrationSession,
    item: Item,
    failed: AbortSignal,
  ) => Promise<void>,
): Promise<void> {
  const waiting = [...items];
  const failure = new AbortController();
  const run = async (worker: MigrationSession) => {
    try {
      while (waiting.length > 0 && !failure.signal.aborted) {
        await work(worker, waiting.shift()!, failure.signal);
      }
    } catch (error) {
      failure.abort();
      throw error;
    }
  };
  const helpers = await openHelpers(
    context,
    Math.min(await processesOfABuild(session), items.length) - 1,
  );
  try {
    const ends = await Promise.allSettled([session, ...helpers].map(run));
    for (const end of ends) {
      if (end.status === 'rejected') {
        throw end.reason;
      }
    }
  } finally {
    await Promise.all(helpers.map(helper => helper.close()));
  }
}

async function processesOfABuild(session: MigrationSession): Promise<number> {
  const [{ processes }] = await session.query<{ processes: number }>(
    `select 1 + least(current_setting('max_parallel_maintenance_workers')::int,
                      current_setting('max_parallel_workers')::int) as processes`,
  );
  return processes;
}

/** Fewer, if the server has no connection left. */
async function openHelpers(
  context: StepContext,
  count: number,
): Promise<MigrationSession[]> {
  const helpers: MigrationSession[] = [];
  try {
    while (helpers.length < count) {
      helpers.push(await context.openSession());
    }
  } catch (error) {
    if ((error as { code?: unknown }).code !== TOO_MANY_CONNECTIONS) {
      await Promise.all(helpers.map(helper => helper.close()));
      throw error;
    }
  }
  return helpers;
}

async function fillRange(
  { settings, reporter }: StepContext,
  session: MigrationSession,
  {
    range,
    progress,
    failed,
  }: { range: StoredRange; progress: Progress; failed: AbortSignal },
): Promise<void> {
  let last: string | null = null;
  do {
    const batch: Batch = await withLockRetries(
      {
        title: TITLE,
        session,
        reporter,
        ...LOCKED,
        maxPauseMs: settings.maxPauseMs,
      },
      async timeoutMs => {
        const [filled] = await session.query<Batch>(
          // Statements of one message form one transaction.
          `${limitWaits(
            timeoutMs,
          )};\nset local synchronous_commit = off;\n${fillBatch(
            range.key,
            settings,
          )}`,
        );
        return filled;
      },
    );
    progress.advance(batch.filled);
    last = batch.last;
  } while (last !== null && !failed.aborted);
}

/** Fills a batch, and shortens its range by it, or deletes the range after the last. */
function fillBatch(key: string, settings: MigrationSettings): string {
  return `with batch as materialized (
  select s.key, f.last, f.filled
    from ${STATE_TABLE} s, lateral ${FILL}(
           (s.value ->> 'tenant')::uuid, (s.value ->> 'after')::uuid, (s.value ->> 'upto')::uuid,
           ${entitiesAtOnce(settings)}) f
   where s.key = ${escapeLiteral(key)}
), moved as (
  update ${STATE_TABLE} s set value = s.value || jsonb_build_object('after', batch.last)
    from batch where s.key = batch.key and batch.last is not null
), done as (
  delete from ${STATE_TABLE} s using batch where s.key = batch.key and batch.last is null
)
select last, filled from batch`;
}

async function catchUp(
  { settings, reporter, state }: StepContext,
  session: MigrationSession,
): Promise<void> {
  const { since } = await begunOf(state);
  for await (const { tenant, ids } of findChanged(session, since)) {
    for (let first = 0; first < ids.length; first += LOCKED_AT_ONCE) {
      await withLockRetries(
        {
          title: CATCH_UP_TITLE,
          session,
          reporter,
          ...LOCKED,
          maxPauseMs: settings.maxPauseMs,
        },
        timeoutMs =>
          // In one message: no round trip while rows are locked.
          session.query(
            [
              limitWaits(timeoutMs),
              'set local synchronous_commit = off',
              `select ${CATCH_UP}(${escapeLiteral(tenant)}, ${escapeLiteral(
                `{${ids.slice(first, first + LOCKED_AT_ONCE)}}`,
              )})`,
            ].join(';\n'),
          ),
      );
    }
  }
}

async function mend(
  { settings, reporter, state }: StepContext,
  session: MigrationSession,
): Promise<void> {
  const { since } = await begunOf(state);
  for await (const { tenant, entity } of findDifferencesSince(session, since)) {
    await withLockRetries(
      {
        title: `Repair the terms of the entity ${entity}`,
        session,
        reporter,
        ...LOCKED,
        maxPauseMs: settings.maxPauseMs,
      },
      // One entity at a time, so that it never waits for a row while it holds another.
      timeoutMs =>
        session.transaction('begin', async () => {
          await session.query(limitWaits(timeoutMs));
          await session.query(`select ${REPAIR}($1, $2)`, [tenant, entity]);
        }),
    );
  }
}

async function begunOf(state: StepContext['state']): Promise<Begun> {
  const begun = await state.get<Begun>(BEGUN);
  if (!begun) {
    throw new Error(`The state of "${TITLE}" is missing`);
  }
  return begun;
}

function entitiesAtOnce({ batchSize }: MigrationSettings): number {
  return Math.max(FEWEST, Math.floor(batchSize / ROWS_OF_AN_ENTITY));
}

async function estimateEntities(session: MigrationSession): Promise<number> {
  const [{ rows }] = await session.query<{ rows: number }>(
    `select coalesce(sum(greatest(c.reltuples, 0)), 0)::float8 as rows
       from pg_partition_tree('entities') t join pg_class c on c.oid = t.relid
      where t.isleaf`,
  );
  return rows;
}
