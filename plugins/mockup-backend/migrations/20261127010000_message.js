// @ts-check
const { briefly } = require('./support/briefly');
const { putToTrash, VERSION_COLUMNS } = require('./support/toTrash');

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
    await putToTrash(transaction, `${VERSION_COLUMNS}, message`);
  });
  await knex.raw(`alter table mockup_versions validate constraint ${CHECK}`);
};

/**
 * Forgets what has changed in versions, with the same lock.
 *
 * @param {import('knex').Knex} knex
 * @returns {Promise<void>}
 */
exports.down = async function down(knex) {
  await briefly(knex, async transaction => {
    await putToTrash(transaction);
    for (const table of ['mockup_versions', 'mockup_trash_versions']) {
      await transaction.raw(
        `alter table ${table} drop column if exists message`,
      );
    }
  });
};
