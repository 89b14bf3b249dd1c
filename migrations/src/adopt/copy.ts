import type { StepContext } from '../engine/Step';
import { ownTimeout, withLockRetries } from '../session/lockRetries';
import type { MigrationSession } from '../session/MigrationSession';
import { escapeLiteral } from '../sql';
import { patienceMs } from '../session/tableSize';
import { engineTable } from './engine';
import type { Engine } from './engine';
import { putState, readState } from './state';

const TITLE = 'Carry the entities';

// The engine waits for the rows of a batch: about so long.
const TARGET_MS = 20;
const FIRST_ROWS = 20;

const SCRIPT = `do $$
declare
  after text := '';
begin
  loop
    select last into after from adoption_copy(after, ${FIRST_ROWS});
    exit when after is null;
    commit;
  end loop;
end $$`;

interface Batch {
  last: string | null;
  rows: number;
}

/**
 * The first copy, in the order of the ids, each batch in a transaction of its own with
 * how far it has come. The triggers are there already: an entity that the engine has changed
 * meanwhile is carried as it is by then.
 */
export async function copyEntities(
  context: StepContext,
  engine: Engine,
): Promise<void> {
  const { executor } = context;
  await executor.work({
    title:
      `${TITLE}. FOR SHARE on a few rows of ${engineTable(
        engine,
        'final_entities',
      )} and ` +
      `${engineTable(
        engine,
        'refresh_state',
      )} at a time, for ${TARGET_MS} ms or so: what the engine ` +
      'has locked is left for later',
    script: [SCRIPT],
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
  );
  if (state.done) {
    return;
  }
  const [{ left }] = await executor.read<{ left: number }>(
    `select count(*)::int as left from ${engineTable(engine, 'final_entities')}
      where entity_id > $1`,
    [state.after],
  );
  const progress = reporter.progress(TITLE, left);
  // Well before PostgreSQL looks for deadlocks: the engine is never its victim.
  const timeoutMs = Math.min(settings.lockTimeoutMs, await patienceMs(session));
  const batchOf = (after: string, rows: number) =>
    withLockRetries(
      {
        title: TITLE,
        session,
        reporter,
        lockTimeoutMs: ownTimeout(settings, timeoutMs),
      },
      () => copyBatch(session, after, rows, timeoutMs),
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

/** In one message: no row stays locked for the time of a round trip. */
async function copyBatch(
  session: MigrationSession,
  after: string,
  rows: number,
  lockTimeoutMs: number,
): Promise<Batch> {
  try {
    const [batch] = await session.query<Batch>(
      [
        // What is lost in a crash is copied again.
        'set local synchronous_commit = off',
        `set local lock_timeout = ${lockTimeoutMs}`,
        `with batch as materialized (
           select last, rows from adoption_copy(${escapeLiteral(
             after,
           )}, ${rows})
         ), moved as (
           insert into adoption_state (key, value)
           select 'copy', jsonb_build_object('after', last, 'done', false)
             from batch where last is not null
           on conflict (key) do update set value = excluded.value
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

/** The statement that says that the sides were equal once. */
export const COPY_IS_DONE = putState('copy', { after: '', done: true });
