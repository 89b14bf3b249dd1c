import { ADMIN_ROLE, APP_ROLE } from '../../roles';
import {
  leftToSuperuserStatements,
  othersRoles,
  readRoleAccess,
} from '../../schema/roleAccess';
import { operatorCommand } from '../../operatorCommand';
import { columnExists, relationExists } from '../../schema/lookups';
import { inheritStatements } from '../../schema/membership';
import {
  DEFAULT_TENANT_ID,
  ENGINE_STATUS_TABLE,
  ENGINES_TABLE,
  LEASES_TABLE,
  MEMBERS_TABLE,
} from '../../schema/tables';
import { escapeIdentifier, escapeLiteral } from '../../sql';
import { enumerate, formatThings, script } from '../../text';
import { failure, ok, warning } from '../PreflightCheck';
import type {
  Outcome,
  PreflightCheck,
  PreflightContext,
} from '../PreflightCheck';

/** The version since which GRANT SET ON PARAMETER exists. */
const PARAMETER_GRANTS_SINCE = 150000;

/** The rights that the phases need, and the login has. */
export const loginRights: PreflightCheck = {
  name: 'privileges',
  scope: 'server',
  async run(context) {
    const { facts } = context;
    const outcomes = [
      ...(await ownership(await readMissingOwners(context), context)),
      ...(await judgeSchema(context)),
      ...(await judgeRoles(context)),
    ];
    if (outcomes.length === 0) {
      const why = facts.superuser ? ', a superuser,' : '';
      outcomes.push(
        ok(`The login ${facts.login}${why} may do what the phases need.`),
      );
    }
    return [...outcomes, ...(await judgeTriggers(context))];
  },
};

/** An owner of tables whose rights the login does not have. */
interface MissingOwner {
  name: string;
  superuser: boolean;
}

async function readMissingOwners({
  executor,
  facts,
}: PreflightContext): Promise<MissingOwner[]> {
  return executor.read<MissingOwner>(
    `select rolname as name, rolsuper as superuser from pg_roles
      where rolname = any ($1) and not pg_has_role(current_user, oid, 'USAGE')
      order by 1`,
    [facts.tables.map(({ owner }) => owner)],
  );
}

async function ownership(
  owners: MissingOwner[],
  { executor, facts }: PreflightContext,
): Promise<Outcome[]> {
  const login = escapeIdentifier(facts.login);
  const outcomes: Outcome[] = [];
  for (const { name: owner, superuser } of owners) {
    const owned = facts.tables.filter(table => table.owner === owner);
    outcomes.push(
      failure(
        `The login ${facts.login} does not have the rights of ${owner}, the owner of ` +
          `${enumerate(owned.map(({ name }) => name))}.`,
        superuser
          ? {
              // Membership would make the login a superuser.
              advice: `Connect as ${owner}, or let a superuser hand the tables over, if the application can do without owning them.`,
              sql: script(
                owned.map(({ sql }) => `alter table ${sql} owner to ${login}`),
              ),
            }
          : {
              advice:
                'Connect as the owner, or let a superuser run this, so that the login inherits its rights.',
              sql: script(await inheritStatements(executor, owner)),
            },
      ),
    );
  }
  return outcomes;
}

async function judgeSchema({
  executor,
  facts,
  settings,
}: PreflightContext): Promise<Outcome[]> {
  const schema = escapeIdentifier(settings.schema);
  const login = escapeIdentifier(facts.login);
  const [{ usable }] = await executor.read<{ usable: boolean }>(
    facts.schemaExists
      ? `select has_schema_privilege(current_user, ${escapeLiteral(
          settings.schema,
        )}, 'usage') and has_schema_privilege(current_user, ${escapeLiteral(
          settings.schema,
        )}, 'create') as usable`
      : `select has_database_privilege(current_user, current_database(), 'create') as usable`,
  );
  if (usable) {
    return [];
  }
  return [
    facts.schemaExists
      ? failure(
          `The login ${facts.login} may not create tables in the schema ${settings.schema}.`,
          {
            advice: 'Let the owner of the schema, or a superuser, run this.',
            sql: script([
              `grant usage, create on schema ${schema} to ${login}`,
            ]),
          },
        )
      : failure(
          `The schema ${settings.schema} does not exist, and the login ${facts.login} may not create it.`,
          {
            advice: 'Let a superuser run this.',
            sql: script([`create schema ${schema} authorization ${login}`]),
          },
        ),
  ];
}

async function judgeRoles(context: PreflightContext): Promise<Outcome[]> {
  const { facts } = context;
  const access = await readRoleAccess(context);
  const others = othersRoles(access);
  if (others) {
    return [
      failure(others.problem, {
        advice: 'Rename them, or run this if they are meant for this product.',
        sql: script(others.statements),
      }),
    ];
  }
  const statements = await leftToSuperuserStatements(
    context,
    access,
    facts.schemaExists,
  );
  return statements.length === 0
    ? []
    : [
        failure(
          `The login ${facts.login} may not set up the roles ${ADMIN_ROLE} and ${APP_ROLE}.`,
          { advice: 'Let a superuser run this.', sql: script(statements) },
        ),
      ];
}

/** The backfill updates every row; triggers on update may fire for each. */
async function judgeTriggers({
  executor,
  facts,
}: PreflightContext): Promise<Outcome[]> {
  const triggers = await executor.read<{ name: string; table: string }>(
    `select tgname as name, tgrelid::regclass::text as table from pg_trigger
      where tgrelid = any ($1) and not tgisinternal
        and tgtype & 16 <> 0 -- on update
        and tgenabled in ('O', 'A')
        and (cardinality(tgattr) = 0 or exists (
              select from pg_attribute
               where attrelid = tgrelid and attname = 'tenant_id'
                 and attnum = any (tgattr)))
      order by 2, 1`,
    [facts.tables.map(({ oid }) => oid)],
  );
  if (facts.begunPhase > 2 || triggers.length === 0 || facts.superuser) {
    return [];
  }
  const grantable = facts.version >= PARAMETER_GRANTS_SINCE;
  const [{ silences }] = await executor.read<{ silences: boolean }>(
    `select ${
      grantable
        ? `has_parameter_privilege(session_user, 'session_replication_role', 'set')`
        : 'false'
    } as silences`,
  );
  if (silences) {
    return [];
  }
  const list = enumerate(
    triggers.map(({ name, table }) => `${name} (${table})`),
  );
  return [
    warning(
      `The login ${facts.login} may not set session_replication_role, so these ` +
        `triggers on update may fire for every row of the backfill: ${list}.`,
      grantable
        ? {
            advice: 'Let a superuser run this where they should not.',
            sql: script([
              `grant set on parameter session_replication_role to ${escapeIdentifier(
                facts.login,
              )}`,
            ]),
          }
        : { advice: 'Migrate as a superuser where they should not.' },
    ),
  ];
}

/** No policies yet: permissive ones would add up with those of phase 4. */
export const rowSecurity: PreflightCheck = {
  name: 'row-level security',
  scope: 'tables',
  fine: 'No policy stands in the way of those of phase 4.',
  obstacles: true,
};

interface Grant {
  table: string;
  /** Null for a grant on the table. */
  column: string | null;
  grantee: string;
  privileges: string[];
}

const TRUNCATE = 'TRUNCATE';
const PUBLIC = 'PUBLIC';

/** Grants are carried over, except TRUNCATE, which policies do not restrict. */
export const grants: PreflightCheck = {
  name: 'grants',
  scope: 'tables',
  obstacles: true,
  fine: 'Only the owner has rights on the tables.',
  async run(context) {
    const found = await readGrants(context);
    const outcomes: Outcome[] = [];
    if (found.length > 0) {
      outcomes.push(
        ok(`Grants are carried over: ${enumerate(found.map(describeGrant))}.`, {
          details: found,
        }),
      );
    }
    const truncating = found.filter(
      ({ grantee, privileges }) =>
        grantee !== PUBLIC && privileges.includes(TRUNCATE),
    );
    if (truncating.length > 0) {
      const list = truncating.map(
        ({ grantee, table }) => `${grantee} (${table})`,
      );
      outcomes.push(
        warning(`TRUNCATE is granted to ${enumerate(list)}.`, {
          advice:
            "It empties a table of every tenant's rows. The partitioned tables do not " +
            'get it; revoke it where phase 4 must not wait for phase 5.',
        }),
      );
    }
    return outcomes;
  },
};

function describeGrant({ table, column, grantee, privileges }: Grant): string {
  const on = column === null ? table : `${table}.${column}`;
  return `${privileges.join(', ')} on ${on} to ${grantee}`;
}

async function readGrants({
  executor,
  facts,
}: PreflightContext): Promise<Grant[]> {
  return executor.read<Grant>(
    `with grants as (
       select c.oid, null::name as column, a.*
         from pg_class c, aclexplode(c.relacl) a
        where c.oid = any ($1) and a.grantee <> c.relowner
       union all
       select t.attrelid, t.attname, a.*
         from pg_attribute t, aclexplode(t.attacl) a
        where t.attrelid = any ($1) and not t.attisdropped
     )
     select g.oid::regclass::text as table, g.column,
            coalesce(r.rolname, '${PUBLIC}') as grantee,
            array_agg(g.privilege_type order by g.privilege_type) as privileges
       from grants g left join pg_roles r on r.oid = g.grantee
      group by 1, 2, 3 order by 1, 3, 2 nulls first`,
    [facts.tables.map(({ oid }) => oid)],
  );
}

// Named in a sentence.
const MOST_TENANTS = 5;

/** Who enters the tenants once the flag is on; before phase 5 nothing tells of it. */
export const members: PreflightCheck = {
  name: 'members',
  scope: 'server',
  async run({ executor, facts }) {
    if (!facts.swapped) {
      return [];
    }
    const hasTable = await relationExists(executor, MEMBERS_TABLE);
    const hasLimits = await columnExists(executor, 'tenants', 'burst');
    const missing = [
      ...(hasTable ? [] : [MEMBERS_TABLE]),
      ...((await relationExists(executor, ENGINES_TABLE))
        ? []
        : [ENGINES_TABLE]),
      ...((await relationExists(executor, LEASES_TABLE)) ? [] : [LEASES_TABLE]),
      ...((await relationExists(executor, ENGINE_STATUS_TABLE))
        ? []
        : [ENGINE_STATUS_TABLE]),
      ...(hasLimits ? [] : ['column for limits in tenants']),
    ];
    const empty = await executor.read<{ slug: string }>(
      `select tenant_slug as slug from tenants t
        where deleted_at is null and tenant_id <> $1
          ${
            hasTable
              ? `and not exists (select from ${MEMBERS_TABLE} m where m.tenant_id = t.tenant_id)`
              : ''
          }
        order by tenant_slug`,
      [DEFAULT_TENANT_ID],
    );
    return [
      ...(missing.length === 0
        ? []
        : [
            warning(
              `There is no ${missing.join(
                ' and no ',
              )}: an earlier version has completed phase 5.`,
              {
                advice: `Run ${operatorCommand(
                  'phase5',
                )}, which creates it, or start a backend of this version whose user may.`,
              },
            ),
          ]),
      ...(empty.length > 0
        ? [
            warning(
              `${formatThings(
                empty.length,
                'tenant',
              )} without members: ${enumerate(
                empty.slice(0, MOST_TENANTS).map(({ slug }) => slug),
              )}${empty.length > MOST_TENANTS ? ', …' : ''}.`,
              {
                advice:
                  'With MULTI_TENANCY_ENABLED=true only whom tenancy.admins lists, and tokens ' +
                  'of the tenant, enter them. Add members, or set tenancy.membership to open ' +
                  'until you have.',
                details: empty.map(({ slug }) => slug),
              },
            ),
          ]
        : []),
    ];
  },
  fine: 'Every tenant beside the default one has members, or there is none.',
};
