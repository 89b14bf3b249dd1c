import type { BriefTransaction } from '../engine/Executor';
import { STATE_TABLE } from '../engine/MigrationState';
import { currentTenant } from '../schema/policies';
import { escapeLiteral } from '../sql';
import { TENANT_TABLES } from '../schema/tables';

/** The policy of a fence. */
export const FENCE_POLICY = 'tenancy_swap_fence';
const FUNCTION = 'tenancy_snapshot_after';
/** The signature of the function that a fence calls. */
export const FENCE_FUNCTION = `${FUNCTION}(xid8, uuid)`;

const CONDITION = fenceCondition(`${FUNCTION}(%1$L, %2$s)`, '%2$s');

/**
 * The function that returns the tenant, and fails with 40001
 * (serialization_failure) unless the current snapshot shows the transaction that
 * swapped the tables.
 */
export const createFenceFunction = `create or replace function ${FUNCTION}(swap xid8, tenant uuid)
returns uuid language plpgsql stable as $$
begin
  if pg_visible_in_snapshot(swap, pg_current_snapshot()) then
    return tenant;
  end if;
  raise exception 'could not serialize access due to a concurrent swap of the table'
    using errcode = 'serialization_failure', hint = 'Retry the transaction.';
end $$`;

export const dropFenceFunction = `drop function if exists ${FENCE_FUNCTION}`;

/**
 * The condition of a fence: a call that returns the tenant, or fails where the
 * snapshot is too old.
 *
 * It has to fail where the snapshot shows no row at all, and a condition on rows is
 * not looked at then. So this one says twice what tenant_id is equal to: from that
 * PostgreSQL concludes that the two values are equal, and it looks at that once,
 * before the first row, whatever its plan for the rows is.
 *
 * It does not conclude it from one of them and the policy of the tenants. That one
 * counts as leaky beside a restrictive policy, for its COALESCE, and what is leaky
 * is left as it is. The fence would only be looked at where a plan happens to find
 * rows by tenant_id, and missing rows are not an error in the others.
 *
 * Subqueries, because only the snapshot counts that a statement runs with. A READ
 * COMMITTED statement that has waited for the swap may be planned with the one from
 * before it, and to estimate, the planner calls what is no subquery.
 *
 * @param call - the call, with the tenant among its arguments
 * @param tenant - the tenant that is set
 */
export function fenceCondition(call: string, tenant: string): string {
  return `tenant_id = (select ${call}) and tenant_id = (select ${tenant})`;
}

/**
 * The statements that keep transactions off the swapped tables whose snapshot is
 * older than the swap.
 *
 * A REPEATABLE READ transaction that comes to the tables only after the swap finds
 * the new ones under their names, but its snapshot does not show the rows that the
 * last replays wrote there: it would miss rows, and an UPDATE of them would change
 * nothing without an error. A restrictive policy makes it fail as PostgreSQL fails
 * any such transaction whose rows were changed, and it is tried again as any.
 *
 * See {@link fenceCondition} for why it fails where its snapshot shows no row at all.
 */
export function createFence(): string[] {
  return [
    `do $$ begin
${TENANT_TABLES.map(
  table => `  drop policy if exists ${FENCE_POLICY} on ${table};
  execute format('create policy ${FENCE_POLICY} on ${table} as restrictive using (${CONDITION})',
                 pg_current_xact_id(), ${escapeLiteral(
                   currentTenant(table),
                 )});`,
).join('\n')}
end $$`,
    `insert into tenancy_migration_state (key, value)
values ('swap', jsonb_build_object('xid', pg_current_xact_id()::text, 'at', now()))
on conflict (key) do update set value = excluded.value`,
  ];
}

/** The statement that takes it away again from one table. */
export function dropFenceOf(table: string): string {
  return `drop policy if exists ${FENCE_POLICY} on ${table}`;
}

/**
 * The transactions that take it away again, one for each table: the more tables are to
 * be free at the same moment, the longer that takes.
 */
export const dropFence = TENANT_TABLES.map(
  (table): BriefTransaction => ({
    title: `Let transactions into ${table} without a look at their age`,
    locks: `ACCESS EXCLUSIVE on ${table}, for a change of the catalog.`,
    tables: [table],
    statements: [dropFenceOf(table)],
  }),
);

/**
 * A query for the sessions whose snapshot is older than a transaction.
 *
 * @param key - where the state keeps that transaction, as `xid`
 */
export function sessionsBefore(key: string): string {
  return `
  select a.pid
    from pg_stat_activity a, ${STATE_TABLE} s
   where s.key = ${escapeLiteral(key)} and a.datname = current_database()
     and a.pid <> pg_backend_pid() and a.backend_xmin is not null
     and age(a.backend_xmin) >= age((mod((s.value ->> 'xid')::numeric, 4294967296))::text::xid)`;
}

/** A query for the sessions whose snapshot is older than the swap. */
export const SESSIONS_BEFORE_SWAP = sessionsBefore('swap');
