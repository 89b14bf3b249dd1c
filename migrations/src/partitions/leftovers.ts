import { dropChangeLog, dropLogTriggers } from '../copy/changeLog';
import type { TableCopy } from '../copy/TableCopy';
import type { MigrationState } from '../engine/MigrationState';
import type { StepContext } from '../engine/Step';
import { RefusedError } from '../errors';
import { relationExists } from '../schema/lookups';
import { catchAllPartition } from '../schema/partitions';
import { escapeIdentifier } from '../schema/sql';
import { TENANT_TABLES } from '../schema/tables';
import { waitForOlderTransactions } from '../session/olderTransactions';
import {
  dropMoveFence,
  dropMoveFenceFunction,
  MOVE_STATE,
  SESSIONS_BEFORE_MOVE,
} from './fence';
import { PARTITION_LOG } from './names';
import type { Tenant } from './Tenant';

/** Where a preparation is remembered until the partitions are in their place. */
export const PREPARATION = 'partition:preparation';

interface Preparation extends Tenant {
  tables: string[];
}

/**
 * Ends what an earlier command has left: a move whose fence still stands, and a
 * preparation, unless it is the one of this tenant, which is gone on with.
 */
export async function endEarlierCommands(
  context: StepContext,
  goesOn?: Tenant,
): Promise<void> {
  if (await context.state.get(MOVE_STATE)) {
    await settle(context);
  }
  const preparation = await context.state.get<Preparation>(PREPARATION);
  if (preparation && preparation.id !== goesOn?.id) {
    context.reporter.info(
      `Drop what an earlier command has prepared for "${preparation.slug}"`,
    );
    await dropPreparation(context);
  }
}

/** Drops the tables that were not put in their place, and their change log. */
export async function dropPreparation(context: StepContext): Promise<void> {
  const { executor, state } = context;
  const preparation = await state.get<Preparation>(PREPARATION);
  if (!preparation) {
    return;
  }
  for (const shared of TENANT_TABLES.map(catchAllPartition)) {
    await executor.transaction({
      title: `Stop logging the changes of ${shared}`,
      locks: `ACCESS EXCLUSIVE on ${shared}, for a change of the catalog.`,
      tables: [shared],
      statements: dropLogTriggers(shared, PARTITION_LOG),
    });
  }
  await dropLeftovers(context);
}

/**
 * Drops what commands have left, where nothing of the tables in use hangs on it
 * any more: when their partitions are gone, all of it is.
 */
export async function dropLeftovers({
  executor,
  state,
}: StepContext): Promise<void> {
  const preparation = await state.get<Preparation>(PREPARATION);
  const tables = preparation?.tables ?? [];
  await executor.transaction({
    title: 'Drop the tables that were prepared',
    locks:
      'ACCESS EXCLUSIVE on tables that are not in use, and on tenants, which they ' +
      'reference, for a change of the catalog.',
    statements: [
      ...tables.map(table => `drop table if exists ${escapeIdentifier(table)}`),
      ...forgetCopies(state, tables),
      ...dropLog(),
      dropMoveFenceFunction,
      state.forget(PREPARATION),
      state.forget(MOVE_STATE),
    ],
  });
}

/** The statements that forget how far the copies have come. */
export function forgetCopies(
  state: MigrationState,
  tables: string[],
): string[] {
  return tables.map(table => state.forget(`copy:${table}`));
}

/** @throws {@link RefusedError} if tables of somebody else have the names */
export async function refuseTakenNames(
  { executor, state }: StepContext,
  copies: TableCopy[],
): Promise<void> {
  const preparation = await state.get<Preparation>(PREPARATION);
  for (const { target } of copies) {
    if (
      !preparation?.tables.includes(target) &&
      (await relationExists(executor, target))
    ) {
      throw new RefusedError(
        `There is a table ${target} already, and no command of ours has made it. ` +
          'Rename or drop it: the partition will have this name.',
      );
    }
  }
}

/**
 * Waits for the transactions that are older than the move, and drops what it was
 * done with.
 */
export async function settle(context: StepContext): Promise<void> {
  const { executor, state } = context;
  await waitForOlderTransactions(context, {
    title: 'Wait until no transaction is older than the move.',
    script: [],
    waiting: processes =>
      `The rows have moved. Waiting for transactions from before that, of the processes ${processes}`,
    find: async () => SESSIONS_BEFORE_MOVE,
  });
  await executor.transaction({
    title: 'Let transactions in without a look at their age',
    locks: 'ACCESS EXCLUSIVE on each table, for a change of the catalog.',
    tables: TENANT_TABLES,
    statements: [
      ...dropMoveFence,
      dropMoveFenceFunction,
      ...dropLog(),
      state.forget(MOVE_STATE),
    ],
  });
}

function dropLog(): string[] {
  return [
    ...dropChangeLog(PARTITION_LOG),
    `drop function if exists ${PARTITION_LOG.replay}()`,
  ];
}
