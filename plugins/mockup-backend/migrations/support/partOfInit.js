// @ts-check

/**
 * Nothing: `20261120000000_init.js` creates what this migration added. It has its name in the
 * databases of f344899, the earliest that the plugin brings along, and Knex looks for its file.
 */
exports.up = async function up() {};

exports.down = async function down() {};
