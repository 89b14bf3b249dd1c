import type { StepContext } from '../engine/Step';
import { VerificationError } from '../errors';
import { DEFAULT_TENANT_ID } from '../schema/tables';
import { limitWaits, withLockRetries } from '../session/lockRetries';
import { escapeLiteral } from '../sql';
import { enumerate } from '../text';
import { differingEntities, differingParents } from './compare';
import { ENGINE_TABLES, engineArguments, engineTable } from './engine';
import type { Engine, EngineTable } from './engine';
import { NO_ROOM } from './quota';
import { FAULTS, UNKNOWN_KEY } from './state';

/** The source of faults that are about edges. */
const EDGES: EngineTable = 'refresh_state_references';

const faultsOf = ({ tenantId }: Engine) =>
  `${FAULTS} where tenant_id = ${escapeLiteral(tenantId)}`;

// Each round finds what was under way during the one before.
const ROUNDS = 20;

/**
 * Carries, one by one, the entities that differ from the engine's: those that a batch
 * skipped, adoption faults, and changes from before the triggers.
 *
 * @throws {@link VerificationError} if entities still differ after 20 rounds
 */
export async function reconcileEntities(
  context: StepContext,
  engine: Engine,
): Promise<void> {
  await reconcile(context, engine, {
    title: 'Carry what differs',
    locks: 'FOR SHARE on the rows of one entity, for a moment.',
    query: `select key from (${differingEntities(engine)}) differing
   union
  select key from ${faultsOf(engine)}
     and source <> '${EDGES}' and not starts_with(key, '${UNKNOWN_KEY}')`,
    put: ({ key }) => putStatement(engine, key),
    forget: `delete from ${faultsOf(engine)}
     and source <> '${EDGES}' and starts_with(key, '${UNKNOWN_KEY}')`,
  });
}

/** Carries the edges between entities that differ from the engine's. */
export async function reconcileParents(
  context: StepContext,
  engine: Engine,
): Promise<void> {
  const edges = engineTable(engine, EDGES);
  await reconcile<Edge>(context, engine, {
    title: 'Carry the edges that differ',
    locks: 'FOR KEY SHARE on the rows of an edge, for a moment.',
    query: differingParents(engine),
    // A transaction that deletes one of them is waited for, or waits and its trigger then
    // finds our row.
    put: ({ parent, ref }) => `select from ${edges}
 where source_entity_ref = ${escapeLiteral(parent)}
   and target_entity_ref = ${escapeLiteral(ref)} for key share;
select adoption_put_parents(${engineArguments(engine)}, array[${escapeLiteral(
      parent,
    )}], array[${escapeLiteral(ref)}])`,
    forget: `delete from ${faultsOf(engine)} and source = '${EDGES}'`,
  });
}

interface Differing {
  key: string;
}

interface Edge extends Differing {
  parent: string;
  ref: string;
}

/** In place of a row, for a dry run. */
const EXAMPLE = { key: '<key>', parent: '<parent>', ref: '<ref>' };

interface Reconciliation<Row> {
  title: string;
  locks: string;
  /** The rows that differ. */
  query: string;
  /** The statement that carries one of them. */
  put(row: Row): string;
  /** The statement that forgets the faults without a key, once both sides are equal. */
  forget: string;
}

async function reconcile<Row extends Differing>(
  context: StepContext,
  engine: Engine,
  reconciliation: Reconciliation<Row>,
): Promise<void> {
  const { title, locks, query, put, forget } = reconciliation;
  await context.executor.work({
    title: `${title}, row by row of what the first statement finds. ${locks}`,
    script: [query, put(EXAMPLE as Differing as Row), forget],
    run: () => reconcileInRounds(context, engine, reconciliation),
  });
}

async function reconcileInRounds<Row extends Differing>(
  context: StepContext,
  engine: Engine,
  { title, query, put, forget }: Reconciliation<Row>,
): Promise<void> {
  const { executor, reporter } = context;
  let rows = await executor.read<Row>(query);
  for (let round = 1; rows.length > 0; round += 1) {
    if (round > ROUNDS) {
      throw new VerificationError(
        `These still differ from the catalog after ${ROUNDS} attempts, because it changes meanwhile: ${enumerate(
          rows.map(({ key }) => key),
        )}. Run the command again.`,
      );
    }
    const progress = reporter.progress(title, rows.length);
    try {
      for (const row of rows) {
        await runBriefly(context, engine, { title, statement: put(row) });
        progress.advance(1);
      }
    } finally {
      progress.finish();
    }
    const faults = await executor.read<Differing>(
      `select key from ${faultsOf(engine)}`,
    );
    const failed = new Set(faults.map(({ key }) => key));
    rows = (await executor.read<Row>(query)).filter(
      ({ key }) => !failed.has(key),
    );
  }
  await executor.execute(forget);
}

function putStatement(engine: Engine, key: string): string {
  return `select adoption_put(${engineArguments(engine)}, ${escapeLiteral(
    key,
  )})`;
}

/**
 * Retries the adoption faults, with one statement for each entity. A fault of an unknown
 * entity makes it compare all of them.
 *
 * @throws {@link VerificationError} if entities still differ after 20 rounds
 */
export async function retryAdoptionFaults(
  context: StepContext,
  engine: Engine,
): Promise<void> {
  const { read } = context.executor;
  const [{ unknown, edges }] = await read<Record<string, boolean | null>>(
    `select bool_or(source <> '${EDGES}' and starts_with(key, '${UNKNOWN_KEY}')) as unknown,
            bool_or(source = '${EDGES}') as edges from ${faultsOf(engine)}`,
  );
  if (unknown) {
    await reconcileEntities(context, engine);
  } else {
    await retryEntities(context, engine);
  }
  if (edges) {
    await reconcileParents(context, engine);
  }
}

/**
 * How many faults are retried at a time: a tenant can write a hundred thousand entities that can never
 * be carried, and nothing else takes the operator's lock meanwhile.
 */
const MOST_RETRIES = 1_000;

/** Of those that the tenant had no room for, as many as have it. */
async function retryEntities(
  context: StepContext,
  engine: Engine,
): Promise<void> {
  const faults = await context.executor.read<Differing>(
    `select key from (
       select key, is_full, row_number() over (
                partition by is_full
                order by case when is_full then first_seen_at else last_seen_at end, source, key) as place
         from (select *, sqlstate = '${NO_ROOM}' as is_full
                 from ${faultsOf(engine)} and source <> '${EDGES}') f) each
      where place <= case when is_full then $1::int else ${MOST_RETRIES} end
         or (is_full and $1::int is null)
      group by key order by min(place), key`,
    [await readRoom(context, engine)],
  );
  for (const { key } of faults) {
    await runBriefly(context, engine, {
      title: 'Carry what was kept aside',
      statement: putStatement(engine, key),
    });
  }
}

/** How many entities more the tenant may have; null where it has no limit. */
async function readRoom(
  { executor }: StepContext,
  { tenantId }: Engine,
): Promise<number | null> {
  const [tenant] = await executor.read<{ room: number | null }>(
    `select max_entities - (select count(*) from entities
                             where tenant_id = $1 and deleted_at is null)::int
            + (select coalesce(sum(copies), 0) from tenant_share_copies
                where tenant_id = $1)::int as room
       from tenants where tenant_id = $1 and tenant_id <> '${DEFAULT_TENANT_ID}'`,
    [tenantId],
  );
  return tenant?.room ?? null;
}

/**
 * Runs a statement that locks rows of the engine, and repeats it until it gets them. It is sent
 * in one message, so that no row stays locked during a round trip.
 *
 * A crash may lose it: the next run finds the difference.
 */
export async function runBriefly<Row>(
  context: StepContext,
  engine: Engine,
  { title, statement }: { title: string; statement: string },
): Promise<Row[]> {
  const tables = ENGINE_TABLES.map(table => engineTable(engine, table));
  return withLockRetries(context, { title, tables, mode: 'rows' }, timeoutMs =>
    context.executor.session.queryAtOnce<Row>([
      'set local synchronous_commit = off',
      limitWaits(timeoutMs),
      statement,
    ]),
  );
}
