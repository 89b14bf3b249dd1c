// @ts-check
'use strict';

const fs = require('node:fs');
const { execFileSync, spawn, spawnSync } = require('node:child_process');
const { Failure } = require('./failure.cjs');
const { dataOf } = require('./home.cjs');

/**
 * The operating system's user that PostgreSQL runs as.
 *
 * @typedef {object} OsUser
 * @property {number} uid
 * @property {number} gid
 */

/**
 * A way to run a program as that user.
 *
 * @typedef {object} Launcher
 * @property {string[]} prefix - what to put before the program
 * @property {import('node:child_process').SpawnOptions} options
 */

// The kernel then ends the server when the guard is killed with SIGKILL. Where
// there is no such thing, the guard's parent or the next start does it.
const DIE_WITH_GUARD = ['--pdeathsig', 'INT'];

// Keeps, of all that root may do, the right to enter any folder and to read, but
// not to write. A clone made by root is usually below /root, where nobody else
// gets through to the binaries and to the data, which is the server's own. The
// secure bit makes access(2), with which PostgreSQL looks for its own binaries,
// honour that right.
const REACH_FILES = [
  '--clear-groups',
  '--inh-caps=-all,+dac_read_search',
  '--ambient-caps=-all,+dac_read_search',
  '--bounding-set=-all,+dac_read_search',
  '--securebits=+no_setuid_fixup',
];

/** @returns {OsUser} of this process */
function ownUser() {
  // Only Windows lacks these two, for which there are no binaries either.
  return { uid: process.getuid?.() ?? -1, gid: process.getgid?.() ?? -1 };
}

/** @returns {OsUser} */
function nobody() {
  const [uid, gid] = ['-u', '-g'].map(option =>
    Number(execFileSync('id', [option, 'nobody'], { encoding: 'utf8' })),
  );
  return { uid, gid };
}

/**
 * @param {string} home
 * @returns {OsUser}
 */
function serverUserOf(home) {
  const self = ownUser();
  if (self.uid !== 0) {
    return self;
  }
  // PostgreSQL refuses to run as root. Existing data decides who runs it, so
  // that root can start what an ordinary user has made.
  const data = dataOf(home);
  const owner = fs.existsSync(data) ? fs.statSync(data) : undefined;
  return owner && owner.uid !== 0
    ? { uid: owner.uid, gid: owner.gid }
    : nobody();
}

/**
 * @param {OsUser} user
 * @returns {Launcher[]} the best first
 */
function launchers(user) {
  if (ownUser().uid !== 0) {
    return [
      { prefix: ['setpriv', ...DIE_WITH_GUARD, '--'], options: {} },
      { prefix: [], options: {} },
    ];
  }
  const ids = [`--reuid=${user.uid}`, `--regid=${user.gid}`];
  return [
    {
      prefix: ['setpriv', ...DIE_WITH_GUARD, ...ids, ...REACH_FILES, '--'],
      options: {},
    },
    { prefix: [], options: { uid: user.uid, gid: user.gid } },
  ];
}

/**
 * @param {Launcher} launcher
 * @param {string} program
 * @param {string[]} args
 */
function commandOf({ prefix, options }, program, args) {
  const [command, ...rest] = [...prefix, program, ...args];
  return {
    command,
    args: rest,
    options: {
      ...options,
      cwd: '/',
      // PGPORT, PGDATA, PGOPTIONS and the like would interfere.
      env: { PATH: process.env.PATH, LC_ALL: 'C' },
    },
  };
}

/**
 * The best way that works on this machine to run PostgreSQL.
 *
 * @param {OsUser} user
 * @param {string} postgres - the server's binary
 * @returns {Launcher}
 */
function chooseLauncher(user, postgres) {
  let reason = '';
  for (const launcher of launchers(user)) {
    const { command, args, options } = commandOf(launcher, postgres, ['-V']);
    const attempt = spawnSync(command, args, { ...options, encoding: 'utf8' });
    if (attempt.status === 0) {
      return launcher;
    }
    reason = attempt.error?.message ?? attempt.stderr.trim();
  }
  const advice =
    ownUser().uid === 0
      ? '; install setpriv (util-linux), or keep the clone where every user may enter'
      : '';
  throw new Failure(
    'CANNOT_RUN',
    `PostgreSQL can't be run as the user with id ${user.uid}: ${reason}${advice}`,
  );
}

/**
 * @param {Launcher} launcher
 * @param {string} program
 * @param {string[]} programArgs
 * @param {import('node:child_process').SpawnOptions} extra
 */
function launch(launcher, program, programArgs, extra) {
  const { command, args, options } = commandOf(launcher, program, programArgs);
  return spawn(command, args, { ...options, ...extra });
}

module.exports = { chooseLauncher, launch, serverUserOf };
