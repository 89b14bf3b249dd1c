// @ts-check
const { briefly } = require('./support/briefly');

/**
 * Says of a version from which one it was restored.
 *
 * It runs while backends work, those of the version before it included, which name the
 * columns that they write. A column without a default is written to no row: ACCESS
 * EXCLUSIVE is held for a change of the system catalogs alone, and waited for no longer
 * than a second at a time.
 */
exports.config = { transaction: false };

/**
 * There is no foreign key: the version that it names may be gone.
 *
 * @param {import('knex').Knex} knex
 * @returns {Promise<void>}
 */
exports.up = async function up(knex) {
  await briefly(knex, async transaction => {
    await transaction.raw(`
      alter table mockup_versions add column if not exists restored_from uuid`);
    await transaction.raw(`
      comment on column mockup_versions.restored_from is
        'The version of the same mockup whose layout this one took over, if it was made by restoring that. It may be gone'`);
    await transaction.raw(`
      comment on table mockup_versions is
        'Saved layouts of mockups. Of a row, only the tag is ever updated'`);
  });
};

/**
 * Forgets which versions were made by restoring another one, with the same lock.
 *
 * @param {import('knex').Knex} knex
 * @returns {Promise<void>}
 */
exports.down = async function down(knex) {
  await briefly(knex, async transaction => {
    await transaction.raw(`
      alter table mockup_versions drop column if exists restored_from`);
    await transaction.raw(`
      comment on table mockup_versions is
        'Saved layouts of mockups. Rows are never updated'`);
  });
};
