// @ts-check
const { briefly } = require('./support/briefly');
const { MOCKUP_COLUMNS, putToTrash } = require('./support/toTrash');

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
    await putToTrash(transaction, {
      mockup: `${MOCKUP_COLUMNS}, readers, writers`,
    });
  });
};

/**
 * Forgets with whom mockups are shared, with the same lock.
 *
 * @param {import('knex').Knex} knex
 * @returns {Promise<void>}
 */
exports.down = async function down(knex) {
  await briefly(knex, async transaction => {
    await putToTrash(transaction, {});
    for (const table of ['mockups', 'mockup_trash']) {
      await transaction.raw(`
        alter table ${table}
          drop column if exists readers,
          drop column if exists writers`);
    }
  });
};
