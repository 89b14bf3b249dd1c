import {
  actAsAppStatements,
  setTenantStatement,
  tryOut,
} from '../../schema/appSession';
import type { Executor } from '../../engine/Executor';
import type { Step } from '../../engine/Step';
import { tenantPolicyStatements } from '../../schema/policies';
import { APP_ROLE } from '../../roles';
import { escapeIdentifier } from '../../sql';
import { DEFAULT_TENANT_ID, TENANT_TABLES } from '../../schema/tables';
import type { TenantTable } from '../../schema/tables';

const OTHER_TENANT = 'ffffffff-ffff-4fff-bfff-ffffffffffff';
const PROBE = 'tenancy_probe';

const PROBE_TABLE = [
  `create table ${PROBE} (tenant_id uuid)`,
  `insert into ${PROBE} values ('${DEFAULT_TENANT_ID}'), ('${OTHER_TENANT}')`,
  ...tenantPolicyStatements(PROBE, { policyFor: 'entities' }),
  `grant select on ${PROBE} to ${APP_ROLE}`,
];

const READ_PROBE = `do $$
declare
  seen uuid[];
begin
  perform set_config('app.tenant_id', '${DEFAULT_TENANT_ID}', true);
  select array_agg(tenant_id) into seen from ${PROBE};
  if seen is distinct from array['${DEFAULT_TENANT_ID}'::uuid] then
    raise exception 'with the default tenant set, the tenants % are read', seen;
  end if;
  perform set_config('app.tenant_id', '', true);
  begin
    perform from ${PROBE};
  exception when insufficient_privilege then
    if sqlerrm = 'permission denied for table entities' then
      return;
    end if;
    raise;
  end;
  raise exception 'without a tenant, rows are read';
end $$`;

/**
 * Reads and writes as the application's role with a tenant set, with triggers and
 * sequences, and checks that a policy like that of phase 4 refuses it without one. All of
 * it is rolled back.
 */
export const proof: Step = {
  name: '3_50_proof',
  title: `Try out the tables as ${APP_ROLE}`,

  creates: () => [{ kind: 'relation', name: PROBE }],

  async up(context) {
    const act = await actAsAppStatements(context);
    const writes: string[] = [];
    for (const table of TENANT_TABLES) {
      writes.push(await writeStatement(context.executor, table));
    }
    await tryOut(context, {
      title: `Read and write the tables as ${APP_ROLE}`,
      locks:
        'One row of each table, which no other transaction has locked, until the ' +
        'roll-back.',
      begin: 'begin',
      statements: [setTenantStatement(DEFAULT_TENANT_ID), ...act, ...writes],
      failure:
        `${APP_ROLE} can not work with the tables of the default tenant. Grant it ` +
        'what is missing, also for triggers, and run the command again',
    });
    await tryOut(context, {
      title: `Read a table with the policy as ${APP_ROLE}`,
      locks: 'A new table, which no session uses yet.',
      begin: 'begin',
      statements: [...PROBE_TABLE, ...act, READ_PROBE],
      failure: 'The policy does not keep tenants apart',
    });
  },

  // `up` leaves nothing.
  async down() {},
};

/**
 * Updates a row, deletes it and inserts it again: this needs no invented values and no
 * unused key.
 */
async function writeStatement(
  executor: Executor,
  table: TenantTable,
): Promise<string> {
  const columns = await executor.read<{ name: string }>(
    `select attname as name from pg_attribute
      where attrelid = to_regclass($1) and attnum > 0 and not attisdropped
        and attgenerated = '' order by attnum`,
    [table],
  );
  const names = columns.map(({ name }) => escapeIdentifier(name));
  const list = names.join(', ');
  return `do $$
declare
  place tid;
  probe ${table};
begin
  -- The rights alone, which the rows below may not be there to show.
  insert into ${table} (${list}) overriding system value
    select ${list} from ${table} where false;
  update ${table} set tenant_id = tenant_id where false;
  delete from ${table} where false;
  select ctid into place from ${table}
    where tenant_id = '${DEFAULT_TENANT_ID}' limit 1 for update skip locked;
  update ${table} set tenant_id = tenant_id where ctid = place
    returning ctid into place;
  delete from ${table} where ctid = place returning * into probe;
  if found then
    insert into ${table} (${list}) overriding system value
      values (${names.map(name => `probe.${name}`).join(', ')});
  end if;
exception when foreign_key_violation or restrict_violation then
  -- The right to delete was there, and another table holds on to the row.
  null;
end $$`;
}
