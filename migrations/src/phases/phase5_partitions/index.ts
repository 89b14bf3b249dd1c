import type { Phase, StepContext } from '../../engine/Step';
import { RefusedError } from '../../errors';
import { isSwapped } from '../../schema/partitions';
import { DEFAULT_TENANT_ID, TENANT_TABLES } from '../../schema/tables';
import { readViews } from '../../schema/views';
import { partitionedTables, refuseRowsToDrop } from './10_partitioned_tables';
import { changeLog } from './20_change_log';
import { copyRows } from './30_copy';
import { firstCatchUp } from './40_catch_up';
import { indexes } from './50_indexes';
import { foreignKeys } from './60_foreign_keys';
import { refuseDependents, refuseGroupings } from './dependents';
import { swap } from './70_swap';
import { settled } from './80_settle';
import { entitySearch, entitySearchFill } from './90_entity_search';
import { ready } from './97_ready';
import { formatThings } from '../../text';

export const phase5: Phase = {
  number: 5,
  title: 'Primary keys and partitions',
  async check(context) {
    // What is left to do then has nothing to do with the swap.
    if (await isSwapped(context.executor)) {
      return;
    }
    await refuseRowsOfOtherTenants(context);
    await refuseViewsOfOthers(context);
    await refuseDependents(context);
    await refuseGroupings(context);
  },
  checkUndo: refuseRowsToDrop,
  steps: [
    partitionedTables,
    changeLog,
    copyRows,
    firstCatchUp,
    indexes,
    foreignKeys,
    swap,
    settled,
    entitySearch,
    entitySearchFill,
    ready,
  ],
};

/** Before the swap there is one tenant only (specification, migration phases). */
async function refuseRowsOfOtherTenants({
  executor,
}: StepContext): Promise<void> {
  const [{ rows }] = await executor.read<{ rows: number }>(
    `select count(*)::int as rows from entities
      where tenant_id <> $1
        and (select relkind from pg_class where oid = to_regclass('entities')) = 'r'`,
    [DEFAULT_TENANT_ID],
  );
  if (rows > 0) {
    throw new RefusedError(
      `entities holds ${formatThings(
        rows,
        'row',
      )} of other tenants than the default one. The table ` +
        'has room for one tenant until phase 5 is done: delete them, or move them.',
    );
  }
}

/** A view follows its table by being replaced, which takes its owner. */
async function refuseViewsOfOthers({ executor }: StepContext): Promise<void> {
  const views = (await readViews(executor, TENANT_TABLES)).filter(
    ({ direct, materialized, ours }) => direct && !materialized && !ours,
  );
  if (views.length > 0) {
    const list = views.map(({ name, owner }) => `${name} (of ${owner})`);
    throw new RefusedError(
      `The swap has to replace the views ${list.join(
        ', ',
      )}, which this login may ` +
        'not. Let a superuser grant it the roles of their owners.',
    );
  }
}
