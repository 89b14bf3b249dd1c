import { STATE_TABLE } from '../../../engine/MigrationState';
import { fillParents } from '../../../adopt/parents';
import type { Progress } from '../../../engine/Reporter';
import type { MigrationSettings, StepContext } from '../../../engine/Step';
import { escapeLiteral } from '../../../schema/sql';
import type { MigrationSession } from '../../../session/MigrationSession';
import { withLockRetries } from '../../../session/lockRetries';
import { waitForOlderSnapshots } from '../../../session/olderTransactions';
import { findDifferences, forEachDifference } from './differences';
import { FILL, REPAIR } from './functions';

const CURSOR = 'phase5.search';
const TITLE = 'Fill entity_search';

// Terms of an entity, about: a batch has so many rows as the operator has said.
const TERMS_OF_AN_ENTITY = 50;
// Fewer take no less time.
const FEWEST = 20;

/** How far the fill has come. */
interface Cursor {
  tenant: string;
  after: string | null;
}

interface Batch {
  last: string | null;
  filled: number;
}

/**
 * Gives the entities that were there before the triggers their terms, while others
 * write, and compares all of them in the end.
 *
 * No term can stay that no entity has. Who changes an entity changes its terms, and
 * has the row locked, as the fill has it while it writes. That leaves a REPEATABLE READ
 * transaction whose snapshot does not show what the fill wrote, and changes the entity
 * afterwards: it fails where it writes the same term, and leaves the old ones
 * otherwise. So the fill waits until there is no such transaction left, and mends what
 * then differs. Each entity that it mends gets a new version, on which PostgreSQL fails
 * whoever does not see it.
 */
export async function fillTerms(context: StepContext): Promise<void> {
  const { executor, settings, state } = context;
  await executor.work({
    title: `${TITLE}. FOR SHARE on some entities at a time, for milliseconds`,
    script: [fillScript(settings)],
    run: session => fillAll(context, session),
  });
  await executor.execute('vacuum (analyze) entity_search');
  await waitForOlderSnapshots(
    context,
    'they might change entities without seeing their terms.',
  );
  await executor.work({
    title: 'Compare the terms with what the entities say, and mend them',
    script: [forEachDifference(`perform ${REPAIR}(tenant, entity)`)],
    run: session => mend(context, session),
  });
  await fillParents(context);
  await executor.execute(state.forget(CURSOR));
}

/** What was filled is dropped with the tables. */
export async function forgetFill({
  executor,
  state,
}: StepContext): Promise<void> {
  await executor.execute(state.forget(CURSOR));
}

async function fillAll(
  context: StepContext,
  session: MigrationSession,
): Promise<void> {
  const cursor = await context.state.get<Cursor>(CURSOR);
  const tenants = await session.query<{ id: string }>(
    `select tenant_id as id from tenants
      where $1::uuid is null or tenant_id >= $1 order by tenant_id`,
    [cursor?.tenant],
  );
  const progress = context.reporter.progress(
    TITLE,
    await estimateEntities(session),
  );
  try {
    for (const { id } of tenants) {
      const after = id === cursor?.tenant ? cursor.after : null;
      await fillTenant(context, session, progress, { tenant: id, after });
    }
  } finally {
    progress.finish();
  }
}

async function fillTenant(
  context: StepContext,
  session: MigrationSession,
  progress: Progress,
  start: Cursor,
): Promise<void> {
  const { settings, reporter } = context;
  const { tenant } = start;
  let after: string | null = start.after;
  do {
    const from: string | null = after;
    const batch = await withLockRetries(
      {
        title: TITLE,
        session,
        reporter,
        lockTimeoutMs: settings.lockTimeoutMs,
      },
      async () => {
        // One message is one transaction: no row stays locked for a round trip.
        const [filled] = await session.query<Batch>(
          [
            `set local lock_timeout = ${settings.lockTimeoutMs}`,
            'set local synchronous_commit = off',
            fillBatch(tenant, from, settings),
          ].join(';\n'),
        );
        return filled;
      },
    );
    progress.advance(batch.filled);
    after = batch.last;
  } while (after !== null);
}

/** A batch, and the cursor behind it. */
function fillBatch(
  tenant: string,
  after: string | null,
  settings: MigrationSettings,
): string {
  const from = after === null ? 'null' : escapeLiteral(after);
  return `with batch as materialized (
  select last, filled from ${FILL}(${escapeLiteral(
    tenant,
  )}, ${from}, ${entitiesAtOnce(settings)})
), moved as (
  insert into ${STATE_TABLE} (key, value)
  select '${CURSOR}', jsonb_build_object('tenant', ${escapeLiteral(
    tenant,
  )}::text, 'after', last)
    from batch where last is not null
      on conflict (key) do update set value = excluded.value
)
select last, filled from batch`;
}

async function mend(
  { settings, reporter }: StepContext,
  session: MigrationSession,
): Promise<void> {
  for await (const { tenant, entity } of findDifferences(session)) {
    await withLockRetries(
      {
        title: `Mend the terms of the entity ${entity}`,
        session,
        reporter,
        lockTimeoutMs: settings.lockTimeoutMs,
      },
      // One entity, so that it waits for nobody while it holds another one.
      () =>
        session.transaction('begin', async () => {
          await session.query(
            `set local lock_timeout = ${settings.lockTimeoutMs}`,
          );
          await session.query(`select ${REPAIR}($1, $2)`, [tenant, entity]);
        }),
    );
  }
}

function entitiesAtOnce({ batchSize }: MigrationSettings): number {
  return Math.max(FEWEST, Math.floor(batchSize / TERMS_OF_AN_ENTITY));
}

async function estimateEntities(session: MigrationSession): Promise<number> {
  const [{ rows }] = await session.query<{ rows: number }>(
    `select coalesce(sum(greatest(c.reltuples, 0)), 0)::float8 as rows
       from pg_partition_tree('entities') t join pg_class c on c.oid = t.relid
      where t.isleaf`,
  );
  return rows;
}

function fillScript(settings: MigrationSettings): string {
  return `do $$
declare
  tenant uuid;
  after uuid;
begin
  for tenant in select tenant_id from tenants order by tenant_id loop
    after := null;
    loop
      select last into after from ${FILL}(tenant, after, ${entitiesAtOnce(
    settings,
  )});
      commit;
      exit when after is null;
    end loop;
  end loop;
end $$`;
}
