// @ts-check
'use strict';

const { execFileSync, spawn, spawnSync } = require('node:child_process');
const fs = require('node:fs');

/**
 * The operating system's user that PostgreSQL runs as.
 *
 * @typedef {{ uid: number, gid: number }} OsUser
 */

/**
 * A way to run a program as that user.
 *
 * @typedef {object} Launcher
 * @property {string[]} prefix - what to put before the program
 * @property {import('node:child_process').SpawnOptions} options
 */

// The parent-death signal: the kernel ends the server when the supervisor is killed with
// SIGKILL. Without it, the supervisor's parent does.
const DIE_WITH_SUPERVISOR = ['--pdeathsig', 'INT'];

// Of root's capabilities, keeps that to enter every folder and read every file. A clone made
// by root is usually below /root, where another user cannot reach the binaries and the data.
// The secure bit makes access(2), by which PostgreSQL finds its binaries, respect the
// capability.
const REACH_FILES = [
  '--clear-groups',
  '--inh-caps=-all,+dac_read_search',
  '--ambient-caps=-all,+dac_read_search',
  '--bounding-set=-all,+dac_read_search',
  '--securebits=+no_setuid_fixup',
];

// Only Windows lacks these functions, for which there are no binaries either.
const SELF = { uid: process.getuid?.() ?? -1, gid: process.getgid?.() ?? -1 };
const IS_ROOT = SELF.uid === 0;

/**
 * PostgreSQL refuses to run as root. The server runs as the owner of existing data, so that
 * root can start a server that an ordinary user has created.
 *
 * @param {string} data - the data folder, which may not be there yet
 * @returns {OsUser}
 */
function serverUserOf(data) {
  if (!IS_ROOT) {
    return SELF;
  }
  const owner = fs.statSync(data, { throwIfNoEntry: false });
  if (owner && owner.uid !== 0) {
    return { uid: owner.uid, gid: owner.gid };
  }
  const [uid, gid] = ['-u', '-g'].map(option =>
    Number(execFileSync('id', [option, 'nobody'], { encoding: 'utf8' })),
  );
  return { uid, gid };
}

/**
 * Finds the best launcher that works on this machine.
 *
 * @param {OsUser} user
 * @param {string} postgres - the server's binary
 * @returns {Launcher}
 */
function chooseLauncher({ uid, gid }, postgres) {
  const asUser = IS_ROOT
    ? [`--reuid=${uid}`, `--regid=${gid}`, ...REACH_FILES]
    : [];
  const launchers = [
    {
      prefix: ['setpriv', ...DIE_WITH_SUPERVISOR, ...asUser, '--'],
      options: {},
    },
    { prefix: [], options: IS_ROOT ? { uid, gid } : {} },
  ];
  let reason = '';
  for (const launcher of launchers) {
    const { command, args, options } = commandOf(launcher, postgres, ['-V']);
    const attempt = spawnSync(command, args, { ...options, encoding: 'utf8' });
    if (attempt.status === 0) {
      return launcher;
    }
    reason = attempt.error?.message ?? attempt.stderr.trim();
  }
  const advice = IS_ROOT
    ? '; install setpriv (util-linux), or keep the clone where every user may enter'
    : '';
  throw new Error(
    `PostgreSQL can't be run as the user with id ${uid}: ${reason}${advice}`,
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

module.exports = { chooseLauncher, launch, serverUserOf };
