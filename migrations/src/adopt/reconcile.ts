import type { StepContext } from '../engine/Step';
import { VerificationError } from '../errors';
import { DEFAULT_TENANT_ID } from '../schema/tables';
import { limitWaits, withLockRetries } from '../session/lockRetries';
import type { MigrationSession } from '../session/MigrationSession';
import { escapeLiteral } from '../sql';
import { enumerate, formatThings } from '../text';
import { differingEntities, differingParents } from './compare';
import { engineArguments, engineTable, rowsOf } from './engine';
import type { Engine, EngineTable } from './engine';
import { NO_ROOM } from './functions/quota';
import { FAULTS, UNKNOWN_KEY } from './state';

/** The source of faults that are about edges. */
const EDGES: EngineTable = 'refresh_state_references';

const ofEngine = ({ tenantId }: Engine) =>
  `tenant_id = ${escapeLiteral(tenantId)}`;

/** The statement that forgets what went wrong with edges, once they are equal. */
const forgetEdgeFaults = (engine: Engine) =>
  `delete from ${FAULTS} where ${ofEngine(engine)} and source = '${EDGES}'`;

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
  const { executor } = context;
  const query = differingEntities(engine);
  await executor.work({
    title:
      'Carry what differs, one by one. FOR SHARE on the rows of one entity, for a moment',
    script: [
      `select adoption_put(${engineArguments(
        engine,
      )}, key) from (${query}) differing`,
    ],
    async run(session) {
      await reconcile(context, {
        title: 'Carry what differs',
        find: async () => {
          const rows = await session.query<{ key: string }>(query);
          return rows.map(({ key }) => key);
        },
        put: key => putOne(context, session, engine, putStatement(engine, key)),
        failed: async () => {
          const rows = await session.query<{ key: string }>(
            `select key from ${FAULTS} where ${ofEngine(engine)}`,
          );
          return rows.map(({ key }) => key);
        },
      });
      await session.query(
        `delete from ${FAULTS}
          where ${ofEngine(
            engine,
          )} and starts_with(key, '${UNKNOWN_KEY}') and source <> '${EDGES}'`,
      );
    },
  });
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
  const { executor } = context;
  const faults = await executor.read<Fault>(
    `select source, key, sqlstate from ${FAULTS}
      where ${ofEngine(engine)} order by first_seen_at, source, key`,
  );
  const edges = faults.filter(({ source }) => source === EDGES);
  const unknown = faults.filter(
    fault => !edges.includes(fault) && fault.key.startsWith(UNKNOWN_KEY),
  );
  if (unknown.length > 0) {
    await reconcileEntities(context, engine);
  } else {
    const keys = new Set(
      (await withRoom(executor, engine, faults))
        .filter(fault => !edges.includes(fault))
        .map(({ key }) => key),
    );
    await executor.work({
      title: 'Carry what was kept aside, one by one',
      script: [],
      async run(session) {
        for (const key of keys) {
          await putOne(context, session, engine, putStatement(engine, key));
        }
      },
    });
  }
  if (edges.length > 0) {
    await reconcileParents(context, engine);
  }
}

interface Fault {
  source: string;
  key: string;
  sqlstate: string;
}

/**
 * The faults without those that still have no room in the tenant: a tenant may have
 * thousands of them, and each attempt costs a statement.
 */
async function withRoom(
  executor: StepContext['executor'],
  { tenantId }: Engine,
  faults: Fault[],
): Promise<Fault[]> {
  const waiting = faults.filter(({ sqlstate }) => sqlstate === NO_ROOM);
  if (waiting.length === 0 || tenantId === DEFAULT_TENANT_ID) {
    return faults;
  }
  const [room] = await executor.read<{ entities: number | null }>(
    `select max_entities - (select count(*) from entities
                             where tenant_id = $1 and deleted_at is null)::int as entities
       from tenants where tenant_id = $1`,
    [tenantId],
  );
  const entities = Math.max(room?.entities ?? Infinity, 0);
  const left = new Set(waiting.slice(entities));
  return faults.filter(fault => !left.has(fault));
}

/** Carries the edges between entities that differ from the engine's. */
export async function reconcileParents(
  context: StepContext,
  engine: Engine,
): Promise<void> {
  const query = differingParents(engine);
  const edges = engineTable(engine, 'refresh_state_references');
  await context.executor.work({
    title: `Carry the edges between entities that differ, one by one. FOR KEY SHARE on the rows of an edge in ${edges}, for a moment`,
    script: [
      `select adoption_put_parent(${engineArguments(
        engine,
      )}, parent, ref) from (${query}) differing`,
      forgetEdgeFaults(engine),
    ],
    async run(session) {
      await reconcile(context, {
        title: 'Carry the edges that differ',
        find: async () => {
          const rows = await session.query<{ parent: string; ref: string }>(
            query,
          );
          return rows.map(({ parent, ref }) => JSON.stringify([parent, ref]));
        },
        put: key => {
          const [parent, ref] = JSON.parse(key) as [string, string];
          const from = escapeLiteral(parent);
          const to = escapeLiteral(ref);
          return putOne(
            context,
            session,
            engine,
            // A transaction that deletes one of them is waited for, or waits and its
            // trigger then finds our row.
            `select from ${edges} where source_entity_ref = ${from}
                and target_entity_ref = ${to} for key share;
             select adoption_put_parent(${engineArguments(
               engine,
             )}, ${from}, ${to})`,
          );
        },
        failed: async () => [],
      });
      await session.query(forgetEdgeFaults(engine));
    },
  });
}

interface Differences {
  title: string;
  find(): Promise<string[]>;
  put(key: string): Promise<void>;
  /** Keys with a fault, which another round does not retry. */
  failed(): Promise<string[]>;
}

async function reconcile(
  { reporter }: StepContext,
  { title, find, put, failed }: Differences,
): Promise<void> {
  let differing = await find();
  for (let round = 1; differing.length > 0; round += 1) {
    if (round > ROUNDS) {
      throw new VerificationError(
        `${formatThings(differing.length, 'entity', 'entities')} went on to ` +
          `differ from the catalog: ${enumerate(
            differing,
          )}. Run the command again.`,
      );
    }
    const progress = reporter.progress(title, differing.length);
    try {
      for (const key of differing) {
        await put(key);
        progress.advance(1);
      }
    } finally {
      progress.finish();
    }
    const faults = new Set(await failed());
    differing = (await find()).filter(key => !faults.has(key));
  }
}

function putStatement(engine: Engine, key: string): string {
  return `select adoption_put(${engineArguments(engine)}, ${escapeLiteral(
    key,
  )})`;
}

async function putOne(
  { settings, reporter }: StepContext,
  session: MigrationSession,
  engine: Engine,
  statement: string,
): Promise<void> {
  await withLockRetries(
    {
      title: 'Carry a row',
      session,
      reporter,
      ...rowsOf(engine),
      maxPauseMs: settings.maxPauseMs,
    },
    async timeoutMs => {
      try {
        await session.query(
          [
            'set local synchronous_commit = off',
            limitWaits(timeoutMs),
            statement,
          ].join(';\n'),
        );
      } catch (error) {
        await session.rollback();
        throw error;
      }
    },
  );
}
