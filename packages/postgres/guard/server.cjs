// @ts-check
'use strict';

const fs = require('node:fs');
const net = require('node:net');
const path = require('node:path');
const { once } = require('node:events');
const { setTimeout: delay } = require('node:timers/promises');
const { Failure } = require('./failure.cjs');
const { dataOf, inUse, logOf } = require('./home.cjs');
const { launch } = require('./osUser.cjs');
const { POLL_MS, stopServer } = require('./processes.cjs');

/**
 * @typedef {object} Setup
 * @property {string} home
 * @property {import('./osUser.cjs').Launcher} launcher
 * @property {import('../src/protocol').StartRequest} request
 * @property {AbortSignal} signal
 */

const HOST = '127.0.0.1';

const SETTINGS = {
  listen_addresses: HOST,
  // TCP does for everyone; a path below a deep folder exceeds a socket's limit.
  unix_socket_directories: '',
  max_connections: '300',
  timezone: 'UTC',
  log_timezone: 'UTC',
};

// What is thrown away needs no protection against a power failure.
const THROW_AWAY_SETTINGS = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
};

const PORT_ATTEMPTS = 10;

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

/** @param {Setup} setup */
function serverArgs({ home, request }, /** @type {number} */ port) {
  const settings = {
    ...SETTINGS,
    ...(request.dataDirectory ? {} : THROW_AWAY_SETTINGS),
    ...request.settings,
  };
  return [
    ...['-D', dataOf(home), '-p', String(port)],
    ...Object.entries(settings).flatMap(([k, v]) => ['-c', `${k}=${v}`]),
  ];
}

/**
 * What the server wrote about its failure, on one line.
 *
 * @param {string} log
 */
function reasonIn(log) {
  const lines = log.match(/(FATAL|ERROR|LOG: +could not).*/g) ?? [log.trim()];
  return lines.join('; ').replace(/\s+/g, ' ');
}

/**
 * @param {Setup} setup
 * @param {number} port
 */
function failureOf({ home }, port) {
  const log = fs.readFileSync(logOf(home), 'utf8');
  if (log.includes('Address already in use')) {
    return new Failure('PORT_TAKEN', `Port ${port} on ${HOST} is taken`);
  }
  if (/lock file "postmaster.pid" already exists/.test(log)) {
    return inUse(home);
  }
  return new Failure(
    'FAILED',
    `PostgreSQL did not start: ${reasonIn(log) || 'it wrote nothing'}`,
  );
}

/**
 * Whether the server says in its own file that it accepts connections, which is
 * what `pg_ctl --wait` looks at too.
 *
 * @param {string} home
 * @param {number | undefined} pid
 */
function isReady(home, pid) {
  try {
    const file = path.join(dataOf(home), 'postmaster.pid');
    const lines = fs.readFileSync(file, 'utf8').split('\n');
    // The file of a crashed server may still be there.
    return Number(lines[0]) === pid && lines[7]?.trim() === 'ready';
  } catch {
    return false;
  }
}

/**
 * @param {Setup} setup
 * @param {number} port
 */
function spawnServer(setup, port) {
  const { home, launcher, request } = setup;
  const log = fs.openSync(logOf(home), 'w', 0o600);
  const program = path.join(request.binaries, 'postgres');
  const server = launch(launcher, program, serverArgs(setup, port), {
    stdio: ['ignore', log, log],
  });
  fs.closeSync(log);
  return server;
}

/**
 * @param {Setup} setup
 * @param {number} port
 */
async function startOn(setup, port) {
  const { home, signal } = setup;
  const server = spawnServer(setup, port);
  const pid = /** @type {number} */ (server.pid);
  const exited = once(server, 'exit');
  try {
    while (!isReady(home, pid)) {
      if (server.exitCode !== null || server.signalCode !== null) {
        throw failureOf(setup, port);
      }
      await delay(POLL_MS, undefined, { signal });
    }
  } catch (error) {
    // Its postmaster.pid, by which it would be found, may not be there yet.
    await stopServer(pid, dataOf(home));
    throw error;
  }
  return { pid, port, exited };
}

/** @param {Setup} setup */
async function startServer(setup) {
  const { port } = setup.request;
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOn(setup, port ?? (await freePort()));
    } catch (error) {
      // Between finding a port free and using it, anybody may take it.
      const lostRace =
        port === undefined &&
        error instanceof Failure &&
        error.code === 'PORT_TAKEN';
      if (!lostRace || attempt === PORT_ATTEMPTS) {
        throw error;
      }
    }
  }
}

module.exports = { HOST, startServer };
