// @ts-check

const DEFAULT_TENANT = '00000000-0000-0000-0000-000000000001';
exports.DEFAULT_TENANT = DEFAULT_TENANT;

/** Where no tenant is set, as for versions that know none, it is the default one. */
const SESSION_TENANT = `cast(
  coalesce(nullif(current_setting('app.tenant_id', true), ''), '${DEFAULT_TENANT}')
  as uuid)`;

/**
 * Creates the policy of a table that keeps the rows of tenants apart.
 *
 * @param {import('knex').Knex} knex
 * @param {string} table
 */
exports.createTenantPolicy = async function createTenantPolicy(knex, table) {
  await knex.raw(`
    create policy ${table}_tenant on ${table}
      using (tenant_id = ${SESSION_TENANT})
      with check (tenant_id = ${SESSION_TENANT})`);
};

/**
 * Has the policies bind the owner of a new table where an administrator has had them bind the
 * owner of the other tables.
 *
 * @param {import('knex').Knex} knex
 * @param {string} table
 */
exports.forceAsOthers = async function forceAsOthers(knex, table) {
  await knex.raw(`
    do $$ begin
      if (select relforcerowsecurity from pg_class
           where oid = 'mockups'::regclass) then
        alter table ${table} force row level security;
      end if;
    end $$`);
};
