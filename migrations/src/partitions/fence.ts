import { fenceCondition, sessionsBefore } from '../copy/fence';
import { currentTenant } from '../schema/policies';
import { escapeLiteral } from '../schema/sql';
import { TENANT_TABLES } from '../schema/tables';
import { STATE_TABLE } from '../engine/MigrationState';

const POLICY = 'tenancy_partition_fence';
const FUNCTION = 'tenancy_snapshot_after_move';
const CONDITION = fenceCondition(`${FUNCTION}(%1$L, %2$L, %3$s)`, '%3$s');

/** Where the last move is remembered until its fence is gone. */
export const MOVE_STATE = 'partition:move';

/**
 * The function that returns the tenant that is set, and fails with 40001 where that
 * is the one whose rows have moved, and the snapshot does not show that.
 */
export const createMoveFenceFunction = `create or replace function ${FUNCTION}(
  moved_by xid8, moved uuid, tenant uuid)
returns uuid language plpgsql stable as $body$
begin
  if tenant is distinct from moved
     or pg_visible_in_snapshot(moved_by, pg_current_snapshot()) then
    return tenant;
  end if;
  raise exception 'could not serialize access due to a concurrent move of the rows'
    using errcode = 'serialization_failure', hint = 'Retry the transaction.';
end $body$`;

/**
 * The statements that keep a tenant's transactions off the tables whose snapshot is
 * older than the move of its rows (see copy/fence.ts). Those of other tenants do
 * not notice.
 */
export function createMoveFence(tenantId: string): string[] {
  return [
    ...TENANT_TABLES.map(
      table => `drop policy if exists ${POLICY} on ${table};
execute format('create policy ${POLICY} on ${table} as restrictive using (${CONDITION})',
               pg_current_xact_id(), '${tenantId}', ${escapeLiteral(
        currentTenant(table),
      )})`,
    ),
    `insert into ${STATE_TABLE} (key, value)
values ('${MOVE_STATE}', jsonb_build_object('xid', pg_current_xact_id()::text))
on conflict (key) do update set value = excluded.value`,
  ];
}

/** The statements that take it away. */
export const dropMoveFence = TENANT_TABLES.map(
  table => `drop policy if exists ${POLICY} on ${table}`,
);

export const dropMoveFenceFunction = `drop function if exists ${FUNCTION}(xid8, uuid, uuid)`;

/** A query for the sessions whose snapshot is older than the move. */
export const SESSIONS_BEFORE_MOVE = sessionsBefore(MOVE_STATE);
