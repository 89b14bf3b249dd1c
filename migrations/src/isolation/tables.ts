import { FAULTS } from '../adopt/state';
import { MIGRATION_LOG } from '../copy/changeLog';
import { PARTITION_LOG } from '../partitions/names';
import { archiveName, oldName, partitionedName } from '../schema/partitions';
import {
  ADMIN_POLICY,
  adminPolicyStatement,
  CREATE_TENANT_REQUIRED,
  TENANT_POLICY,
  TENANT_REQUIRED,
  TENANT_REQUIRED_BODY,
  tenantPolicyStatements,
} from '../schema/policies';
import { ADMIN_ROLE, APP_ROLE } from '../roles';
import {
  ENGINE_STATUS_TABLE,
  ENGINES_TABLE,
  LEASES_TABLE,
  MEMBERS_TABLE,
  PROCESSES_TABLE,
  SEARCH_TABLES,
  TENANT_TABLES,
} from '../schema/tables';
import type { SearchTable, TenantTable } from '../schema/tables';
import { escapeIdentifier } from '../sql';
import { script } from '../text';
import { run } from './Finding';
import type { IsolationFinding, QueryRows } from './Finding';

/**
 * What a table is: one in use, its other side before or after a swap, one that triggers
 * write, a partition of one of them, a log of entities, the registry, or what it says of its
 * tenants: their members, engines, the leases of these, and what they do.
 */
type TableKind =
  | 'own'
  | 'side'
  | 'search'
  | 'part'
  | 'log'
  | 'registry'
  | 'members'
  | 'engines'
  | 'leases'
  | 'status';

/** A table with rows of tenants, or about them. */
export interface Table {
  oid: number;
  /** With its schema where that is another one. */
  name: string;
  /** As SQL, with its schema. */
  sql: string;
  kind: TableKind;
  /** The name in the error of its policy. */
  policyFor: TenantTable | SearchTable;
  enabled: boolean;
  forced: boolean;
  owner: string;
  /** Its rules; the migration creates none. */
  rules: string[];
}

interface NamedTable {
  kind: TableKind;
  policyFor: TenantTable | SearchTable;
}

const NAMED = new Map<string, NamedTable>([
  ...TENANT_TABLES.flatMap((table): [string, NamedTable][] => [
    [table, { kind: 'own', policyFor: table }],
    ...[oldName(table), partitionedName(table), archiveName(table)].map(
      (name): [string, NamedTable] => [
        name,
        { kind: 'side', policyFor: table },
      ],
    ),
  ]),
  ...SEARCH_TABLES.map((table): [string, NamedTable] => [
    table,
    { kind: 'search', policyFor: table },
  ]),
  ...[MIGRATION_LOG.table, PARTITION_LOG.table, FAULTS].map(
    (name): [string, NamedTable] => [
      name,
      { kind: 'log', policyFor: 'entities' },
    ],
  ),
  ['tenants', { kind: 'registry', policyFor: 'entities' }],
  [MEMBERS_TABLE, { kind: 'members', policyFor: 'entities' }],
  [ENGINES_TABLE, { kind: 'engines', policyFor: 'entities' }],
  ...[PROCESSES_TABLE, LEASES_TABLE].map((name): [string, NamedTable] => [
    name,
    { kind: 'leases', policyFor: 'entities' },
  ]),
  [ENGINE_STATUS_TABLE, { kind: 'status', policyFor: 'entities' }],
]);

/** Names of copies that are not partitions yet. */
const IN_PREPARATION = `^(${TENANT_TABLES.join('|')})_tenant_`;

/** All tables of the schema with or about rows of tenants, with their partitions. */
export async function readTables(
  read: QueryRows,
  schema: string,
): Promise<Table[]> {
  const rows = await read<
    Omit<Table, 'kind' | 'policyFor'> & { relname: string; isNamed: boolean }
  >(
    `with recursive found (oid, named) as (
       select c.oid, c.relname = any ($2)
         from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where n.nspname = $1 and c.relkind in ('r', 'p')
          and (c.relname = any ($2) or c.relname ~ $3)
        union
       select i.inhrelid, false from found join pg_inherits i on i.inhparent = found.oid
     )
     select c.oid, c.relname::text as relname, bool_or(f.named) as "isNamed",
            case n.nspname when $1 then c.relname::text
                           else format('%I.%I', n.nspname, c.relname) end as name,
            format('%I.%I', n.nspname, c.relname) as sql,
            c.relrowsecurity as enabled, c.relforcerowsecurity as forced,
            pg_get_userbyid(c.relowner)::text as owner,
            array(select r.rulename::text from pg_rewrite r
                   where r.ev_class = c.oid order by 1) as rules
       from found f
       join pg_class c on c.oid = f.oid
       join pg_namespace n on n.oid = c.relnamespace
      group by c.oid, n.oid, n.nspname
      order by array_position($2, c.relname::text), c.relname`,
    [schema, [...NAMED.keys()], IN_PREPARATION],
  );
  return rows.map(({ relname, isNamed, ...table }) => ({
    ...table,
    ...((isNamed && NAMED.get(relname)) || {
      kind: 'part',
      policyFor: 'entities',
    }),
  }));
}

/** A row-level security policy. */
interface Policy {
  table: number;
  name: string;
  permissive: boolean;
  /** `*` for all. */
  command: string;
  /** It applies to PUBLIC. */
  toPublic: boolean;
  /** It applies to `portal_admin` and the roles that inherit it, and to no others. */
  toAdmin: boolean;
  /** It applies to `portal_admin`, among others. */
  bindsAdmin: boolean;
  using: string | null;
  withCheck: string | null;
  /** The objects it depends on, besides tables and PostgreSQL's own, as SQL. */
  calls: { oid: number; name: string }[];
}

/** The function that a policy calls when no tenant is set. */
interface TenantRequired {
  oid: number;
  /** Its differences from the migration's. */
  differences: string[];
}

/** The policies of the tables, and the function that they call, as they are. */
export interface Policies {
  all: Policy[];
  tenantRequired?: TenantRequired;
  /** `portal_admin` has BYPASSRLS. Without it, it needs {@link ADMIN_POLICY}. */
  adminBypasses: boolean;
}

export async function readPolicies(
  read: QueryRows,
  schema: string,
  tables: Table[],
): Promise<Policies> {
  const all = await read<Policy>(
    `select p.polrelid as table, p.polname::text as name, p.polpermissive as permissive,
            p.polcmd::text as command, p.polroles = '{0}' as "toPublic",
            coalesce(p.polroles = array[a.oid], false) as "toAdmin",
            exists (select from unnest(p.polroles) r
                     where r = 0 or pg_has_role(a.oid, r, 'USAGE')) as "bindsAdmin",
            pg_get_expr(p.polqual, p.polrelid) as using,
            pg_get_expr(p.polwithcheck, p.polrelid) as "withCheck",
            coalesce((
              select json_agg(distinct jsonb_build_object(
                       'oid', d.refobjid::int8,
                       'name', coalesce(
                         (select format('%I.%I(%s)', n.nspname, f.proname,
                                        pg_get_function_identity_arguments(f.oid))
                            from pg_proc f join pg_namespace n on n.oid = f.pronamespace
                           where f.oid = d.refobjid and d.refclassid = 'pg_proc'::regclass),
                         pg_describe_object(d.refclassid, d.refobjid, 0))))
                from pg_depend d
               where d.classid = 'pg_policy'::regclass and d.objid = p.oid
                 and d.refclassid <> 'pg_class'::regclass), '[]') as calls
       from pg_policy p
       left join pg_roles a on a.rolname = '${ADMIN_ROLE}'
      where p.polrelid = any ($1::oid[])
      order by p.polname`,
    [tables.map(({ oid }) => oid)],
  );
  const [{ adminBypasses }] = await read<{ adminBypasses: boolean }>(
    `select coalesce((select rolbypassrls from pg_roles where rolname = '${ADMIN_ROLE}'), true)
       as "adminBypasses"`,
    [],
  );
  return {
    all,
    adminBypasses,
    tenantRequired: await readTenantRequired(read, schema),
  };
}

async function readTenantRequired(
  read: QueryRows,
  schema: string,
): Promise<TenantRequired | undefined> {
  const [found] = await read<TenantRequired>(
    `select p.oid, array_remove(array[
              -- A log may have had the statement that restores it in one line.
              case when regexp_replace(p.prosrc, '\\s+', ' ', 'g')
                        <> regexp_replace($2, '\\s+', ' ', 'g') then 'its body' end,
              case when l.lanname <> 'plpgsql' then 'its language is ' || l.lanname end,
              case when p.proowner::regrole::text <> '${ADMIN_ROLE}'
                   then 'its owner is ' || p.proowner::regrole end,
              case p.provolatile when 'i' then 'it is IMMUTABLE'
                                 when 'v' then 'it is VOLATILE' end,
              case when p.prosecdef then 'it is SECURITY DEFINER' end,
              case when p.proisstrict then 'it is STRICT' end,
              case when p.proleakproof then 'it is LEAKPROOF' end,
              case when p.proparallel <> 's' then 'it is not PARALLEL SAFE' end,
              case when p.proconfig is not null then 'it has settings' end,
              case when p.prokind <> 'f' or p.proretset or p.prorettype <> 'uuid'::regtype
                   then 'it does not return a uuid' end
            ], null) as differences
       from pg_proc p
       join pg_namespace n on n.oid = p.pronamespace
       join pg_language l on l.oid = p.prolang
      where n.nspname = $1 and p.proname = 'tenant_required'
        and p.proargtypes = array['text'::regtype::oid]::oidvector`,
    [schema, TENANT_REQUIRED_BODY],
  );
  return found;
}

/** Differences of a table's row-level security from the migration's. */
export function findingsOfTable(
  table: Table,
  { all, tenantRequired, adminBypasses }: Policies,
  schema: string,
): IsolationFinding[] {
  const { name, sql, enabled, forced, rules } = table;
  const policies = all.filter(policy => policy.table === table.oid);
  const own = policies.find(policy => policy.name === TENANT_POLICY);
  const others = policies.filter(
    policy =>
      policy.permissive &&
      policy.name !== TENANT_POLICY &&
      !admitsAdmin(policy),
  );
  const restore = {
    remedy: 'restore it as the migration makes it',
    script: scriptIn(
      schema,
      tenantPolicyStatements(table.name, { policyFor: table.policyFor }),
    ),
  };
  const findings: IsolationFinding[] = [];
  if (!enabled) {
    findings.push({
      problem: `Row-level security is not enabled on ${name}`,
      remedy: run(`alter table ${sql} enable row level security`),
    });
  }
  if (!forced) {
    findings.push({
      problem: `Row-level security is not forced on ${name}, so that it does not bind the owner`,
      remedy: run(`alter table ${sql} force row level security`),
    });
  }
  if (!own) {
    findings.push({
      problem: `The policy ${TENANT_POLICY} is missing on ${name}`,
      ...restore,
    });
  } else if (!isolates(own, table)) {
    findings.push({
      problem: `The policy ${TENANT_POLICY} on ${name} is not the one that keeps tenants apart`,
      ...restore,
    });
  } else if (tenantRequired && !callsOnly(own, tenantRequired.oid)) {
    const otherCalls = own.calls.filter(
      ({ oid }) => oid !== tenantRequired.oid,
    );
    findings.push({
      problem:
        `The policy ${TENANT_POLICY} on ${name} is not the one that keeps tenants apart: ` +
        `it calls ${otherCalls.map(each => each.name).join(', ')} ${
          otherCalls.length < own.calls.length ? 'as well as' : 'instead of'
        } ${escapeIdentifier(schema)}.${TENANT_REQUIRED}`,
      ...restore,
    });
  }
  if (!adminBypasses && !policies.some(admitsAdmin)) {
    findings.push({
      problem:
        `${ADMIN_ROLE} has no BYPASSRLS, and the policy ${ADMIN_POLICY} on ${name}, which ` +
        'shows it the rows of all tenants, is missing or another one',
      ...restore,
    });
  }
  return [
    ...findings,
    ...policies
      .filter(each => !adminBypasses && !each.permissive && each.bindsAdmin)
      .filter(each => !each.name.startsWith('tenancy_'))
      .map(policy => ({
        problem: `The restrictive policy ${policy.name} on ${name} binds ${ADMIN_ROLE}, which has no BYPASSRLS`,
        remedy: run(
          `alter policy ${escapeIdentifier(
            policy.name,
          )} on ${sql} to ${APP_ROLE}`,
        ),
      })),
    ...others.map(policy => ({
      problem: `The policy ${policy.name} on ${name} lets rows through beside ${TENANT_POLICY}: permissive policies add up`,
      remedy: `${run(
        `drop policy ${escapeIdentifier(policy.name)} on ${sql}`,
      )}, or create it AS RESTRICTIVE`,
    })),
    ...rules.map(rule => ({
      problem: `The rule ${rule} on ${name} acts with the rights of ${table.owner}, whom no policy binds`,
      remedy: run(`drop rule ${escapeIdentifier(rule)} on ${sql}`),
    })),
  ];
}

// No policy governs them: rights alone say who reads them.
const WITHOUT_POLICIES: TableKind[] = [
  'registry',
  'members',
  'engines',
  'leases',
  'status',
  'log',
];

/**
 * Tables that hide rows from whom the migration lets read them, as an event trigger may have
 * done that enables row-level security on new tables.
 */
export function findHidden(tables: Table[]): IsolationFinding[] {
  const hidden = tables.filter(
    ({ kind, enabled }) => enabled && WITHOUT_POLICIES.includes(kind),
  );
  return hidden.length === 0
    ? []
    : [
        {
          problem: `Row-level security hides the rows of ${hidden
            .map(({ name }) => name)
            .join(', ')} from the application`,
          remedy: run(
            ...hidden.map(
              ({ sql }) => `alter table ${sql} disable row level security`,
            ),
          ),
        },
      ];
}

/** Differences of the policies' function from the migration's. */
export function findingsOfTenantRequired(
  { tenantRequired }: Policies,
  schema: string,
): IsolationFinding[] {
  const name = `${escapeIdentifier(schema)}.${TENANT_REQUIRED}`;
  if (tenantRequired?.differences.length === 0) {
    return [];
  }
  return [
    {
      problem: tenantRequired
        ? `The function ${name}, which the policies call without a tenant, is not that of the migration: ` +
          `${tenantRequired.differences.join(', ')}`
        : `There is no function ${name}, which the policies call without a tenant`,
      remedy: 'restore it as the migration makes it',
      script: scriptIn(schema, [
        CREATE_TENANT_REQUIRED,
        `alter function ${TENANT_REQUIRED} owner to ${ADMIN_ROLE}`,
      ]),
    },
  ];
}

/** Differences from the migration's tables that give the database user no access. */
export function deviationsOf(
  tables: Table[],
  { all, adminBypasses }: Policies,
  schema: string,
): IsolationFinding[] {
  return tables.flatMap(({ oid, name, sql, kind, enabled, forced, owner }) => [
    ...(kind === 'part' &&
    enabled &&
    !adminBypasses &&
    !all.some(policy => policy.table === oid && admitsAdmin(policy))
      ? [
          {
            problem: `${ADMIN_ROLE} has no BYPASSRLS, and the partition ${name} has no policy ${ADMIN_POLICY}`,
            remedy: 'restore it as the migration makes it',
            script: scriptIn(schema, [adminPolicyStatement(name)]),
          },
        ]
      : []),
    ...(kind === 'part' && !(enabled && forced)
      ? [
          {
            problem: `Row-level security is not enabled and forced on the partition ${name}`,
            remedy: run(
              `alter table ${sql} enable row level security, force row level security`,
            ),
          },
        ]
      : []),
    ...(['own', 'search', 'part'].includes(kind) && owner !== ADMIN_ROLE
      ? [
          {
            problem: `${name} belongs to ${owner} instead of ${ADMIN_ROLE}`,
            remedy: run(`alter table ${sql} owner to ${ADMIN_ROLE}`),
          },
        ]
      : []),
  ]);
}

/** Whether it is the migration's policy for `portal_admin` alone. */
function admitsAdmin(policy: Policy): boolean {
  const { name, permissive, command, toAdmin, using, withCheck } = policy;
  return (
    name === ADMIN_POLICY &&
    permissive &&
    command === '*' &&
    toAdmin &&
    using === 'true' &&
    withCheck === 'true'
  );
}

/** Whether it equals the migration's policy: for all commands, roles and rows. */
function isolates(policy: Policy, { policyFor }: Table): boolean {
  const { permissive, command, toPublic, using, withCheck } = policy;
  const isCondition = (expression: string | null) =>
    tenantCondition(policyFor).test(expression ?? '');
  return (
    permissive &&
    command === '*' &&
    toPublic &&
    isCondition(using) &&
    isCondition(withCheck)
  );
}

// The condition as PostgreSQL prints it, with the function's schema unless that is on the
// search path. The policy's dependencies tell which function it calls, and whether it uses
// operators or casts other than PostgreSQL's. Earlier versions had the cast inside of
// COALESCE, which admits the same rows.
function tenantCondition(policyFor: string): RegExp {
  const setting = `NULLIF\\(current_setting\\('app\\.tenant_id'::text, true\\), ''::text\\)`;
  const required = `(?:[^\\s()]+\\.)?tenant_required\\('${policyFor}'::text\\)`;
  return new RegExp(
    `^\\(tenant_id = (?:\\(COALESCE\\(${setting}, \\(${required}\\)::text\\)\\)::uuid|` +
      `COALESCE\\(\\(${setting}\\)::uuid, ${required}\\))\\)$`,
  );
}

function callsOnly({ calls }: Policy, oid: number): boolean {
  return calls.length === 1 && calls[0].oid === oid;
}

/** Statements, with a search path on which the tables' names resolve. */
function scriptIn(schema: string, statements: string[]): string {
  return script([
    'begin',
    `set local search_path = ${escapeIdentifier(schema)}`,
    ...statements,
    'commit',
  ]);
}
