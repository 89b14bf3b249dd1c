import type { Phase, StepContext } from '../../engine/Step';
import { RefusedError } from '../../errors';
import { DEFAULT_TENANT_ID, TENANT_TABLES } from '../../schema/tables';
import { partitionedTables, refuseRowsToDrop } from './10_partitioned_tables';
import { changeLog } from './20_change_log';
import { copyRows } from './30_copy';
import { firstCatchUp } from './40_catch_up';
import { indexes } from './50_indexes';
import { foreignKeys } from './60_foreign_keys';
import { refuseDependents } from './dependents';
import { swap } from './70_swap';
import { settled } from './80_settle';

export const phase5: Phase = {
  number: 5,
  title: 'Primary keys and partitions',
  async check(context) {
    await refuseRowsOfOtherTenants(context);
    await refuseViewsOfOthers(context);
    await refuseDependents(context);
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
      `entities holds ${rows} rows of other tenants than the default one. The table ` +
        'has room for one tenant until phase 5 is done: delete them, or move them.',
    );
  }
}

/** A view follows its table by being replaced, which takes its owner. */
async function refuseViewsOfOthers({ executor }: StepContext): Promise<void> {
  const views = await executor.read<{ name: string; owner: string }>(
    `select v.oid::regclass::text as name, v.relowner::regrole::text as owner
       from pg_class v
      where v.relkind = 'v' and not pg_has_role(session_user, v.relowner, 'usage')
        and exists (
          select from pg_rewrite r join pg_depend d on d.objid = r.oid
           where r.ev_class = v.oid and d.classid = 'pg_rewrite'::regclass
             and d.refclassid = 'pg_class'::regclass
             and d.refobjid in (select to_regclass(name) from unnest($1::text[]) name))
      order by 1`,
    [[...TENANT_TABLES]],
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
