// @ts-check
'use strict';

// Runs one PostgreSQL server for the process that forked it, and stops the server when
// that process asks for it, ends, or is killed. Plain JavaScript, so that it needs no
// transpiler to start; in a session of its own, so that a Ctrl-C in the terminal reaches
// the parent and not the server.
//
//   supervisor.cjs                   receives its request as a message of the parent
//   supervisor.cjs reclaim <home>    stops the server of a killed supervisor
//
// A home is the folder of one server:
//
//   data/          PostgreSQL's own data folder. Its postmaster.pid is the lock: PostgreSQL
//                  starts no second server there
//   password       of the superuser
//   postgres.log   the server's log since its last start
//
// The command line of the server names its supervisor (`-c supervisor.pid=…`). A server
// whose supervisor is gone is an orphan, which any other supervisor may stop.

const { randomBytes } = require('node:crypto');
const { once } = require('node:events');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { text } = require('node:stream/consumers');
const { setTimeout: delay } = require('node:timers/promises');
const {
  Failure,
  chooseLauncher,
  launch,
  serverUserOf,
} = require('./launcher.cjs');
const {
  POLL_MS,
  commandLine,
  isRunning,
  stopServer,
} = require('./processes.cjs');

/** @typedef {import('../src/supervisorProcess').StartRequest} StartRequest */
/** @typedef {import('../src/supervisorProcess').SupervisorReply} SupervisorReply */

const HOST = '127.0.0.1';
const SUPERUSER = 'postgres';
const PORT_ATTEMPTS = 10;

// A throw-away home is named after its supervisor, too.
const THROW_AWAY = /^embedded-postgres-(\d+)-/;

// As root the server runs as another user, who must be able to reach data/.
const HOME_MODE = process.getuid?.() === 0 ? 0o711 : 0o700;

// Sorts by code point on every platform, while lower(), ILIKE and pg_trgm know letters
// beyond ASCII.
const LOCALE = [
  '--encoding=UTF8',
  '--locale=C',
  `--lc-ctype=${process.platform === 'darwin' ? 'en_US.UTF-8' : 'C.UTF-8'}`,
];
const BUILTIN_LOCALE = [
  '--locale-provider=builtin',
  '--builtin-locale=C.UTF-8',
];

const SETTINGS = {
  listen_addresses: HOST,
  // TCP only: the path of a socket in a deep folder exceeds its limit.
  unix_socket_directories: '',
  max_connections: '300',
  timezone: 'UTC',
  log_timezone: 'UTC',
  'supervisor.pid': String(process.pid),
};

// Throw-away data needs no protection against a power failure.
const THROW_AWAY_SETTINGS = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
};

const stopping = new AbortController();

/** @param {StartRequest} request */
async function supervise(request) {
  await sweep();
  const home = request.dataDirectory
    ? openHome(request.dataDirectory)
    : createThrowAway();
  try {
    await stopOrphan(home);
    const { pid, port, exited, password } = await start(request, home);
    const connection = { host: HOST, port, user: SUPERUSER, password };
    await reply({ type: 'ready', connection, pid, dataDirectory: home });
    try {
      if (!stopping.signal.aborted) {
        await Promise.race([once(stopping.signal, 'abort'), exited]);
      }
    } finally {
      await stopServer(pid, dataOf(home));
    }
  } finally {
    if (!request.dataDirectory) {
      await removeHome(home);
    }
  }
}

/**
 * @param {StartRequest} request
 * @param {string} home
 */
async function start(request, home) {
  removeDrafts(home);
  const user = serverUserOf(dataOf(home));
  const launcher = chooseLauncher(
    user,
    path.join(request.binaries, 'postgres'),
  );
  if (fs.existsSync(dataOf(home))) {
    checkMajorVersion(home, request);
  } else {
    await initialize(request, home, { user, launcher });
  }
  const passwordFile = path.join(home, 'password');
  if (!fs.existsSync(passwordFile)) {
    throw new Failure(
      'DIRECTORY_UNUSABLE',
      `${passwordFile} is missing, without which no login is possible: remove ${home} to begin with an empty database`,
    );
  }
  const password = fs.readFileSync(passwordFile, 'utf8');
  for (let attempt = 1; ; attempt++) {
    try {
      const port = request.port ?? (await freePort());
      return { password, ...(await startOn(port, request, home, launcher)) };
    } catch (error) {
      // Between finding a port free and using it, another process may take it.
      const lostRace =
        request.port === undefined &&
        error instanceof Failure &&
        error.code === 'PORT_TAKEN';
      if (!lostRace || attempt === PORT_ATTEMPTS) {
        throw error;
      }
    }
  }
}

/**
 * @param {number} port
 * @param {StartRequest} request
 * @param {string} home
 * @param {import('./launcher.cjs').Launcher} launcher
 */
async function startOn(port, request, home, launcher) {
  // Each start writes a separate log: of several starts in one folder, one would truncate
  // the line that tells another why its server ended.
  const draftLog = path.join(home, `draft-${process.pid}.log`);
  const log = fs.openSync(draftLog, 'w', 0o600);
  const settings = {
    ...SETTINGS,
    ...(request.dataDirectory ? {} : THROW_AWAY_SETTINGS),
    ...request.settings,
  };
  const server = launch(
    launcher,
    path.join(request.binaries, 'postgres'),
    [
      ...['-D', dataOf(home), '-p', String(port)],
      ...Object.entries(settings).flatMap(([k, v]) => ['-c', `${k}=${v}`]),
    ],
    { stdio: ['ignore', log, log] },
  );
  fs.closeSync(log);
  const pid = /** @type {number} */ (server.pid);
  const exited = once(server, 'exit');
  try {
    while (!isReady(home, pid)) {
      if (server.exitCode !== null || server.signalCode !== null) {
        throw failureOf(home, port, fs.readFileSync(draftLog, 'utf8'));
      }
      await delay(POLL_MS, undefined, { signal: stopping.signal });
    }
  } catch (error) {
    // By its pid: its postmaster.pid may not exist yet.
    await stopServer(pid, dataOf(home));
    if (error instanceof Failure && error.code === 'DIRECTORY_IN_USE') {
      // postgres.log is the log of the server that runs here.
      fs.rmSync(draftLog);
    } else {
      fs.renameSync(draftLog, logOf(home));
    }
    throw error;
  }
  fs.renameSync(draftLog, logOf(home));
  return { pid, port, exited };
}

/**
 * Creates the data folder under a temporary name, and renames it when it is complete: a
 * killed initdb leaves a folder that looks like a complete one. Of several concurrent
 * starts, one rename succeeds, and the password of that start counts.
 *
 * @param {StartRequest} request
 * @param {string} home
 * @param {{ user: import('./launcher.cjs').OsUser, launcher: import('./launcher.cjs').Launcher }} as
 */
async function initialize(request, home, { user, launcher }) {
  const draft = path.join(home, `draft-${process.pid}`);
  const draftPassword = `${draft}.password`;
  fs.mkdirSync(draft, { mode: 0o700 });
  const password = randomBytes(24).toString('base64url');
  fs.writeFileSync(draftPassword, password, { mode: 0o600 });
  fs.chownSync(draft, user.uid, user.gid);
  fs.chownSync(draftPassword, user.uid, user.gid);
  const initdb = launch(
    launcher,
    path.join(request.binaries, 'initdb'),
    [
      `--pgdata=${draft}`,
      `--username=${SUPERUSER}`,
      `--pwfile=${draftPassword}`,
      '--auth=scram-sha-256',
      ...LOCALE,
      ...(request.version >= 17 ? BUILTIN_LOCALE : []),
      ...(request.dataDirectory ? [] : ['--no-sync']),
    ],
    { stdio: ['ignore', 'ignore', 'pipe'], signal: stopping.signal },
  );
  const [[status], stderr] = await Promise.all([
    once(initdb, 'close'),
    text(/** @type {import('node:stream').Readable} */ (initdb.stderr)),
  ]);
  if (status !== 0) {
    throw new Failure(
      'FAILED',
      `initdb failed: ${stderr.trim().replace(/\s*\n\s*/g, '; ')}`,
    );
  }
  try {
    fs.renameSync(draft, dataOf(home));
  } catch (error) {
    if (!fs.existsSync(dataOf(home))) {
      throw error;
    }
    fs.rmSync(draft, { recursive: true });
    fs.rmSync(draftPassword);
    throw inUse(home);
  }
  fs.renameSync(draftPassword, path.join(home, 'password'));
}

/**
 * Removes the files that killed starts have left behind.
 *
 * @param {string} home
 */
function removeDrafts(home) {
  for (const name of fs.readdirSync(home)) {
    const [, pid] = /^draft-(\d+)/.exec(name) ?? [];
    if (pid && !isSupervisor(Number(pid))) {
      fs.rmSync(path.join(home, name), { recursive: true, force: true });
    }
  }
}

function createThrowAway() {
  const name = `embedded-postgres-${process.pid}-`;
  const home = fs.mkdtempSync(path.join(fs.realpathSync(os.tmpdir()), name));
  fs.chmodSync(home, HOME_MODE);
  return home;
}

/**
 * @param {string} directory
 * @returns {string} the home, made if it was not there
 */
function openHome(directory) {
  try {
    fs.mkdirSync(directory, { recursive: true, mode: HOME_MODE });
    const home = fs.realpathSync(directory);
    // By writing: for root, access(2) also allows writes to a read-only file system.
    const probe = path.join(home, `draft-${process.pid}.probe`);
    fs.writeFileSync(probe, '');
    fs.rmSync(probe);
    return home;
  } catch (error) {
    const { message } = /** @type {NodeJS.ErrnoException} */ (error);
    throw new Failure(
      'DIRECTORY_UNUSABLE',
      `${directory} can't be used: ${message}`,
    );
  }
}

/** @param {string} home */
function dataOf(home) {
  return path.join(home, 'data');
}

/** @param {string} home */
function logOf(home) {
  return path.join(home, 'postgres.log');
}

/** @param {string} home */
async function removeHome(home) {
  await fs.promises.rm(home, { recursive: true, force: true, maxRetries: 5 });
}

/**
 * @param {string} home
 * @param {StartRequest} request
 */
function checkMajorVersion(home, { version }) {
  const file = path.join(dataOf(home), 'PG_VERSION');
  const found = Number(fs.readFileSync(file, 'utf8'));
  if (found !== version) {
    throw new Failure(
      'OTHER_MAJOR_VERSION',
      `${home} holds data of PostgreSQL ${found}, but version ${version} was to be started: ` +
        `start version ${found}, or remove the folder to begin with an empty database`,
    );
  }
}

/**
 * The lines of postmaster.pid, of a server that runs or has crashed.
 *
 * @param {string} home
 */
function postmasterFile(home) {
  try {
    const file = path.join(dataOf(home), 'postmaster.pid');
    return fs.readFileSync(file, 'utf8').split('\n');
  } catch {
    return [];
  }
}

/**
 * Whether the server says in its own file that it accepts connections, which is
 * what `pg_ctl --wait` looks at too.
 *
 * @param {string} home
 * @param {number} pid
 */
function isReady(home, pid) {
  const lines = postmasterFile(home);
  // The file of a crashed server may still be there.
  return Number(lines[0]) === pid && lines[7]?.trim() === 'ready';
}

/** @param {string} home */
function inUse(home) {
  return new Failure(
    'DIRECTORY_IN_USE',
    `${home} is in use by another running server (pid ${
      postmasterFile(home)[0] ?? 'unknown'
    })`,
  );
}

/**
 * @param {string} home
 * @param {number} port
 * @param {string} log
 */
function failureOf(home, port, log) {
  if (log.includes('Address already in use')) {
    return new Failure('PORT_TAKEN', `Port ${port} on ${HOST} is taken`);
  }
  if (/lock file "postmaster.pid" already exists/.test(log)) {
    return inUse(home);
  }
  // Of several that start at once, one finds the file empty, or gone when it looks into it, or
  // replaced when it removes what a killed server left; or the memory of a server that ends.
  if (/lock file "postmaster.pid"|pre-existing shared memory block/.test(log)) {
    return new Failure(
      'DIRECTORY_IN_USE',
      `Another server is starting in ${home}, or was killed while it did: if none runs there, remove ${dataOf(
        home,
      )}/postmaster.pid`,
    );
  }
  const lines = log.match(/(FATAL|ERROR|LOG: +could not).*/g) ?? [log.trim()];
  const reason = lines.join('; ').replace(/\s+/g, ' ');
  return new Failure(
    'FAILED',
    `PostgreSQL did not start: ${reason || 'it wrote nothing'}`,
  );
}

/** @returns {Promise<number>} */
async function freePort() {
  const probe = net.createServer().listen(0, HOST);
  await once(probe, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (
    probe.address()
  );
  probe.close();
  await once(probe, 'close');
  return port;
}

/**
 * Stops every throw-away server whose supervisor is gone, and removes its home.
 */
async function sweep() {
  const folder = fs.realpathSync(os.tmpdir());
  for (const name of fs.readdirSync(folder)) {
    if (THROW_AWAY.test(name)) {
      // Mostly another process sweeps the same home. The next sweep tries again.
      await reclaim(path.join(folder, name)).catch(() => {});
    }
  }
}

/**
 * Stops the server of a killed supervisor, and removes a throw-away home.
 *
 * @param {string} home
 */
async function reclaim(home) {
  // Do not trust another user's folder.
  if (fs.lstatSync(home).uid !== process.getuid?.()) {
    return;
  }
  const [, pid] = THROW_AWAY.exec(path.basename(home)) ?? [];
  if (!pid) {
    await stopOrphan(home);
  } else if (!isSupervisor(Number(pid))) {
    await stopOrphan(home);
    await removeHome(home);
  }
}

/**
 * Stops the server in a home if its supervisor is gone.
 *
 * @param {string} home
 * @throws Failure if another server is running there
 */
async function stopOrphan(home) {
  const pid = Number(postmasterFile(home)[0]);
  if (!pid || !isRunning(pid, dataOf(home))) {
    return;
  }
  const [, supervisor] = /supervisor\.pid=(\d+)/.exec(commandLine(pid)) ?? [];
  // Without a supervisor it was started by hand.
  if (!supervisor || isSupervisor(Number(supervisor))) {
    throw inUse(home);
  }
  await stopServer(pid, dataOf(home));
}

/**
 * Whether a process is a supervisor, of this clone or of another one.
 *
 * @param {number} pid
 */
function isSupervisor(pid) {
  return isRunning(pid, 'supervisor/supervisor.cjs');
}

/**
 * @param {SupervisorReply} message
 * @returns {Promise<void>}
 */
function reply(message) {
  return new Promise(resolve => {
    // Fails if the parent is gone, which then needs no reply.
    process.send?.(message, undefined, undefined, () => resolve());
  });
}

if (process.argv[2] === 'reclaim') {
  reclaim(process.argv[3]);
} else {
  for (const event of ['disconnect', 'SIGTERM', 'SIGINT', 'SIGHUP']) {
    process.on(event, () => stopping.abort());
  }
  process.once('message', async request => {
    try {
      await supervise(/** @type {StartRequest} */ (request));
    } catch (error) {
      const code = error instanceof Failure ? error.code : 'FAILED';
      const message = error instanceof Error ? error.message : String(error);
      await reply({ type: 'failed', code, message });
    }
    process.exit();
  });
}
