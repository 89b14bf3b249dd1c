// @ts-check

/** What belongs to no other tenant: all rows of a backend without tenants, too. */
const DEFAULT_TENANT = '00000000-0000-0000-0000-000000000001';
exports.DEFAULT_TENANT = DEFAULT_TENANT;

/** Where no tenant is set, as for a backend without tenants, it is the default one. */
const SESSION_TENANT = `cast(
  coalesce(nullif(current_setting('app.tenant_id', true), ''), '${DEFAULT_TENANT}')
  as uuid)`;

/**
 * Creates a table whose rows belong to tenants, with the policy that keeps them apart. It leaves
 * alone what an earlier run has done, which was cut short before Knex had noted it.
 *
 * The policy binds the owner of the table where an administrator has had the policies of the other
 * tables bind theirs. It binds no one else yet: the plugin enables row-level security when it
 * starts with tenants, because that has an effect on other logins, such as those of backups.
 *
 * @param {import('knex').Knex} knex
 * @param {string} table
 * @param {{ comment: string, columns: Record<string, string>, create: string }} options comments on
 *   the table and its columns, and what CREATE TABLE says behind the name
 */
exports.createTenantTable = async function createTenantTable(
  knex,
  table,
  { comment, columns, create },
) {
  await knex.raw(`create table if not exists ${table} ${create}`);
  await knex.raw(`comment on table ${table} is '${comment}'`);
  for (const [column, text] of Object.entries(columns)) {
    await knex.raw(`comment on column ${table}.${column} is '${text}'`);
  }
  await knex.raw(`drop policy if exists ${table}_tenant on ${table}`);
  await knex.raw(`
    create policy ${table}_tenant on ${table}
      using (tenant_id = ${SESSION_TENANT})
      with check (tenant_id = ${SESSION_TENANT})`);
  await knex.raw(`
    do $$ begin
      if (select relforcerowsecurity from pg_class
           where oid = 'mockups'::regclass) then
        alter table ${table} force row level security;
      end if;
    end $$`);
};
