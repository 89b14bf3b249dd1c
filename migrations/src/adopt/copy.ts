import type { StepContext } from '../engine/Step';
import { limitWaits, withLockRetries } from '../session/lockRetries';
import type { MigrationSession } from '../session/MigrationSession';
import { escapeLiteral } from '../sql';
import { engineArguments, engineTable, rowsOf } from './engine';
import type { Engine } from './engine';
import { reconcileParents } from './reconcile';
import { putState, readState } from './state';

const ENTITIES_TITLE = 'Carry the entities';

// For about so long a write of the engine waits for a batch.
const TARGET_MS = 20;
const FIRST_ROWS = 20;

const entitiesScript = (engine: Engine) =>
  `do ${escapeLiteral(`
declare
  after text := '';
begin
  loop
    select last into after from adoption_copy(${engineArguments(
      engine,
    )}, after, ${FIRST_ROWS});
    exit when after is null;
    commit;
  end loop;
end `)}`;

interface Batch {
  last: string | null;
  rows: number;
}

/**
 * The first copy, in the order of the ids; each batch is a transaction that also records
 * the last id. The triggers exist already, so a batch may meet an entity that a trigger
 * has carried: it carries the present row again.
 */
export async function copyEntities(
  context: StepContext,
  engine: Engine,
): Promise<void> {
  const { executor } = context;
  await executor.work({
    title:
      `${ENTITIES_TITLE}. FOR SHARE on a few rows of ${engineTable(
        engine,
        'final_entities',
      )} and ` +
      `${engineTable(
        engine,
        'refresh_state',
      )} at a time, for ${TARGET_MS} ms or so: what the engine ` +
      'has locked is left for later',
    script: [entitiesScript(engine)],
    run: session => copy(context, session, engine),
  });
}

async function copy(
  { executor, settings, reporter }: StepContext,
  session: MigrationSession,
  engine: Engine,
): Promise<void> {
  const { copy: state = { after: '', done: false } } = await readState(
    executor,
    engine.tenantId,
  );
  if (state.done) {
    return;
  }
  const [{ left }] = await executor.read<{ left: number }>(
    `select count(*)::int as left from ${engineTable(engine, 'final_entities')}
      where entity_id > $1`,
    [state.after],
  );
  const progress = reporter.progress(ENTITIES_TITLE, left);
  const batchOf = (after: string, rows: number) =>
    withLockRetries(
      {
        title: ENTITIES_TITLE,
        session,
        reporter,
        ...rowsOf(engine),
        maxPauseMs: settings.maxPauseMs,
      },
      timeoutMs => copyBatch(session, engine, after, rows, timeoutMs),
    );
  let rows = Math.min(FIRST_ROWS, settings.batchSize);
  let after: string | null = state.after;
  try {
    while (after !== null) {
      const begun = performance.now();
      const batch: Batch = await batchOf(after, rows);
      const ms = Math.max(performance.now() - begun, 1);
      const fitting = Math.ceil((batch.rows * TARGET_MS) / ms);
      rows = Math.max(1, Math.min(fitting, rows * 2, settings.batchSize));
      after = batch.last;
      progress.advance(batch.rows);
    }
  } finally {
    progress.finish();
  }
}

/** One message: no row stays locked during a round trip. */
async function copyBatch(
  session: MigrationSession,
  engine: Engine,
  after: string,
  rows: number,
  timeoutMs: number,
): Promise<Batch> {
  try {
    const [batch] = await session.query<Batch>(
      [
        // A crash loses batch and position together, and the next run copies it again.
        'set local synchronous_commit = off',
        limitWaits(timeoutMs),
        `with batch as materialized (
           select last, rows from adoption_copy(${engineArguments(
             engine,
           )}, ${escapeLiteral(after)}, ${rows})
         ), moved as (
           insert into adoption_state (tenant_id, key, value)
           select ${escapeLiteral(
             engine.tenantId,
           )}::uuid, 'copy', jsonb_build_object('after', last, 'done', false)
             from batch where last is not null
           on conflict (tenant_id, key) do update set value = excluded.value
         )
         select last, rows from batch`,
      ].join(';\n'),
    );
    return batch;
  } catch (error) {
    await session.rollback();
    throw error;
  }
}

/** The statement that records that both sides were equal once. */
export function copyIsDone({ tenantId }: Engine): string {
  return putState(tenantId, 'copy', { after: '', done: true });
}

const EDGES_TITLE = 'Carry the edges between entities';
const EDGE_ROWS = 500;

const edgesScript = (engine: Engine) =>
  `do ${escapeLiteral(`
declare
  after bigint := 0;
begin
  loop
    after := adoption_copy_parents(${engineArguments(
      engine,
    )}, after, ${EDGE_ROWS});
    exit when after is null;
    commit;
  end loop;
end `)}`;

/**
 * Copies the edges between entities from an engine's table to ours while the engine writes.
 * The triggers exist. It copies in ranges, each edge under a lock of the engine's row: a
 * transaction that deletes that row waits, and its trigger finds ours.
 */
export async function fillParents(
  context: StepContext,
  engine: Engine,
): Promise<void> {
  const { executor } = context;
  await executor.work({
    title: `${EDGES_TITLE}. FOR KEY SHARE on ${EDGE_ROWS} rows of ${engineTable(
      engine,
      'refresh_state_references',
    )} at a time, for milliseconds`,
    script: [edgesScript(engine)],
    async run(session) {
      const work = {
        title: EDGES_TITLE,
        session,
        reporter: context.reporter,
        ...rowsOf(engine),
        maxPauseMs: context.settings.maxPauseMs,
      };
      let after: string | null = '0';
      while (after !== null) {
        const from: string = after;
        after = await withLockRetries(work, async timeoutMs => {
          const rows = await session.query<{ last: string | null }>(
            [
              'set local synchronous_commit = off',
              limitWaits(timeoutMs),
              `select adoption_copy_parents(${engineArguments(
                engine,
              )}, ${from}, ${EDGE_ROWS})::text as last`,
            ].join(';\n'),
          );
          return rows[0].last;
        });
      }
    },
  });
  await reconcileParents(context, engine);
}
