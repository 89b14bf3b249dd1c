// @ts-check
const { setTimeout: delay } = require('node:timers/promises');

const LOCK_NOT_AVAILABLE = '55P03';
const ATTEMPTS = 60;

/**
 * Runs a transaction that needs a lock which requests conflict with. It waits for one
 * no longer than a second at a time, because requests wait behind it.
 *
 * @param {import('knex').Knex} knex
 * @param {(transaction: import('knex').Knex.Transaction) => Promise<unknown>} work
 */
exports.briefly = async function briefly(knex, work) {
  for (let attempt = 1; ; attempt++) {
    try {
      await knex.transaction(async transaction => {
        await transaction.raw("set local lock_timeout = '1s'");
        await work(transaction);
      });
      return;
    } catch (error) {
      const code = /** @type {{ code?: string }} */ (error).code;
      if (code !== LOCK_NOT_AVAILABLE || attempt === ATTEMPTS) {
        throw error;
      }
      await delay(500);
    }
  }
};
