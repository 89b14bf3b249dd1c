import { operatorCommand } from 'backstage-catalog-tenancy-migrations';
import { ADMIN_ROLE, APP_ROLE, TENANT_POLICY } from '../tables';
import type { DatabaseFacts, PolicyFacts, TableFacts } from './facts';

/** Something that is not as it has to be, and what to do about it. */
export interface Finding {
  problem: string;
  remedy: string;
}

const CONNECT_AS_APP =
  `let the backend connect as ${APP_ROLE} ` +
  '(tenancy.database.connection.user and .password)';

/** Why the catalogs of tenants must not be served. */
export function findingsOf(facts: DatabaseFacts): Finding[] {
  return [
    ...findingsOfUser(facts),
    ...findingIf(facts.absent.length > 0, {
      problem: `There is no ${listOf(facts.absent)} in schema "${
        facts.schema
      }"`,
      remedy:
        `run "${operatorCommand('phase5')}", also where it was run before: ` +
        'it does what is left to do',
    }),
    ...facts.tables.flatMap(findingsOfTable),
  ];
}

function findingsOfUser({ user }: DatabaseFacts): Finding[] {
  const { name } = user;
  const who = `The database user '${name}'`;
  if (user.superuser) {
    // It may everything: what follows holds for it anyway.
    return [{ problem: `${who} is a superuser`, remedy: `${CONNECT_AS_APP}` }];
  }
  return [
    ...findingIf(user.bypassesRls, {
      problem: `${who} has BYPASSRLS`,
      remedy: `${CONNECT_AS_APP}, or run "alter role ${quote(
        name,
      )} nobypassrls"`,
    }),
    ...findingIf(user.inheritsAdmin, {
      problem: `${who} inherits ${ADMIN_ROLE}`,
      remedy:
        `run "alter role ${quote(
          name,
        )} noinherit", and from PostgreSQL 16 on ` +
        `"grant ${ADMIN_ROLE} to ${quote(name)} with inherit false"`,
    }),
    ...findingIf(user.owned.length > 0, {
      problem: `${who} owns ${listOf(
        user.owned,
      )}, itself or by a role that it inherits`,
      remedy: `${CONNECT_AS_APP}, and run ${commandsFor(
        user.owned,
        table => `alter table ${quote(table)} owner to ${ADMIN_ROLE}`,
      )}`,
    }),
    // Whoever inherits the owner has its rights: that is said already.
    ...findingIf(user.partitions.length > 0 && !user.inheritsAdmin, {
      problem:
        `${who} has rights on ${listOf(
          user.partitions,
        )}, and the policies of ` +
        'a table do not hold for a query that names its partition',
      remedy:
        'run "revoke all on table … from …" for each: for the user, the roles ' +
        'that it inherits, and public',
    }),
    ...findingIf(user.truncatable.length > 0 && !user.inheritsAdmin, {
      problem: `${who} may TRUNCATE ${listOf(
        user.truncatable,
      )}, which no policy governs`,
      remedy: `run ${commandsFor(
        user.truncatable,
        table => `revoke truncate on table ${quote(table)} from …`,
      )} for the user, the roles that it inherits, and public`,
    }),
    ...findingIf(user.writable.length > 0 && !user.inheritsAdmin, {
      problem: `${who} has ${listOf(
        user.writable,
      )}, which only triggers write to`,
      remedy:
        'run "revoke insert, update, delete on table … from …" for the user, the ' +
        'roles that it inherits, and public',
    }),
    ...findingIf(user.missing.length > 0, {
      problem: `${who} has no ${listOf(user.missing)}`,
      remedy: `${CONNECT_AS_APP}, to whom phases 3 and 5 of the migration grant them`,
    }),
  ];
}

function findingsOfTable(table: TableFacts): Finding[] {
  const { name, enabled, forced, policies } = table;
  const own = policies.find(policy => policy.name === TENANT_POLICY);
  const others = policies.filter(
    policy => policy.permissive && policy.name !== TENANT_POLICY,
  );
  const restore =
    'restore it as phase 4 of the migration makes it ' +
    `("${operatorCommand('verify')}" says what else differs)`;
  return [
    ...findingIf(!enabled, {
      problem: `Row-level security is not enabled on ${name}`,
      remedy: `run "alter table ${name} enable row level security"`,
    }),
    ...findingIf(!forced, {
      problem: `Row-level security is not forced on ${name}, so that it does not bind the owner`,
      remedy: `run "alter table ${name} force row level security"`,
    }),
    ...findingIf(!own, {
      problem: `The policy ${TENANT_POLICY} is missing on ${name}`,
      remedy: restore,
    }),
    ...findingIf(own && !isolates(own, name), {
      problem: `The policy ${TENANT_POLICY} on ${name} is not the one that keeps tenants apart`,
      remedy: restore,
    }),
    ...others.map(policy => ({
      problem: `The policy ${policy.name} on ${name} lets rows through beside ${TENANT_POLICY}: permissive policies add up`,
      remedy: `run "drop policy ${quote(
        policy.name,
      )} on ${name}", or create it AS RESTRICTIVE`,
    })),
  ];
}

/** Whether it is what the migration makes: for all commands, users, rows. */
function isolates(policy: PolicyFacts, table: string): boolean {
  const { permissive, command, toPublic, using, withCheck } = policy;
  return (
    permissive &&
    command === '*' &&
    toPublic &&
    isTenantCondition(using, table) &&
    isTenantCondition(withCheck, table)
  );
}

// As PostgreSQL prints the condition; it qualifies the function where that is not
// on the search path.
function isTenantCondition(expression: string | null, table: string): boolean {
  const condition =
    `\\(tenant_id = COALESCE\\(\\(NULLIF\\(current_setting\\('app\\.tenant_id'::text, true\\), ` +
    `''::text\\)\\)::uuid, (?:[^\\s()]+\\.)?tenant_required\\('${table}'::text\\)\\)\\)`;
  return new RegExp(`^${condition}$`).test(expression ?? '');
}

function findingIf(condition: unknown, finding: Finding): Finding[] {
  return condition ? [finding] : [];
}

const NAMED = 3;

function listOf(names: string[]): string {
  const more = names.length - NAMED;
  return more > 0
    ? `${names.slice(0, NAMED).join(', ')} and ${more} more`
    : names.join(', ');
}

function commandsFor(
  tables: string[],
  command: (table: string) => string,
): string {
  const more = tables.length > NAMED ? ' and so on' : '';
  const commands = tables.slice(0, NAMED).map(table => `"${command(table)}"`);
  return `${commands.join(', ')}${more}`;
}

/** A name as SQL has it. */
export function quote(identifier: string): string {
  return /^[a-z_][a-z0-9_$]*$/.test(identifier)
    ? identifier
    : `"${identifier.replace(/"/g, '""')}"`;
}
