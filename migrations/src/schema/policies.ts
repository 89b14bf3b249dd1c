import { ADMIN_ROLE } from '../roles';
import { escapeIdentifier, escapeLiteral } from '../sql';

/** The session setting with the tenant. */
export const TENANT_SETTING = 'app.tenant_id';

/** The policy of each table that restricts it to the rows of a tenant. */
export const TENANT_POLICY = 'tenant_isolation';

/** The policy by which `portal_admin` passes where it can't have BYPASSRLS. */
export const ADMIN_POLICY = 'tenant_administration';

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

/**
 * A condition on a row of pg_roles: row-level security shows the role the rows of every tenant,
 * for which it needs no SET ROLE.
 */
export function passesPolicies(alias: string): string {
  return `(${alias}.rolsuper or ${alias}.rolbypassrls or exists (
    select from pg_roles admin
     where admin.rolname = '${ADMIN_ROLE}' and not admin.rolbypassrls
       and pg_has_role(${alias}.oid, admin.oid, 'USAGE')))`;
}

/**
 * The statements that restrict a table to the rows of the tenant that is set, for its owner
 * too (FORCE).
 *
 * They are idempotent and belong into one transaction. All take ACCESS EXCLUSIVE on the
 * table, for changes of the catalog alone.
 *
 * @param policyFor - the table that the error names: its production name
 */
export function tenantPolicyStatements(
  table: string,
  policyFor = table,
): string[] {
  const name = escapeIdentifier(table);
  const condition = `tenant_id = ${currentTenant(policyFor)}`;
  return [
    `drop policy if exists ${TENANT_POLICY} on ${name}`,
    `create policy ${TENANT_POLICY} on ${name} for all
  using (${condition})
  with check (${condition})`,
    adminPolicyStatement(table),
    `alter table ${name} enable row level security`,
    `alter table ${name} force row level security`,
  ];
}

/**
 * The statement that lets `portal_admin` pass the policies of a table where it lacks
 * BYPASSRLS, which only some logins may give. The policy applies to the roles that inherit
 * `portal_admin` and to no others, so the plans of the application stay as they are.
 */
export function adminPolicyStatement(table: string): string {
  const name = escapeIdentifier(table);
  return `do $$ begin
  if exists (select from pg_roles where rolname = '${ADMIN_ROLE}' and not rolbypassrls) then
    drop policy if exists ${ADMIN_POLICY} on ${name};
    create policy ${ADMIN_POLICY} on ${name} for all to ${ADMIN_ROLE}
      using (true) with check (true);
  end if;
end $$`;
}

/**
 * A condition on a row of pg_class: row-level security hides rows of the table from the
 * current role, or fails its queries. `portal_admin` sees all rows without BYPASSRLS where
 * {@link ADMIN_POLICY} is in place and no restrictive policy binds it.
 */
export function hidesRows(alias: string): string {
  return `row_security_active(${alias}.oid) and (
  current_setting('row_security') = 'off'
  or not exists (
    select from pg_policy p join pg_roles a on p.polroles = array[a.oid]
     where p.polrelid = ${alias}.oid and p.polname = '${ADMIN_POLICY}' and p.polpermissive
       and p.polcmd = '*' and pg_get_expr(p.polqual, p.polrelid) = 'true'
       and pg_get_expr(p.polwithcheck, p.polrelid) = 'true'
       and a.rolname = '${ADMIN_ROLE}' and pg_has_role(a.oid, 'USAGE'))
  or exists (
    select from pg_policy p, unnest(p.polroles) r
     where p.polrelid = ${alias}.oid and not p.polpermissive
       and (r = 0 or pg_has_role(r, 'USAGE'))))`;
}

/** The counterpart of {@link tenantPolicyStatements}. */
export function dropTenantPolicyStatements(table: string): string[] {
  const name = escapeIdentifier(table);
  return [
    `alter table ${name} no force row level security`,
    `alter table ${name} disable row level security`,
    `drop policy if exists ${TENANT_POLICY} on ${name}`,
    `drop policy if exists ${ADMIN_POLICY} on ${name}`,
  ];
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
export function currentTenant(policyFor: string): string {
  return `coalesce(
    nullif(current_setting('${TENANT_SETTING}', true), ''),
    tenant_required(${escapeLiteral(policyFor)})::text)::uuid`;
}
