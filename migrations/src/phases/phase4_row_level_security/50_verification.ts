import {
  actAsAppStatements,
  setTenantStatement,
  tryOut,
} from '../../schema/appSession';
import type { Step, StepContext } from '../../engine/Step';
import { ADMIN_ROLE, APP_ROLE } from '../../roles';
import { DEFAULT_TENANT_ID, TENANT_TABLES } from '../../schema/tables';
import { SET_LOCAL_OWNER_ROLE } from '../../session/ownerRole';

// An id that no tenant has.
const NO_TENANT = 'ffffffff-ffff-4fff-bfff-ffffffffffff';

const NOT_BY_THE_WAY = `do $$ begin
  if pg_has_role('${APP_ROLE}', '${ADMIN_ROLE}', 'USAGE') then
    raise exception '${APP_ROLE} has the rights of ${ADMIN_ROLE} without asking for them: run "grant ${ADMIN_ROLE} to ${APP_ROLE} with inherit false"';
  end if;
end $$`;

/**
 * The verification of the specification: with the default tenant set, the application's
 * role counts all entities; with another one, 0. Without one, the query fails.
 */
export const verification: Step = {
  name: '4_50_verification',
  title: 'Verify that tenants are kept apart',
  live: true,

  async up(context) {
    const act = await actAsAppStatements(context);
    for (const table of TENANT_TABLES) {
      await tryOut(context, {
        title: `Count ${table} as ${APP_ROLE}`,
        statements: [
          ...SET_LOCAL_OWNER_ROLE,
          keepCount(`${table} where tenant_id = '${DEFAULT_TENANT_ID}'`),
          ...act,
          NOT_BY_THE_WAY,
          setTenantStatement(DEFAULT_TENANT_ID),
          compareCount(table, `current_setting('tenancy.expected')::bigint`),
          setTenantStatement(NO_TENANT),
          compareCount(table, '0'),
          setTenantStatement(''),
          expectRefusal(table),
        ],
        failure: 'The tenants are not kept apart',
      });
    }
  },

  // `up` changes nothing.
  async down() {},
};

// Of the terms there may be millions.
const MOST_COUNTED = 100_000;

/**
 * Counts the default tenant's rows as the application and as the owner of the tables: what hides
 * rows from the application gives it an empty answer, and no error.
 *
 * @throws {@link VerificationError} if the numbers differ
 */
export async function countAsApplication(
  context: StepContext,
  tables: readonly string[],
): Promise<void> {
  const act = await actAsAppStatements(context);
  for (const table of tables) {
    const rows = `(select from ${table} where tenant_id = '${DEFAULT_TENANT_ID}' limit ${MOST_COUNTED}) counted`;
    await tryOut(context, {
      title: `Count ${table} as ${APP_ROLE}`,
      statements: [
        ...SET_LOCAL_OWNER_ROLE,
        keepCount(rows),
        ...act,
        setTenantStatement(DEFAULT_TENANT_ID),
        compareCount(
          table,
          `current_setting('tenancy.expected')::bigint`,
          rows,
        ),
      ],
      failure: 'The application does not see what is there',
    });
  }
}

function keepCount(rows: string): string {
  // Apart from the count, which Citus runs where the rows are.
  return `do $$
declare
  counted bigint := (select count(*) from ${rows});
begin
  perform set_config('tenancy.expected', counted::text, true);
end $$`;
}

function compareCount(
  table: string,
  expected: string,
  rows: string = table,
): string {
  return `do $$
declare
  seen bigint := (select count(*) from ${rows});
begin
  if seen <> ${expected} then
    raise exception 'with app.tenant_id = %, % rows of ${table} are seen instead of %',
      current_setting('app.tenant_id'), seen, ${expected};
  end if;
end $$`;
}

function expectRefusal(table: string): string {
  return `do $$ begin
  begin
    -- Of one tenant, so that on Citus it is one node that refuses, in its own words.
    perform count(*) from ${table} where tenant_id = '${DEFAULT_TENANT_ID}';
  exception when insufficient_privilege then
    if sqlerrm = 'permission denied for table ${table}' then
      return;
    end if;
    raise;
  end;
  raise exception 'without a tenant, ${table} can be read';
end $$`;
}
