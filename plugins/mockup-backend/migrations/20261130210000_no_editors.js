// @ts-check
const { briefly } = require('./support/briefly');

/**
 * Drops the table of who has an editor open, which an earlier version has made.
 *
 * It takes ACCESS EXCLUSIVE on mockups too, to which the table refers, for a change of the system
 * catalogs alone, and waits no longer than a second at a time, so that readers do not pile up
 * behind it.
 */
exports.config = { transaction: false };

/**
 * @param {import('knex').Knex} knex
 * @returns {Promise<void>}
 */
exports.up = async function up(knex) {
  await briefly(knex, transaction =>
    transaction.raw('drop table if exists mockup_editors'),
  );
};

/** It had no rows to keep. */
exports.down = async function down() {};
