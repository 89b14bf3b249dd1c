// @ts-check
const { briefly } = require('./support/briefly');

/**
 * Says which pages mockups may begin with.
 *
 * It runs while backends work. It takes ACCESS EXCLUSIVE on mockup_pages for a change of the system
 * catalogs alone: a constant default rewrites no row. It waits no longer than a second at a time, so
 * that readers do not pile up behind it.
 */
exports.config = { transaction: false };

/**
 * @param {import('knex').Knex} knex
 * @returns {Promise<void>}
 */
exports.up = async function up(knex) {
  await briefly(knex, async transaction => {
    await transaction.raw(
      'alter table mockup_pages add column if not exists is_template boolean not null default false',
    );
    await transaction.raw(
      "comment on column mockup_pages.is_template is 'Whether mockups may begin with its layout'",
    );
  });
};

/**
 * Forgets which pages are templates, with the same lock.
 *
 * @param {import('knex').Knex} knex
 * @returns {Promise<void>}
 */
exports.down = async function down(knex) {
  await briefly(knex, transaction =>
    transaction.raw(
      'alter table mockup_pages drop column if exists is_template',
    ),
  );
};
