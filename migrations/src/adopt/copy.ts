import type { StepContext } from '../engine/Step';
import { escapeLiteral } from '../sql';
import { engineArguments, engineTable } from './engine';
import type { Engine } from './engine';
import { reconcileParents, runBriefly } from './reconcile';
import { readState } from './state';

const ENTITIES_TITLE = 'Carry the entities';

// For about so long a write of the engine waits for a batch.
const TARGET_MS = 20;
const FIRST_ROWS = 20;

interface Batch {
  last: string | null;
  rows: number;
}

/** The statement of a batch of entities, which also records the last id: a crash loses both together. */
function copyStatement(engine: Engine, after: string, rows: number): string {
  return `with batch as materialized (
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
select last, rows from batch`;
}

/**
 * The first copy, in the order of the ids. The triggers exist already, so a batch may meet an
 * entity that a trigger has carried: it carries the present row again.
 * What the engine has locked is left for later.
 */
export async function copyEntities(
  context: StepContext,
  engine: Engine,
): Promise<void> {
  await context.executor.work({
    title:
      `${ENTITIES_TITLE}, each batch behind the last id of the one before. FOR SHARE on a few ` +
      `rows of the engine, for ${TARGET_MS} ms or so.`,
    script: [copyStatement(engine, '', FIRST_ROWS)],
    run: () => copyBatches(context, engine),
  });
}

async function copyBatches(
  context: StepContext,
  engine: Engine,
): Promise<void> {
  const { executor, settings, reporter } = context;
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
  let rows = Math.min(FIRST_ROWS, settings.batchSize);
  let after: string | null = state.after;
  try {
    while (after !== null) {
      const begun = performance.now();
      const statement = copyStatement(engine, after, rows);
      const [batch]: Batch[] = await runBriefly(context, engine, {
        title: ENTITIES_TITLE,
        statement,
      });
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

const EDGE_ROWS = 500;

/**
 * Copies the edges between entities from an engine's table to ours while the engine writes.
 * The triggers exist. It copies in ranges, each edge under a lock of the engine's row: a
 * transaction that deletes that row waits, and its trigger finds ours.
 */
export async function fillParents(
  context: StepContext,
  engine: Engine,
): Promise<void> {
  const title = 'Carry the edges between entities';
  const statementAfter = (last: string) =>
    `select adoption_copy_parents(${engineArguments(
      engine,
    )}, ${last}, ${EDGE_ROWS})::text as last`;
  await context.executor.work({
    title:
      `${title}, each batch behind the last id of the one before. FOR KEY SHARE on ` +
      `${EDGE_ROWS} rows of the engine, for milliseconds.`,
    script: [statementAfter('0')],
    async run() {
      let after: string | null = '0';
      while (after !== null) {
        const [batch]: { last: string | null }[] = await runBriefly(
          context,
          engine,
          { title, statement: statementAfter(after) },
        );
        after = batch.last;
      }
    },
  });
  await reconcileParents(context, engine);
}
