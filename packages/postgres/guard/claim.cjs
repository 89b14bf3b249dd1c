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

// The lock of a take-over is held for less than a millisecond. One this old was
// left by a process that was killed in it.
const ABANDONED_MS = 10_000;

const NO_THROW = /** @type {const} */ ({ throwIfNoEntry: false });

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
 * Writes a claim under a name of its own, from where it can be put in its place
 * complete.
 *
 * @param {string} home
 * @param {{ mark: string, throwAway: boolean }} options
 */
function writeDraft(home, options) {
  /** @type {Claim} */
  const claim = { pid: process.pid, ...options };
  const draft = path.join(home, `guard.json.${claim.mark}`);
  fs.writeFileSync(draft, JSON.stringify(claim), { mode: 0o600 });
  return draft;
}

/**
 * @param {() => void} create - makes a file that must not exist yet
 * @returns {boolean} false when it exists
 */
function createdExclusively(create) {
  try {
    create();
    return true;
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'EEXIST') {
      return false;
    }
    throw error;
  }
}

/**
 * @param {string} home
 * @param {{ mark: string, throwAway: boolean }} options
 * @returns {boolean} false when the home is claimed already
 */
function writeClaim(home, options) {
  const draft = writeDraft(home, options);
  try {
    // Unlike a file written with the flag `wx`, a link appears with its content.
    return createdExclusively(() => fs.linkSync(draft, claimFile(home)));
  } finally {
    fs.rmSync(draft);
  }
}

/** @param {string} lock */
function removeAbandoned(lock) {
  const age = Date.now() - (fs.statSync(lock, NO_THROW)?.mtimeMs ?? Date.now());
  if (age > ABANDONED_MS) {
    fs.rmSync(lock, { force: true });
  }
}

/**
 * Puts a claim in the place of one whose guard is gone. Of several that try it at
 * once, at most one succeeds: a lock named after the stale claim lets one at a
 * time look whether that claim still stands, and replace it. There is a claim at
 * any time, so that nobody finds the home free meanwhile.
 *
 * @param {string} home
 * @param {Claim} stale
 * @param {{ mark: string, throwAway: boolean }} options
 * @returns {boolean} false when somebody else was faster
 */
function takeOver(home, stale, options) {
  const lock = path.join(home, `guard.json.${stale.mark}.lock`);
  removeAbandoned(lock);
  if (!createdExclusively(() => fs.writeFileSync(lock, '', { flag: 'wx' }))) {
    return false;
  }
  try {
    if (readClaim(home)?.mark !== stale.mark) {
      return false;
    }
    fs.renameSync(writeDraft(home, options), claimFile(home));
    return true;
  } finally {
    fs.rmSync(lock, { force: true });
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
