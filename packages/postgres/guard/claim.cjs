// @ts-check
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { isRunning } = require('./processes.cjs');

/**
 * Says which guard is in charge of a home (see home.cjs).
 *
 * @typedef {object} Claim
 * @property {number} pid
 * @property {string} mark - in the guard's command line, unique to it
 * @property {boolean} throwAway - the home goes when its server stops
 */

/** @param {string} home */
const claimFile = home => path.join(home, 'guard.json');

/**
 * @param {string} home
 * @returns {Claim | undefined}
 */
function readClaim(home) {
  try {
    return JSON.parse(fs.readFileSync(claimFile(home), 'utf8'));
  } catch {
    return undefined;
  }
}

/**
 * @param {string} home
 * @param {{ mark: string, throwAway: boolean }} options
 * @returns {boolean} false when the home is claimed already
 */
function writeClaim(home, options) {
  /** @type {Claim} */
  const claim = { pid: process.pid, ...options };
  const draft = path.join(home, `guard.json.${claim.mark}`);
  fs.writeFileSync(draft, JSON.stringify(claim), { mode: 0o600 });
  try {
    // Unlike a file written with the flag `wx`, a link appears with its content.
    fs.linkSync(draft, claimFile(home));
    return true;
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'EEXIST') {
      return false;
    }
    throw error;
  } finally {
    fs.rmSync(draft);
  }
}

/** @param {string} home */
function dropClaim(home) {
  fs.rmSync(claimFile(home), { force: true });
}

/** @param {Claim} claim */
function isAlive(claim) {
  return isRunning(claim.pid, claim.mark);
}

module.exports = { readClaim, writeClaim, dropClaim, isAlive };
