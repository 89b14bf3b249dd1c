import type { LoggerService } from '@backstage/backend-plugin-api';
import type { Knex } from 'knex';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * The role that the plugin acts as if the policies do not apply to its database user.
 *
 * It is not the catalog's `portal_app`: as a member of that, the database user could act as
 * `portal_admin`, who reads the catalogs of all tenants. The plugin's database may also be on a
 * server that has no catalog, and so no `portal_app`.
 */
export const TENANT_ROLE = 'backstage_mockup';

/**
 * The rights that the plugin's statements and trigger need, by table. Versions allow updates of
 * the tag only, because layouts never change.
 */
const RIGHTS: Record<string, string[]> = {
  mockups: ['select', 'insert', 'update', 'delete'],
  mockup_versions: ['select', 'insert', 'update (version_tag)'],
  mockup_search: ['select', 'insert', 'update'],
  mockup_trash: ['select', 'delete'],
  mockup_trash_versions: ['select'],
  mockup_pages: ['select', 'insert', 'update', 'delete'],
  mockup_comments: ['select', 'insert', 'update', 'delete'],
  mockup_ready_versions: ['select', 'insert', 'update', 'delete'],
  mockup_settings: ['select', 'insert', 'update'],
  mockup_editors: ['select', 'insert', 'update'],
};
const TABLES = Object.keys(RIGHTS);

const LOCK_NOT_AVAILABLE = '55P03';
const INSUFFICIENT_PRIVILEGE = '42501';
const ATTEMPTS = 60;

/**
 * Enables row-level security in addition to the predicates of the statements. Returns the role
 * that statements must act as, if any.
 *
 * Policies do not apply to the plugin's database user, which owns the tables or is a superuser,
 * so it acts as another role. Forcing the policies on the owner would need no role, but would
 * make backups by that user fail or miss rows.
 *
 * If neither is possible, logs what to do.
 */
export async function enableRowSecurity(
  knex: Knex,
  logger: LoggerService,
): Promise<string | undefined> {
  try {
    await enablePolicies(knex);
    if (await isBound(knex)) {
      return undefined;
    }
    if (!(await isBound(knex, TENANT_ROLE))) {
      await provideRole(knex);
    }
    if (await isBound(knex, TENANT_ROLE)) {
      return TENANT_ROLE;
    }
    logger.error(await describeUnbound(knex));
  } catch (error) {
    const { code } = error as { code?: string };
    if (code === undefined || /^(08|57)/.test(code)) {
      throw error;
    }
    logger.error(
      code === INSUFFICIENT_PRIVILEGE
        ? await describeUnbound(knex)
        : `Row-level security for the mockup plugin failed to start (PostgreSQL's error ${code}), ` +
            'so only the predicates of its statements keep tenants apart. Restart the backend to try again.',
    );
  }
  return undefined;
}

/**
 * Enables the policies, once. Takes ACCESS EXCLUSIVE on the tables for a change of the system
 * catalogs. Waits for at most a second for each attempt, because requests queue behind it.
 */
async function enablePolicies(knex: Knex): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const { rows } = await knex.raw(
      `select bool_and(relrowsecurity) as enabled from pg_class
        where oid in (${TABLES.map(table => `'${table}'::regclass`)})`,
    );
    if (rows[0].enabled) {
      return;
    }
    try {
      await knex.transaction(async transaction => {
        await transaction.raw("set local lock_timeout = '1s'");
        for (const table of TABLES) {
          await transaction.raw(
            `alter table ${table} enable row level security`,
          );
        }
      });
    } catch (error) {
      const { code } = error as { code?: string };
      if (code !== LOCK_NOT_AVAILABLE || attempt === ATTEMPTS) {
        throw error;
      }
      await delay(500);
    }
  }
}

/**
 * Whether the policies apply to the database user, or to the role if it can act as that, with
 * sufficient rights.
 */
async function isBound(knex: Knex, role?: string): Promise<boolean> {
  return await knex.transaction(async transaction => {
    if (role !== undefined) {
      const { rows } = await transaction.raw(
        `select coalesce(
           (select pg_has_role(session_user, oid, 'member')
              from pg_roles where rolname = ?), false) as member`,
        [role],
      );
      if (!rows[0].member) {
        return false;
      }
      await transaction.raw("select set_config('role', ?, true)", [role]);
    }
    const conditions = TABLES.flatMap(table => [
      `row_security_active('${table}')`,
      ...RIGHTS[table].map(right => hasRight(table, right)),
    ]);
    const { rows } = await transaction.raw(
      `select has_schema_privilege(current_schema(), 'usage')
         and to_regclass('mockups') is not null as usable`,
    );
    if (!rows[0].usable) {
      return false;
    }
    const bound = await transaction.raw(
      `select ${conditions.join(' and ')} as bound`,
    );
    return bound.rows[0].bound;
  });
}

function hasRight(table: string, right: string): string {
  const [name, column] = right.split(/ \((.*)\)/);
  return column === undefined
    ? `has_table_privilege('${table}', '${name}')`
    : `has_column_privilege('${table}', '${column}', '${name}')`;
}

/** Creates the role and grants it the required rights. */
async function provideRole(knex: Knex): Promise<void> {
  await knex.transaction(async transaction => {
    // A backend on another database of the server may create the role concurrently.
    await transaction.raw(`
      do $$ begin
        if not exists (select from pg_roles where rolname = '${TENANT_ROLE}') then
          create role ${TENANT_ROLE} nologin;
        end if;
      exception when duplicate_object or unique_violation then
        null;
      end $$`);
    const { rows } = await transaction.raw(`
      select quote_ident(session_user) as login,
             quote_ident(current_schema()) as schema,
             pg_has_role(session_user, '${TENANT_ROLE}', 'member') as member`);
    const [{ login, schema, member }] = rows;
    if (!member) {
      await transaction.raw(`grant ${TENANT_ROLE} to ${login}`);
    }
    await transaction.raw(`grant usage on schema ${schema} to ${TENANT_ROLE}`);
    for (const [table, rights] of Object.entries(RIGHTS)) {
      await transaction.raw(`grant ${rights} on ${table} to ${TENANT_ROLE}`);
    }
  });
}

/**
 * The statements that an administrator has to run. PostgreSQL's error is not shown, because it
 * quotes our statement.
 */
async function describeUnbound(knex: Knex): Promise<string> {
  const { rows } = await knex.raw(
    `select quote_ident(session_user) as login,
            exists (select from pg_roles where rolname = ?) as found`,
    [TENANT_ROLE],
  );
  const [{ login, found }] = rows;
  const statements = [
    ...(found ? [] : [`CREATE ROLE ${TENANT_ROLE} NOLOGIN;`]),
    `GRANT ${TENANT_ROLE} TO ${login};`,
  ];
  return (
    `The database user ${login} of the mockup plugin may not act as the role ${TENANT_ROLE}, so ` +
    'only the predicates of its statements keep tenants apart. Have an administrator run ' +
    `"${statements.join(' ')}", and restart the backend.`
  );
}
