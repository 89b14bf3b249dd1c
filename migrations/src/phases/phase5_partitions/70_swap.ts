import { DatabaseError } from 'pg';
import {
  refuseLaterAdditions,
  refuseShape,
  refuseShapeToGoBack,
} from '../../checks/examineShape';
import type { Sides } from '../../copy/exchange';
import {
  catchUp,
  provideReplay,
  REPLAY_FUNCTION,
  replayUntilShort,
  SNAPSHOT,
} from '../../copy/replay';
import { swapStatements, type SwapStatements } from '../../copy/swap';
import type { TableCopy } from '../../copy/TableCopy';
import { findCopyProblems } from '../../copy/compare';
import { readerOf } from '../../engine/Executor';
import type { Step, StepContext } from '../../engine/Step';
import { recordStatement, refuseStatement } from '../../engine/ownership';
import { RefusedError, refuseProblems } from '../../errors';
import { archiveName, isSwapped, oldName } from '../../schema/partitions';
import {
  ENTITY_KEY,
  REFERENCING_TABLES,
  TENANT_TABLES,
} from '../../schema/tables';
import { withLockRetries } from '../../session/lockRetries';
import type { MigrationSession } from '../../session/MigrationSession';
import { actAsOwner } from '../../session/ownerRole';
import { waitForSnapshotsBeforeSwap } from './80_wait_for_old_snapshots';
import { describeCopies } from '../../copy/TableCopy';
import { addConstraint, dropIndexStatement } from '../../schema/changes';

const UNIQUE_INDEX = 'entities_tenant_entity_id_key';

const keyName = (table: string) => `${table}_tenant_entity_fkey`;

const OBJECTS = [
  ...TENANT_TABLES.flatMap(table => [oldName(table), archiveName(table)]),
  UNIQUE_INDEX,
  REPLAY_FUNCTION,
];

/**
 * Gives the partitioned tables the production names, and back. Both directions are the
 * same, because the change log follows the side that is in use.
 */
export const swap: Step = {
  name: '5_70_swap',
  title: 'Verify the copies and swap the tables',
  live: true,

  creates: OBJECTS,

  async up(context) {
    if (!(await isSwapped(context.executor))) {
      await refuseShape(context, 'The tables cannot be swapped');
      await exchange(context, copy => ({
        table: copy.table,
        incoming: copy.target,
        outgoing: oldName(copy.table),
      }));
    }
  },

  async down(context) {
    if (await isSwapped(context.executor)) {
      // Again, since a killed undo goes on here.
      await refuseShapeToGoBack(context);
      await addOldKeys(context);
      await exchange(context, copy => ({
        table: copy.table,
        incoming: copy.target,
        outgoing: archiveName(copy.table),
      }));
    }
    await waitForSnapshotsBeforeSwap(context);
  },
};

async function exchange(
  context: StepContext,
  sidesOf: (copy: TableCopy) => Sides,
): Promise<void> {
  const { executor } = context;
  const copies = await describeCopies(executor);
  await provideReplay(executor, copies);
  const sides = copies.map(sidesOf);
  const checks = {
    before: [
      refuseStatement(OBJECTS),
      // What stands there keeps its identity when it is renamed.
      recordStatement([
        ...sides.flatMap(({ table, incoming }) => [table, incoming]),
        UNIQUE_INDEX,
        REPLAY_FUNCTION,
      ]),
    ],
    conditions: [await refuseLaterAdditions(context)],
  };
  const statements = (timeoutMs: number) =>
    swapStatements(sides, timeoutMs, checks);
  await catchUp(context);
  await verify(context, copies);
  await catchUp(context);
  const { prepare, swap: rest } = statements(context.settings.maxPauseMs);
  await executor.work({
    title:
      'Swap the tables. ACCESS EXCLUSIVE on all of them, for milliseconds.',
    script: [...prepare, ...rest],
    run: () => swapOnce(context, sides, statements),
  });
}

/**
 * Compares all rows of the copies in one snapshot. Each later replay compares the rows that
 * it writes, so the copies are equal when they are swapped.
 */
async function verify(
  { executor, reporter }: StepContext,
  copies: TableCopy[],
): Promise<void> {
  const { session } = executor;
  const title = 'Compare the tables with their copies';
  await executor.work({
    title,
    script: [],
    async run() {
      reporter.info(title);
      await session.transaction(SNAPSHOT, async () => {
        const { read } = readerOf(session);
        refuseProblems(await findCopyProblems(read, copies));
      });
    },
  });
}

async function swapOnce(
  context: StepContext,
  sides: Sides[],
  statements: (timeoutMs: number) => SwapStatements,
): Promise<void> {
  const { session } = context.executor;
  const replaying = await openReplay(context);
  try {
    await withLockRetries(
      context,
      {
        title: 'Swap the tables',
        tables: sides.flatMap(({ table, incoming }) => [table, incoming]),
      },
      async timeoutMs => {
        const { prepare, swap: rest } = statements(timeoutMs);
        await replayUntilShort(session);
        await session.queryAtOnce(prepare).catch(explain);
        await replayUntilShort(replaying).catch(async error => {
          await session.rollback();
          throw error;
        });
        await session.queryAtOnce(rest).catch(explain);
      },
    );
  } finally {
    await replaying.close();
  }
}

/**
 * Opens a session that replays the changes while the transaction of the swap is prepared: each
 * that is left keeps writers waiting.
 */
async function openReplay(context: StepContext): Promise<MigrationSession> {
  const { executor, settings } = context;
  const [{ database }] = await executor.read<{ database: string }>(
    'select current_database() as database',
  );
  const session = await context.openSession(context.connectionTo(database));
  await actAsOwner(session, settings.schema).catch(async error => {
    await session.close();
    throw error;
  });
  return session;
}

/** Throws an error of the swap's statements, as a refusal if it is one of ours. */
function explain(error: unknown): never {
  throw error instanceof DatabaseError && error.code === '23000' && error.hint
    ? new RefusedError(`${error.message}. ${error.hint}`)
    : error;
}

/**
 * Builds, on the old tables, the foreign keys on tenant and entity with which a rollback
 * restores them (specification, Rollback, 2), and the unique index that these need. No
 * session uses the old tables until a rollback.
 */
async function addOldKeys(context: StepContext): Promise<void> {
  const entities = oldName('entities');
  await context.executor.transaction({
    title: `Build ${UNIQUE_INDEX}`,
    locks: 'SHARE on tables that are not in use.',
    statements: [
      `create unique index if not exists ${UNIQUE_INDEX} on ${entities} (tenant_id, entity_id)`,
    ],
  });
  for (const table of REFERENCING_TABLES) {
    await addConstraint(context, {
      name: keyName(table),
      table: oldName(table),
      references: entities,
      definition:
        `foreign key (tenant_id, ${ENTITY_KEY[table]}) references ${entities} ` +
        '(tenant_id, entity_id) on delete cascade',
      locks: 'SHARE ROW EXCLUSIVE on tables that are not in use.',
    });
  }
}

/** Drops the old keys after a rollback, which has put the old tables back in use. */
export async function dropOldKeys(context: StepContext): Promise<void> {
  for (const table of REFERENCING_TABLES) {
    await context.executor.transaction({
      title: `Drop the constraint ${keyName(table)} of ${table}`,
      locks: `ACCESS EXCLUSIVE on ${table} and entities, for a change of the catalog.`,
      tables: [table, 'entities'],
      statements: [
        `alter table ${table} drop constraint if exists ${keyName(table)}`,
      ],
    });
  }
  await context.executor.execute(dropIndexStatement(UNIQUE_INDEX));
}
