// @ts-check
const { briefly } = require('./support/briefly');

/**
 * Says of a version what has changed in it.
 *
 * It runs while backends work, those of the version before it included, which name the
 * columns that they write. A column without a default is written to no row: ACCESS
 * EXCLUSIVE is held for a change of the system catalogs alone, and waited for no longer
 * than a second at a time. The bound is validated afterwards, with SHARE UPDATE EXCLUSIVE,
 * which keeps neither readers nor writers waiting.
 */
exports.config = { transaction: false };

const COLUMNS =
  'tenant_id, id, name, description, owner, created_at, updated_at, readers, writers';
const VERSION_COLUMNS =
  'tenant_id, mockup_id, id, version_tag, layout_data, created_by, created_at, restored_from';
const CHECK = 'mockup_versions_message_check';

/**
 * @param {import('knex').Knex} knex
 * @returns {Promise<void>}
 */
exports.up = async function up(knex) {
  await briefly(knex, async transaction => {
    for (const table of ['mockup_versions', 'mockup_trash_versions']) {
      await transaction.raw(
        `alter table ${table} add column if not exists message text`,
      );
    }
    await transaction.raw(`
      comment on column mockup_versions.message is
        'What has changed in the version, at most 1000 characters'`);
    await transaction.raw(`
      alter table mockup_versions drop constraint if exists ${CHECK}`);
    await transaction.raw(`
      alter table mockup_versions add constraint ${CHECK}
        check (char_length(message) <= 1000) not valid`);
    await replaceTrigger(transaction, `${VERSION_COLUMNS}, message`);
  });
  await knex.raw(`alter table mockup_versions validate constraint ${CHECK}`);
};

/**
 * The function of the trigger keeps its owner, with whose rights it acts. It takes no lock on
 * mockups: deletions that run use the one or the other.
 *
 * @param {import('knex').Knex} knex
 * @param {string} columns those of a version that go to the trash
 */
async function replaceTrigger(knex, columns) {
  const { rows } = await knex.raw(
    'select quote_ident(current_schema()) as schema',
  );
  await knex.raw(`
    create or replace function mockup_to_trash() returns trigger language plpgsql
      security definer set search_path = ${rows[0].schema}, pg_temp as $$
    begin
      insert into mockup_trash (${COLUMNS}, deleted_at, deleted_by)
      values (
        ${COLUMNS.split(', ')
          .map(column => `old.${column}`)
          .join(', ')},
        clock_timestamp() at time zone 'utc',
        nullif(current_setting('mockup.deleted_by', true), ''));
      insert into mockup_trash_versions (${columns})
      select ${columns} from mockup_versions
       where tenant_id = old.tenant_id and mockup_id = old.id;
      return old;
    end
    $$`);
}

/**
 * Forgets what has changed in versions, with the same lock.
 *
 * @param {import('knex').Knex} knex
 * @returns {Promise<void>}
 */
exports.down = async function down(knex) {
  await briefly(knex, async transaction => {
    await replaceTrigger(transaction, VERSION_COLUMNS);
    for (const table of ['mockup_versions', 'mockup_trash_versions']) {
      await transaction.raw(
        `alter table ${table} drop column if exists message`,
      );
    }
  });
};
