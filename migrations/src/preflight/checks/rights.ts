import { readCompletedSteps } from '../../engine/journal';
import { PRODUCT_MIGRATIONS } from '../../productTables/migrations';
import { ADMIN_ROLE, APP_ROLE } from '../../roles';
import {
  leftToSuperuserStatements,
  othersRoles,
  readRoleAccess,
} from '../../schema/roleAccess';
import { operatorCommand } from '../../operatorCommand';
import { relationExists } from '../../schema/lookups';
import { inheritStatements } from '../../schema/membership';
import { DEFAULT_TENANT_ID, MEMBERS_TABLE } from '../../schema/tables';
import { escapeIdentifier, escapeLiteral } from '../../sql';
import { enumerate, formatThings, script } from '../../text';
import { failure, ok, warning } from '../PreflightCheck';
import type {
  Outcome,
  PreflightCheck,
  PreflightContext,
} from '../PreflightCheck';

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
    return outcomes;
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
    const completed = await readCompletedSteps(executor);
    const missing = PRODUCT_MIGRATIONS.filter(
      ({ name }) => !completed.includes(name),
    );
    const hasTable = await relationExists(executor, MEMBERS_TABLE);
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
              `The product's own tables are those of an earlier version: ${formatThings(
                missing.length,
                'migration',
              )} missing.`,
              {
                advice: `Run ${operatorCommand(
                  'upgrade',
                )}, or start a backend of this version whose user may.`,
                details: missing.map(({ title }) => title),
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
