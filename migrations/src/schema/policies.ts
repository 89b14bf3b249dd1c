import { escapeIdentifier, escapeLiteral } from '../sql';
import type { SearchTable, TenantTable } from './tables';

/** The session setting with the tenant. */
export const TENANT_SETTING = 'app.tenant_id';

/** The one policy of each table. */
export const TENANT_POLICY = 'tenant_isolation';

/** The signature of the function that a policy calls when no tenant is set. */
export const TENANT_REQUIRED = 'tenant_required(text)';

/** The body of {@link CREATE_TENANT_REQUIRED}, as in `pg_proc.prosrc`. */
export const TENANT_REQUIRED_BODY = `
begin
  raise exception 'permission denied for table %', table_name
    using errcode = 'insufficient_privilege',
          hint = 'No tenant is set. Set ${TENANT_SETTING} to the id of a tenant first.';
end `;

/**
 * The function that raises `permission denied` (42501) when no tenant is set.
 *
 * PARALLEL SAFE, because otherwise no query on the tables would use parallel workers.
 * COST 1, because the planner would otherwise count a costly call for each row, and the
 * function runs only to fail.
 */
export const CREATE_TENANT_REQUIRED = `create or replace function tenant_required(table_name text) returns uuid
  language plpgsql stable parallel safe cost 1 as $$${TENANT_REQUIRED_BODY}$$`;

export interface TenantPolicyOptions {
  /** The table that the error names: its production name. */
  policyFor: TenantTable | SearchTable;
}

/**
 * The statements that restrict a table to the rows of the tenant that is set, for its owner
 * too (FORCE).
 *
 * They are idempotent and belong into one transaction. All take ACCESS EXCLUSIVE on the
 * table, for changes of the catalog alone.
 */
export function tenantPolicyStatements(
  table: string,
  { policyFor }: TenantPolicyOptions,
): string[] {
  const name = escapeIdentifier(table);
  const condition = tenantCondition(policyFor);
  return [
    `drop policy if exists ${TENANT_POLICY} on ${name}`,
    `create policy ${TENANT_POLICY} on ${name} for all
  using (${condition})
  with check (${condition})`,
    `alter table ${name} enable row level security`,
    `alter table ${name} force row level security`,
  ];
}

/** The counterpart of {@link tenantPolicyStatements}. */
export function dropTenantPolicyStatements(table: string): string[] {
  const name = escapeIdentifier(table);
  return [
    `alter table ${name} no force row level security`,
    `alter table ${name} disable row level security`,
    `drop policy if exists ${TENANT_POLICY} on ${name}`,
  ];
}

function tenantCondition(policyFor: TenantTable | SearchTable): string {
  return `tenant_id = ${currentTenant(policyFor)}`;
}

/**
 * SQL for the tenant that is set; raises an error if none is.
 *
 * The setting is NULL in a session that never set it, and '' after a reset or the end of
 * the transaction that set it.
 *
 * The cast stands outside of COALESCE because of Citus: for a statement that writes, it
 * evaluates the arguments of a COALESCE before the COALESCE itself, and so would call the
 * function that raises. A cast it evaluates as a whole.
 */
export function currentTenant(policyFor: TenantTable | SearchTable): string {
  return `coalesce(
    nullif(current_setting('${TENANT_SETTING}', true), ''),
    tenant_required(${escapeLiteral(policyFor)})::text)::uuid`;
}
