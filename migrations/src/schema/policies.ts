import { escapeIdentifier, escapeLiteral } from '../sql';
import type { SearchTable, TenantTable } from './tables';

/** The session setting that names the tenant of what a session does. */
export const TENANT_SETTING = 'app.tenant_id';

/** The one policy of each table. */
export const TENANT_POLICY = 'tenant_isolation';

/** The signature of the function that a policy calls when no tenant is set. */
export const TENANT_REQUIRED = 'tenant_required(text)';

/** What {@link CREATE_TENANT_REQUIRED} does, as `pg_proc.prosrc` has it. */
export const TENANT_REQUIRED_BODY = `
begin
  raise exception 'permission denied for table %', table_name
    using errcode = 'insufficient_privilege',
          hint = 'No tenant is set. Set ${TENANT_SETTING} to the id of a tenant first.';
end `;

/**
 * The function that refuses whoever works without a tenant, in the words in which
 * PostgreSQL refuses who has no right at all.
 *
 * PARALLEL SAFE, or each query on the tables would do without parallel workers;
 * COST 1, or the planner would reckon with a costly function for each row, when it
 * is only called to fail.
 */
export const CREATE_TENANT_REQUIRED = `create or replace function tenant_required(table_name text) returns uuid
  language plpgsql stable parallel safe cost 1 as $$${TENANT_REQUIRED_BODY}$$`;

export interface TenantPolicyOptions {
  /** The table that the error names: what applications know the table as. */
  policyFor: TenantTable | SearchTable;
}

/**
 * The statements that keep the rows of a table to the tenant that is set, also
 * from the owner of the table (FORCE).
 *
 * They can be repeated. All take ACCESS EXCLUSIVE on the table, for changes of the
 * catalog alone, and belong into one transaction.
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
 * The tenant that is set; an error where none is.
 *
 * The setting reads NULL in a session that never had it, and '' once it was set
 * and reset, or set in a transaction that is over.
 */
export function currentTenant(policyFor: TenantTable | SearchTable): string {
  return `coalesce(
    nullif(current_setting('${TENANT_SETTING}', true), '')::uuid,
    tenant_required(${escapeLiteral(policyFor)}))`;
}
