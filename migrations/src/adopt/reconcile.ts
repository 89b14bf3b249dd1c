import type { StepContext } from '../engine/Step';
import { VerificationError } from '../errors';
import { ownTimeout, withLockRetries } from '../session/lockRetries';
import type { MigrationSession } from '../session/MigrationSession';
import { relationExists } from '../schema/lookups';
import { escapeLiteral } from '../sql';
import { enumerate, formatThings } from '../text';
import { patienceMs } from '../session/tableSize';
import { engineTable } from './engine';
import type { Engine } from './engine';
import { differingEntities, differingParents } from './differences';
import { FORGET_PARENT_FAULTS } from './objects';
import type { EngineTable } from './names';
import { FAULTS, PARENTS, UNKNOWN_KEY } from './names';

/** Whose faults are of edges, and not of entities. */
const EDGES: EngineTable = 'refresh_state_references';

// What is under way while one round looks is found by the next.
const ROUNDS = 20;

/**
 * Carries one by one whatever is not as the engine has it: what a batch has passed over, what
 * was kept aside, and all that was changed while there were no triggers.
 *
 * @throws {@link VerificationError} if that does not come to an end
 */
export async function settleEntities(
  context: StepContext,
  engine: Engine,
): Promise<void> {
  const { executor } = context;
  const query = await differingEntities(executor, engine);
  await executor.work({
    title:
      'Carry what differs, one by one. FOR SHARE on the rows of one entity, for a moment',
    script: [`select adoption_put(key) from (${query}) differing`],
    async run(session) {
      await settle(context, {
        title: 'Carry what differs',
        find: async () => {
          const rows = await session.query<{ key: string }>(query);
          return rows.map(({ key }) => key);
        },
        put: key => putOne(context, session, putStatement(key)),
        // They have been tried, and told why.
        given: async () => {
          const rows = await session.query<{ key: string }>(
            `select key from ${FAULTS}`,
          );
          return rows.map(({ key }) => key);
        },
      });
      await session.query(
        `delete from ${FAULTS} where starts_with(key, '${UNKNOWN_KEY}') and source <> '${EDGES}'`,
      );
    },
  });
}

/**
 * Tries once more what was kept aside, and only that: a statement for each entity. What
 * is of no certain entity is looked for, by comparing all.
 *
 * @throws {@link VerificationError} if that does not come to an end
 */
export async function settleFaults(
  context: StepContext,
  engine: Engine,
): Promise<void> {
  const { executor } = context;
  const faults = await executor.read<{ source: string; key: string }>(
    `select source, key from ${FAULTS} order by 1, 2`,
  );
  const edges = faults.filter(({ source }) => source === EDGES);
  const unknown = faults.filter(
    fault => !edges.includes(fault) && fault.key.startsWith(UNKNOWN_KEY),
  );
  if (unknown.length > 0) {
    await settleEntities(context, engine);
  } else {
    const keys = new Set(
      faults.filter(fault => !edges.includes(fault)).map(({ key }) => key),
    );
    await executor.work({
      title: 'Carry what was kept aside, one by one',
      script: [],
      async run(session) {
        for (const key of keys) {
          await putOne(context, session, putStatement(key));
        }
      },
    });
  }
  if (edges.length > 0 && (await relationExists(executor, PARENTS))) {
    await settleParents(context, engine);
  }
}

/** The same for the edges between entities. */
export async function settleParents(
  context: StepContext,
  engine: Engine,
): Promise<void> {
  const query = differingParents(engine);
  const edges = engineTable(engine, 'refresh_state_references');
  await context.executor.work({
    title: `Carry the edges between entities that differ, one by one. FOR KEY SHARE on the rows of an edge in ${edges}, for a moment`,
    script: [
      `select adoption_put_parent(parent, ref) from (${query}) differing`,
      FORGET_PARENT_FAULTS,
    ],
    async run(session) {
      await settle(context, {
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
            // Who is about to delete one of them is waited for, or waits and then finds ours.
            `select from ${edges} where source_entity_ref = ${from}
                and target_entity_ref = ${to} for key share;
             select adoption_put_parent(${from}, ${to})`,
          );
        },
        given: async () => [],
      });
      await session.query(FORGET_PARENT_FAULTS);
    },
  });
}

interface Differences {
  title: string;
  find(): Promise<string[]>;
  put(key: string): Promise<void>;
  /** Those that are not tried twice. */
  given(): Promise<string[]>;
}

async function settle(
  { reporter }: StepContext,
  { title, find, put, given }: Differences,
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
    const faults = new Set(await given());
    differing = (await find()).filter(key => !faults.has(key));
  }
}

function putStatement(key: string): string {
  return `select adoption_put(${escapeLiteral(key)})`;
}

async function putOne(
  { settings, reporter }: StepContext,
  session: MigrationSession,
  statement: string,
): Promise<void> {
  // Well before PostgreSQL looks for deadlocks: the engine is never its victim.
  const timeoutMs = Math.min(settings.lockTimeoutMs, await patienceMs(session));
  await withLockRetries(
    {
      title: 'Carry a row',
      session,
      reporter,
      lockTimeoutMs: ownTimeout(settings, timeoutMs),
    },
    async () => {
      try {
        await session.query(
          [
            'set local synchronous_commit = off',
            `set local lock_timeout = ${timeoutMs}`,
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
