import type { Executor } from '../engine/Executor';
import type { StepContext } from '../engine/Step';
import { doBlock, escapeIdentifier, escapeLiteral } from '../sql';
import { APP_PRIVILEGES, APP_ROLE, ownerStatement } from '../roles';
import { adminPolicyStatement } from './policies';

const RELATION_ACL = `select coalesce(relacl,
    acldefault(case relkind when 'S' then 's' else 'r' end::"char", relowner)) as acl
  from pg_class where oid = to_regclass(quote_ident($1))`;

const SCHEMA_ACL = `select coalesce(nspacl, acldefault('n', nspowner)) as acl
  from pg_namespace where nspname = $1`;

/** Privileges of a role on an object. */
export interface Grant {
  kind: 'schema' | 'table' | 'sequence';
  name: string;
  role: string;
  /** In lower case: `select`. */
  privileges: string[];
}

export function grantStatement(grant: Grant): string {
  return `grant ${privilegesOn(grant)} to ${escapeIdentifier(grant.role)}`;
}

function revokeStatement(grant: Grant): string {
  return `revoke ${privilegesOn(grant)} from ${escapeIdentifier(grant.role)}`;
}

/** The privileges that were granted to the role itself, by name. */
export async function grantedPrivileges(
  executor: Executor,
  { kind, name, role }: Pick<Grant, 'kind' | 'name' | 'role'>,
): Promise<string[]> {
  const rows = await executor.read<{ privilege: string }>(
    `select distinct lower(a.privilege_type collate "C") as privilege
       from (${kind === 'schema' ? SCHEMA_ACL : RELATION_ACL}) o,
            aclexplode(o.acl) a, pg_roles r
      where r.oid = a.grantee and r.rolname = $2 order by 1`,
    [name, role],
  );
  return rows.map(row => row.privilege);
}

/**
 * The statements that grant missing privileges and record them under a key, so that
 * {@link undoGrants} revokes these alone.
 */
export async function grantMissing(
  { executor, state }: StepContext,
  key: string,
  wanted: Grant[],
): Promise<string[]> {
  const missing: Grant[] = [];
  for (const grant of wanted) {
    const held = await heldPrivileges(executor, grant);
    const privileges = grant.privileges.filter(each => !held.includes(each));
    if (privileges.length > 0) {
      missing.push({ ...grant, privileges });
    }
  }
  // With those that a killed attempt of the step has granted and recorded.
  const before = (await state.get<Grant[]>(key)) ?? [];
  return missing.length > 0
    ? [...missing.map(grantStatement), state.put(key, [...before, ...missing])]
    : [];
}

/** The statements that revoke the grants which {@link grantMissing} has recorded. */
export async function undoGrants(
  { state }: StepContext,
  key: string,
): Promise<string[]> {
  const granted = (await state.get<Grant[]>(key)) ?? [];
  return [...granted.map(revokeStatement).map(unlessGone), state.forget(key)];
}

/** A REVOKE on or from what somebody may have dropped since, and the privileges with it. */
export function unlessGone(statement: string): string {
  return doBlock(`begin
  ${statement};
exception when undefined_table or undefined_column or undefined_object or invalid_schema_name then null;
end`);
}

/** What a role needs to write to tables, and to take values of the sequences of their defaults. */
export async function writeGrants(
  executor: Executor,
  role: string,
  tables: readonly string[],
): Promise<Grant[]> {
  const grants: Grant[] = [];
  for (const name of tables) {
    grants.push({ kind: 'table', name, role, privileges: [...APP_PRIVILEGES] });
    for (const sequence of await sequencesOf(executor, name)) {
      grants.push({
        kind: 'sequence',
        name: sequence,
        role,
        privileges: ['usage'],
      });
    }
  }
  return grants;
}

/** The sequences from which the defaults of a table's columns take their values. */
async function sequencesOf(
  executor: Executor,
  table: string,
): Promise<string[]> {
  const rows = await executor.read<{ name: string }>(
    `select s.relname as name
       from pg_attrdef a
       join pg_depend d on d.classid = 'pg_attrdef'::regclass and d.objid = a.oid
       join pg_class s on d.refclassid = 'pg_class'::regclass
                      and s.oid = d.refobjid and s.relkind = 'S'
      where a.adrelid = to_regclass(quote_ident($1))
      order by 1`,
    [table],
  );
  return rows.map(row => row.name);
}

/**
 * The privileges that need no grant. On a schema these include inherited ones and those of
 * PUBLIC, because other applications may share the schema.
 */
async function heldPrivileges(
  executor: Executor,
  grant: Grant,
): Promise<string[]> {
  if (grant.kind !== 'schema') {
    return grantedPrivileges(executor, grant);
  }
  const rows = await executor.read<{ privilege: string }>(
    `select p as privilege from pg_roles r, unnest($3::text[]) p
      where r.rolname = $2 and has_schema_privilege(r.oid, $1, p)`,
    [grant.name, grant.role, grant.privileges],
  );
  return rows.map(row => row.privilege);
}

function privilegesOn({ kind, name, privileges }: Grant): string {
  return `${privileges.join(', ')} on ${kind} ${escapeIdentifier(name)}`;
}

/**
 * The statements that allow access to a partition through its parent only.
 *
 * The policies of the parent do not apply to a query that names the partition. So they
 * revoke all rights on it, also those of default privileges, and enable row-level security
 * without a policy for anybody but `portal_admin`, which hides all rows from a role that is
 * granted a right later.
 */
export function closePartitionStatements(partition: string): string[] {
  const name = escapeIdentifier(partition);
  return [
    ownerStatement(partition),
    `alter table ${name} enable row level security`,
    `alter table ${name} force row level security`,
    adminPolicyStatement(partition),
    revokeAllStatement(partition),
  ];
}

/** The statement that revokes all rights on a table, as default privileges grant them. */
export function revokeAllStatement(table: string): string {
  const name = escapeIdentifier(table);
  return revokeAll(
    name,
    `pg_class c, aclexplode(c.relacl) a
     where c.oid = to_regclass(${escapeLiteral(
       name,
     )}) and a.grantee <> c.relowner`,
  );
}

/** @param grants - SQL for the entries `a` of the access list, without the owner's */
function revokeAll(object: string, grants: string): string {
  return `do $$
declare role text;
begin
  for role in
    select distinct case a.grantee when 0 then 'public' else a.grantee::regrole::text end
      from ${grants}
  loop
    execute format('revoke all on ${object.replace(/'/g, "''")} from %s', role);
  end loop;
end $$`;
}

/**
 * The statement that lets applications read a table: `portal_app` and, after the swap, each role
 * with SELECT on `entity_parents`.
 */
export function grantToReaders(table: string): string {
  return `do $$
declare reader name;
begin
  for reader in
    select '${APP_ROLE}'
     union
    select r.rolname
      from pg_class c, aclexplode(c.relacl) a join pg_roles r on r.oid = a.grantee
     where c.oid = to_regclass('entity_parents') and a.privilege_type = 'SELECT'
       and a.grantee <> c.relowner
  loop
    execute format('grant select on table ${table} to %I', reader);
  end loop;
end $$`;
}

/** The statement that revokes all rights on a function, on which PUBLIC has EXECUTE by default. */
export function revokeAllOnFunctionStatement(signature: string): string {
  return revokeAll(
    `function ${signature}`,
    `pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
     where p.oid = to_regprocedure(${escapeLiteral(
       signature,
     )}) and a.grantee <> p.proowner`,
  );
}
