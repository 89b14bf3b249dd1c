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

/**
 * Puts a claim in the place of one whose guard is gone. Of several that try it at
 * once, at most one succeeds.
 *
 * @param {string} home
 * @param {Claim} stale
 * @param {{ mark: string, throwAway: boolean }} options
 * @returns {boolean} false when somebody else was faster
 */
function takeOver(home, stale, options) {
  const aside = path.join(home, `guard.json.${options.mark}.stale`);
  try {
    // Moved instead of removed, because only afterwards is it certain what it is.
    fs.renameSync(claimFile(home), aside);
  } catch {
    return false;
  }
  try {
    if (JSON.parse(fs.readFileSync(aside, 'utf8')).mark === stale.mark) {
      return writeClaim(home, options);
    }
    fs.linkSync(aside, claimFile(home));
    return false;
  } catch {
    // Whoever has claimed the home in the meantime finds it in use, by the
    // server's own lock.
    return false;
  } finally {
    fs.rmSync(aside, { force: true });
  }
}

/**
 * Gives a home free, unless somebody else has taken it over.
 *
 * @param {string} home
 * @param {string} mark - of the guard that claimed it
 */
function dropClaim(home, mark) {
  if (readClaim(home)?.mark === mark) {
    fs.rmSync(claimFile(home), { force: true });
  }
}

/** @param {Claim} claim */
function isAlive(claim) {
  return isRunning(claim.pid, claim.mark);
}

module.exports = { readClaim, writeClaim, takeOver, dropClaim, isAlive };
