// @ts-check
const { briefly } = require('./support/briefly');

/**
 * Says of a mockup with which groups it is shared.
 *
 * Two arrays on the row of the mockup, and no table of their own: whoever changes a mockup
 * locks its row, and PostgreSQL then evaluates the condition of the write on the row as it
 * was committed last. So nobody writes on account of a share that was taken back meanwhile.
 *
 * It runs while backends work, those of the version before it included, which name the
 * columns that they write. A column with a constant default is written to no row: ACCESS
 * EXCLUSIVE is held for a change of the system catalogs alone, and waited for no longer than
 * a second at a time. What the version before restores from the trash is shared with nobody.
 */
exports.config = { transaction: false };

const COLUMNS =
  'tenant_id, id, name, description, owner, created_at, updated_at';
const VERSION_COLUMNS =
  'tenant_id, mockup_id, id, version_tag, layout_data, created_by, created_at, restored_from';

/**
 * @param {import('knex').Knex} knex
 * @returns {Promise<void>}
 */
exports.up = async function up(knex) {
  await briefly(knex, async transaction => {
    for (const table of ['mockups', 'mockup_trash']) {
      await transaction.raw(`
        alter table ${table}
          add column if not exists readers text[] not null default '{}',
          add column if not exists writers text[] not null default '{}'`);
    }
    await transaction.raw(`
      comment on column mockups.readers is
        'Groups that it is shared with to be read, as group:<namespace>/<name>. Those among the writers are not repeated'`);
    await transaction.raw(`
      comment on column mockups.writers is
        'Groups that it is shared with to be read and changed, as group:<namespace>/<name>'`);
    await replaceTrigger(transaction, `${COLUMNS}, readers, writers`);
  });
};

/**
 * The function of the trigger keeps its owner, with whose rights it acts. It takes no lock on
 * mockups: deletions that run use the one or the other.
 *
 * @param {import('knex').Knex} knex
 * @param {string} columns those of a mockup that go to the trash
 */
async function replaceTrigger(knex, columns) {
  const { rows } = await knex.raw(
    'select quote_ident(current_schema()) as schema',
  );
  await knex.raw(`
    create or replace function mockup_to_trash() returns trigger language plpgsql
      security definer set search_path = ${rows[0].schema}, pg_temp as $$
    begin
      insert into mockup_trash (${columns}, deleted_at, deleted_by)
      values (
        ${columns
          .split(', ')
          .map(column => `old.${column}`)
          .join(', ')},
        clock_timestamp() at time zone 'utc',
        nullif(current_setting('mockup.deleted_by', true), ''));
      insert into mockup_trash_versions (${VERSION_COLUMNS})
      select ${VERSION_COLUMNS} from mockup_versions
       where tenant_id = old.tenant_id and mockup_id = old.id;
      return old;
    end
    $$`);
}

/**
 * Forgets with whom mockups are shared, with the same lock.
 *
 * @param {import('knex').Knex} knex
 * @returns {Promise<void>}
 */
exports.down = async function down(knex) {
  await briefly(knex, async transaction => {
    await replaceTrigger(transaction, COLUMNS);
    for (const table of ['mockups', 'mockup_trash']) {
      await transaction.raw(`
        alter table ${table}
          drop column if exists readers,
          drop column if exists writers`);
    }
  });
};
