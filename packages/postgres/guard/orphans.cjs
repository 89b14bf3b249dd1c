// @ts-check
'use strict';

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { dropClaim, isAlive, readClaim, takeOver } = require('./claim.cjs');
const { THROW_AWAY_PREFIX, removeHome, stopServerIn } = require('./home.cjs');

// A throw-away home is made and claimed within a millisecond. One that is still
// unclaimed after this long lost its maker in between.
const UNCLAIMED_MS = 60_000;

/**
 * Does what the guard in charge of a home would have done, had it not been
 * killed: stops the server, and removes the home if it was to be thrown away.
 *
 * @param {string} home
 * @param {string} mark - of this process
 */
async function reclaim(home, mark) {
  const claim = readClaim(home);
  if (!claim || isAlive(claim)) {
    return;
  }
  if (!takeOver(home, claim, { mark, throwAway: claim.throwAway })) {
    return;
  }
  await stopServerIn(home);
  if (claim.throwAway) {
    await removeHome(home);
  } else {
    dropClaim(home, mark);
  }
}

/**
 * @param {string} home
 * @param {string} mark - of this process
 */
async function sweepHome(home, mark) {
  const { uid, mtimeMs } = fs.lstatSync(home);
  // Another user's folder is none of our business, and not to be trusted.
  if (uid !== process.getuid?.()) {
    return;
  }
  await reclaim(home, mark);
  if (!readClaim(home) && Date.now() - mtimeMs > UNCLAIMED_MS) {
    await removeHome(home);
  }
}

/**
 * Reclaims every throw-away home whose guard was killed.
 *
 * @param {string} mark - of this process
 */
async function sweep(mark) {
  const folder = os.tmpdir();
  const names = fs
    .readdirSync(folder)
    .filter(name => name.startsWith(THROW_AWAY_PREFIX));
  for (const name of names) {
    // Most failures mean that somebody else sweeps the same home right now.
    // What is still there the next time will be tried again.
    await sweepHome(path.join(folder, name), mark).catch(() => {});
  }
}

module.exports = { reclaim, sweep };
