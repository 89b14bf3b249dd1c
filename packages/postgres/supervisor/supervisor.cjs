// @ts-check
'use strict';

// Runs one PostgreSQL server for the process that forked it, and stops the server when
// that process asks for it, ends, or is killed. Plain JavaScript, so that it needs no
// transpiler to start; in a session of its own, so that a Ctrl-C in the terminal reaches
// the parent and not the server.
//
// A home is the folder of one server:
//
//   data/          PostgreSQL's own data folder. Its postmaster.pid is the lock: PostgreSQL
//                  starts no second server there
//   data/password  of the superuser
//   postgres.log   the server's log since its last start

const { randomBytes } = require('node:crypto');
const { once } = require('node:events');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { text } = require('node:stream/consumers');
const { setTimeout: delay } = require('node:timers/promises');
const { chooseLauncher, launch, serverUserOf } = require('./launcher.cjs');

/** @typedef {import('../src/supervisorProcess').StartRequest} StartRequest */
/** @typedef {import('../src/supervisorProcess').SupervisorReply} SupervisorReply */
/** @typedef {import('node:child_process').ChildProcess} ChildProcess */
/** @typedef {import('./launcher.cjs').Launcher} Launcher */

const HOST = '127.0.0.1';
const SUPERUSER = 'postgres';
const PORT_ATTEMPTS = 10;

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
};

// Throw-away data needs no protection against a power failure.
const THROW_AWAY_SETTINGS = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
};

// Fast shutdown first, as it leaves nothing to recover. Immediate shutdown
// after that still removes the shared memory, which SIGKILL would leave.
const SHUTDOWN_SIGNALS = /** @type {const} */ ([
  'SIGINT',
  'SIGQUIT',
  'SIGKILL',
]);
const PATIENCE_MS = 5_000;

const stopping = new AbortController();

/** @param {StartRequest} request */
async function supervise(request) {
  const home = request.dataDirectory
    ? openHome(request.dataDirectory)
    : createThrowAway();
  try {
    const { server, port, password } = await start(request, home);
    const connection = { host: HOST, port, user: SUPERUSER, password };
    const pid = /** @type {number} */ (server.pid);
    await reply({ type: 'ready', connection, pid, dataDirectory: home });
    try {
      if (!stopping.signal.aborted && isRunning(server)) {
        await Promise.race([
          once(stopping.signal, 'abort'),
          once(server, 'exit'),
        ]);
      }
    } finally {
      await stopServer(server);
    }
  } finally {
    if (!request.dataDirectory) {
      await fs.promises.rm(home, { recursive: true, maxRetries: 5 });
    }
  }
}

/**
 * @param {StartRequest} request
 * @param {string} home
 */
async function start(request, home) {
  const data = path.join(home, 'data');
  const user = serverUserOf(data);
  const launcher = chooseLauncher(
    user,
    path.join(request.binaries, 'postgres'),
  );
  if (fs.existsSync(data)) {
    checkMajorVersion(home, request);
  } else {
    await initialize(request, home, { user, launcher });
  }
  const passwordFile = path.join(data, 'password');
  if (!fs.existsSync(passwordFile)) {
    throw new Error(
      `${passwordFile} is missing, without which no login is possible: remove ${home} to begin with an empty database`,
    );
  }
  const password = fs.readFileSync(passwordFile, 'utf8');
  for (let attempt = 1; ; attempt++) {
    const port = request.port ?? (await freePort());
    const { server, failure } = await startOn(port, request, home, launcher);
    if (!failure) {
      return { server, port, password };
    }
    const isTaken = failure.includes('Address already in use');
    // Between finding a port free and using it, another process may take it.
    if (!isTaken || request.port !== undefined || attempt === PORT_ATTEMPTS) {
      throw new Error(
        isTaken
          ? `Port ${port} on ${HOST} is taken`
          : `PostgreSQL did not start in ${home}: ${failure}`,
      );
    }
  }
}

/**
 * @param {number} port
 * @param {StartRequest} request
 * @param {string} home
 * @param {Launcher} launcher
 * @returns {Promise<{ server: ChildProcess, failure?: string }>}
 */
async function startOn(port, request, home, launcher) {
  const settings = {
    ...SETTINGS,
    ...(request.dataDirectory ? {} : THROW_AWAY_SETTINGS),
    ...request.settings,
  };
  const logFile = path.join(home, `postgres-${process.pid}.log`);
  const log = fs.openSync(logFile, 'w', 0o600);
  const server = launch(
    launcher,
    path.join(request.binaries, 'postgres'),
    [
      ...['-D', path.join(home, 'data'), '-p', String(port)],
      ...Object.entries(settings).flatMap(([k, v]) => ['-c', `${k}=${v}`]),
    ],
    { stdio: ['ignore', log, log] },
  );
  fs.closeSync(log);
  try {
    while (isRunning(server) && !isReady(home, server)) {
      await delay(20, undefined, { signal: stopping.signal });
    }
  } catch (error) {
    await stopServer(server);
    throw error;
  }
  if (isRunning(server)) {
    // Only now: the log in the place of this one may be that of a server that runs here.
    fs.renameSync(logFile, path.join(home, 'postgres.log'));
    return { server };
  }
  const written = fs.readFileSync(logFile, 'utf8');
  fs.rmSync(logFile);
  const lines = written.match(/(FATAL|ERROR|HINT|LOG: +could not).*/g);
  const reason = lines?.join('; ') ?? written.trim();
  return { server, failure: reason.replace(/\s+/g, ' ') };
}

/**
 * Whether the server says in its own file that it accepts connections, which is
 * what `pg_ctl --wait` looks at too.
 *
 * @param {string} home
 * @param {ChildProcess} server
 */
function isReady(home, { pid }) {
  try {
    const file = path.join(home, 'data', 'postmaster.pid');
    const lines = fs.readFileSync(file, 'utf8').split('\n');
    // The file of a crashed server may still be there.
    return Number(lines[0]) === pid && lines[7]?.trim() === 'ready';
  } catch {
    return false;
  }
}

/** @param {ChildProcess} server */
function isRunning(server) {
  return server.exitCode === null && server.signalCode === null;
}

/**
 * Stops the server, with stronger signals in turn.
 *
 * @param {ChildProcess} server
 */
async function stopServer(server) {
  for (const signal of SHUTDOWN_SIGNALS) {
    if (isRunning(server)) {
      server.kill(signal);
      await Promise.race([once(server, 'exit'), delay(PATIENCE_MS)]);
    }
  }
}

/**
 * Creates the data folder under a temporary name, and renames it when it is complete: a
 * killed initdb leaves a folder that looks like a complete one.
 *
 * @param {StartRequest} request
 * @param {string} home
 * @param {{ user: import('./launcher.cjs').OsUser, launcher: Launcher }} as
 */
async function initialize(request, home, { user, launcher }) {
  const draft = fs.mkdtempSync(path.join(home, 'draft-'));
  const passwordFile = `${draft}.password`;
  fs.writeFileSync(passwordFile, randomBytes(24).toString('base64url'), {
    mode: 0o600,
  });
  fs.chownSync(draft, user.uid, user.gid);
  fs.chownSync(passwordFile, user.uid, user.gid);
  try {
    const initdb = launch(
      launcher,
      path.join(request.binaries, 'initdb'),
      [
        `--pgdata=${draft}`,
        `--username=${SUPERUSER}`,
        `--pwfile=${passwordFile}`,
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
      throw new Error(
        `initdb failed: ${stderr.trim().replace(/\s*\n\s*/g, '; ')}`,
      );
    }
    fs.renameSync(passwordFile, path.join(draft, 'password'));
    // Fails if another start was faster. Then its lock refuses this one.
    fs.renameSync(draft, path.join(home, 'data'));
  } catch (error) {
    if (!fs.existsSync(path.join(home, 'data'))) {
      throw error;
    }
  } finally {
    fs.rmSync(draft, { recursive: true, force: true });
    fs.rmSync(passwordFile, { force: true });
  }
}

function createThrowAway() {
  const folder = path.join(fs.realpathSync(os.tmpdir()), 'embedded-postgres-');
  const home = fs.mkdtempSync(folder);
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
    fs.rmdirSync(fs.mkdtempSync(path.join(home, 'probe-')));
    return home;
  } catch (error) {
    const { message } = /** @type {NodeJS.ErrnoException} */ (error);
    throw new Error(`${directory} can't be used: ${message}`);
  }
}

/**
 * @param {string} home
 * @param {StartRequest} request
 */
function checkMajorVersion(home, { version }) {
  const file = path.join(home, 'data', 'PG_VERSION');
  const found = Number(fs.readFileSync(file, 'utf8'));
  if (found !== version) {
    throw new Error(
      `${home} holds data of PostgreSQL ${found}, but version ${version} was to be started: ` +
        `start version ${found}, or remove the folder to begin with an empty database`,
    );
  }
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
 * @param {SupervisorReply} message
 * @returns {Promise<void>}
 */
function reply(message) {
  return new Promise(resolve => {
    // Fails if the parent is gone, which then needs no reply.
    process.send?.(message, undefined, undefined, () => resolve());
  });
}

for (const event of ['disconnect', 'SIGTERM', 'SIGINT', 'SIGHUP']) {
  process.on(event, () => stopping.abort());
}
process.once('message', async request => {
  try {
    await supervise(/** @type {StartRequest} */ (request));
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    await reply({ type: 'failed', message });
  }
  process.exit();
});
