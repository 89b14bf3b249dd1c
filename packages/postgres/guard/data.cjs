// @ts-check
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { once } = require('node:events');
const { text } = require('node:stream/consumers');
const { Failure } = require('./failure.cjs');
const { dataOf } = require('./home.cjs');
const { launch } = require('./osUser.cjs');

const SUPERUSER = 'postgres';

// Sorting by code point is the same everywhere, and lower(), ILIKE and pg_trgm
// still know letters beyond ASCII.
const LOCALE = [
  '--encoding=UTF8',
  '--locale=C',
  `--lc-ctype=${process.platform === 'darwin' ? 'en_US.UTF-8' : 'C.UTF-8'}`,
];
const BUILTIN_LOCALE = [
  '--locale-provider=builtin',
  '--builtin-locale=C.UTF-8',
];

/** @param {import('./server.cjs').Setup} setup */
function checkMajorVersion({ home, request }) {
  const file = path.join(dataOf(home), 'PG_VERSION');
  const found = Number(fs.readFileSync(file, 'utf8'));
  if (found !== request.version) {
    throw new Failure(
      'OTHER_MAJOR_VERSION',
      `${home} holds data of PostgreSQL ${found}, but version ${request.version} was to be started: ` +
        `start version ${found}, or remove the folder to begin with an empty database`,
    );
  }
}

/**
 * @param {import('./server.cjs').Setup} setup
 * @param {string} directory
 * @param {string} passwordFile
 */
async function initdb({ launcher, request, signal }, directory, passwordFile) {
  const program = path.join(request.binaries, 'initdb');
  const args = [
    `--pgdata=${directory}`,
    `--username=${SUPERUSER}`,
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    ...LOCALE,
    ...(request.version >= 17 ? BUILTIN_LOCALE : []),
    ...(request.dataDirectory ? [] : ['--no-sync']),
  ];
  const child = launch(launcher, program, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    signal,
  });
  const [[status], stderr] = await Promise.all([
    once(child, 'close'),
    text(/** @type {import('node:stream').Readable} */ (child.stderr)),
  ]);
  if (status !== 0) {
    throw new Failure(
      'FAILED',
      `initdb failed: ${stderr.trim().replace(/\s*\n\s*/g, '; ')}`,
    );
  }
}

/**
 * Sees to it that there is a data folder of the right version.
 *
 * @param {import('./server.cjs').Setup} setup
 * @param {import('./osUser.cjs').OsUser} serverUser
 * @param {string} passwordFile
 */
async function prepareData(setup, serverUser, passwordFile) {
  const data = dataOf(setup.home);
  if (fs.existsSync(data)) {
    checkMajorVersion(setup);
    return;
  }
  // Under its own name only when complete: an initdb that was killed leaves a
  // folder that looks like one with data.
  const draft = `${data}.new`;
  fs.rmSync(draft, { recursive: true, force: true });
  fs.mkdirSync(draft, { mode: 0o700 });
  fs.chownSync(draft, serverUser.uid, serverUser.gid);
  await initdb(setup, draft, passwordFile);
  fs.renameSync(draft, data);
}

module.exports = { SUPERUSER, prepareData };
