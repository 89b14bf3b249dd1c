import type { BriefTransaction } from '../engine/Executor';
import { ADMIN_ROLE } from '../roles';
import { currentTenant } from '../schema/policies';
import { escapeLiteral } from '../sql';
import { TENANT_TABLES } from '../schema/tables';

/** The policy of a fence. */
export const FENCE_POLICY = 'tenancy_swap_fence';
const FUNCTION = 'tenancy_snapshot_after';
/** The signature of the function that a fence calls. */
export const FENCE_FUNCTION = `${FUNCTION}(xid8, uuid)`;

/**
 * The condition of a fence: a call that returns the tenant, or fails if the snapshot is
 * too old.
 *
 * It must also fail if the snapshot shows no row, for which PostgreSQL does not evaluate
 * a condition on rows. So it equates tenant_id to two values: the planner derives that
 * these are equal, and evaluates that once, before the first row, in every plan.
 *
 * One predicate plus the policy of the tenants is not enough: beside a restrictive policy
 * that policy's COALESCE is not leakproof, so the planner derives nothing from it. The
 * fence would then run only in plans that find rows by tenant_id, and other plans would
 * return no rows without an error.
 *
 * The values are subqueries, because only the snapshot of the execution counts. A READ
 * COMMITTED statement that has waited for the swap may be planned with an older one, and
 * the planner calls other stable functions for its estimates.
 */
const CONDITION = `tenant_id = (select ${FUNCTION}(%1$L, %2$s)) and tenant_id = (select %2$s)`;

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
 * The statements that keep transactions whose snapshot is older than the swap off the
 * swapped tables.
 *
 * A REPEATABLE READ transaction that first uses the tables after the swap finds the new
 * ones under their names, but its snapshot lacks the rows that the last replays wrote
 * there: it would miss rows, and its UPDATEs would change nothing, without an error. A
 * restrictive policy makes it fail with 40001, as after a concurrent update, which
 * applications retry.
 *
 * {@link CONDITION} explains why it also fails if its snapshot shows no row.
 */
export function createFence(): string[] {
  return [
    `do $$
declare
  fenced text;
begin
${TENANT_TABLES.map(
  table => `  drop policy if exists ${FENCE_POLICY} on ${table};
  fenced := ${fencedRoles(table)};
  if fenced is not null then
    execute format('create policy ${FENCE_POLICY} on ${table} as restrictive to %3$s using (${CONDITION})',
                   pg_current_xact_id(), ${escapeLiteral(
                     currentTenant(table),
                   )}, fenced);
  end if;`,
).join('\n')}
end $$`,
    `insert into tenancy_migration_state (key, value)
values ('swap', jsonb_build_object('xid', pg_current_xact_id()::text, 'at', now()))
on conflict (key) do update set value = excluded.value`,
  ];
}

/**
 * SQL for the roles that a fence binds: all, or where `portal_admin` has no BYPASSRLS, all that
 * have a right to the table and that `portal_admin` does not inherit.
 */
function fencedRoles(table: string): string {
  return `(
    select case when a.rolbypassrls then 'public' else (
      select string_agg(quote_ident(r.rolname), ', ') from pg_roles r
       where not pg_has_role(a.oid, r.oid, 'usage')
         and (has_any_column_privilege(r.oid, '${table}'::regclass, 'select, insert, update')
           or has_table_privilege(r.oid, '${table}'::regclass, 'delete'))) end
      from pg_roles a where a.rolname = '${ADMIN_ROLE}')`;
}

/** The statement that drops the fence of one table. */
export function dropFenceOf(table: string): string {
  return `drop policy if exists ${FENCE_POLICY} on ${table}`;
}

/** The statement that drops the fences of tables which have one: mostly none has. */
export function dropFences(tables: string[]): string {
  return `do $$
declare
  item regclass;
begin
  for item in select polrelid from pg_policy where polname = '${FENCE_POLICY}'
     and polrelid in (${tables.map(table => `'${table}'::regclass`).join(', ')})
  loop
    execute format('drop policy ${FENCE_POLICY} on %s', item);
  end loop;
end $$`;
}

/**
 * The transactions that drop the fence, one for each table: locking all tables at the
 * same moment would take longer.
 */
export const dropFence = TENANT_TABLES.map(
  (table): BriefTransaction => ({
    title: `Drop the fence of ${table}`,
    locks: `ACCESS EXCLUSIVE on ${table}, for a change of the catalog.`,
    tables: [table],
    statements: [dropFenceOf(table)],
  }),
);
