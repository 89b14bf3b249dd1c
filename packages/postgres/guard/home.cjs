// @ts-check
'use strict';

// A home is the folder that one server lives in:
//
//   guard.json     the claim of the guard in charge; there from before the
//                  server starts until after it has stopped
//   password       of the superuser
//   data/          PostgreSQL's own data folder
//   postgres.log   what the server has written since it was last started

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { randomBytes } = require('node:crypto');
const { isAlive, readClaim, takeOver, writeClaim } = require('./claim.cjs');
const { Failure } = require('./failure.cjs');
const { stopServer } = require('./processes.cjs');

const THROW_AWAY_PREFIX = 'backstage-postgres-';

// As root the server runs as somebody else, who must get through to data/.
const HOME_MODE = process.getuid?.() === 0 ? 0o711 : 0o700;

/** @param {string} home */
const dataOf = home => path.join(home, 'data');

/** @param {string} home */
const logOf = home => path.join(home, 'postgres.log');

/**
 * @param {string} mark - of the guard that will be in charge
 * @returns {string} the new home
 */
function createThrowAway(mark) {
  const prefix = path.join(fs.realpathSync(os.tmpdir()), THROW_AWAY_PREFIX);
  const home = fs.mkdtempSync(prefix);
  fs.chmodSync(home, HOME_MODE);
  writeClaim(home, { mark, throwAway: true });
  return home;
}

/**
 * @param {string} directory
 * @param {string} mark - of the guard that will be in charge
 * @returns {Promise<string>} the home, made if it was not there
 */
async function claimPersistent(directory, mark) {
  const claim = { mark, throwAway: false };
  try {
    fs.mkdirSync(directory, { recursive: true, mode: HOME_MODE });
    const home = fs.realpathSync(directory);
    if (writeClaim(home, claim)) {
      return home;
    }
    const holder = readClaim(home);
    if (!holder && writeClaim(home, claim)) {
      return home;
    }
    if (holder && !isAlive(holder) && takeOver(home, holder, claim)) {
      await stopServerIn(home);
      return home;
    }
  } catch (error) {
    throw unusable(directory, error);
  }
  throw inUse(directory);
}

/**
 * @param {string} directory
 * @param {unknown} cause
 */
function unusable(directory, cause) {
  return new Failure(
    'DIRECTORY_UNUSABLE',
    `${directory} ${whatIsWrong(cause)}`,
  );
}

/** @param {unknown} cause */
function whatIsWrong(cause) {
  const { code, message } = /** @type {NodeJS.ErrnoException} */ (cause);
  switch (code) {
    case 'EEXIST':
    case 'ENOTDIR':
      return 'is not a folder';
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return `can't be written to by the user ${userName()} (${code})`;
    default:
      return `can't be used: ${message}`;
  }
}

function userName() {
  try {
    return os.userInfo().username;
  } catch {
    // A container may run with a user id that has no name.
    return process.getuid?.();
  }
}

/** @param {string} home */
function inUse(home) {
  const pid = serverPid(home) ?? readClaim(home)?.pid ?? 'unknown';
  return new Failure(
    'DIRECTORY_IN_USE',
    `${home} is in use by another running server (pid ${pid})`,
  );
}

/**
 * The process id that a server, running or crashed, has left in its data folder.
 *
 * @param {string} home
 */
function serverPid(home) {
  try {
    const file = path.join(dataOf(home), 'postmaster.pid');
    return Number.parseInt(fs.readFileSync(file, 'utf8'), 10) || undefined;
  } catch {
    return undefined;
  }
}

/** @param {string} home */
async function stopServerIn(home) {
  const pid = serverPid(home);
  if (pid) {
    await stopServer(pid, dataOf(home));
  }
}

/** @param {string} home */
async function removeHome(home) {
  await fs.promises.rm(home, { recursive: true, force: true, maxRetries: 5 });
}

/**
 * The password of the superuser, made up when the home is new.
 *
 * @param {string} home
 * @param {import('./osUser.cjs').OsUser} serverUser
 */
function passwordOf(home, serverUser) {
  const file = path.join(home, 'password');
  if (!fs.existsSync(dataOf(home))) {
    // What a start that was killed has left of it may be incomplete.
    fs.rmSync(file, { force: true });
    const password = randomBytes(24).toString('base64url');
    fs.writeFileSync(file, password, { mode: 0o600 });
    // initdb reads it, and runs as that user.
    fs.chownSync(file, serverUser.uid, serverUser.gid);
  } else if (!fs.existsSync(file)) {
    throw new Failure(
      'DIRECTORY_UNUSABLE',
      `${file} is missing, and nobody can log in without it: remove ${home} to begin with an empty database`,
    );
  }
  return { file, password: fs.readFileSync(file, 'utf8') };
}

module.exports = {
  THROW_AWAY_PREFIX,
  claimPersistent,
  createThrowAway,
  dataOf,
  inUse,
  logOf,
  passwordOf,
  removeHome,
  stopServerIn,
};
