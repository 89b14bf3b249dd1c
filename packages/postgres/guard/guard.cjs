// @ts-check
'use strict';

// Runs one PostgreSQL server for the process that forked it, and stops it when
// that process asks for it, ends, or is killed. It is plain JavaScript so that
// it needs no transpiler to start, and runs in a session of its own, so that a
// Ctrl-C in the terminal reaches the parent and not the server.

const { once } = require('node:events');
const { dropClaim } = require('./claim.cjs');
const { SUPERUSER, prepareData } = require('./data.cjs');
const { Failure } = require('./failure.cjs');
const home = require('./home.cjs');
const { chooseLauncher, serverUserOf } = require('./osUser.cjs');
const { sweep } = require('./orphans.cjs');
const { stopServer } = require('./processes.cjs');
const { HOST, startServer } = require('./server.cjs');

// Tells this guard from every other process, see isRunning().
const mark = process.argv[2];

const stopping = new AbortController();
for (const event of ['disconnect', 'SIGTERM', 'SIGINT', 'SIGHUP']) {
  process.on(event, () => stopping.abort());
}

/**
 * @param {import('../src/protocol').GuardReply} message
 * @returns {Promise<void>}
 */
function reply(message) {
  return new Promise(resolve => {
    // It fails when the parent is gone, and then nobody waits for the reply.
    process.send?.(message, undefined, undefined, () => resolve());
  });
}

/**
 * @param {import('../src/protocol').StartRequest} request
 * @param {string} directory
 */
async function start(request, directory) {
  const serverUser = serverUserOf(directory);
  const launcher = chooseLauncher(serverUser, `${request.binaries}/postgres`);
  const setup = {
    home: directory,
    launcher,
    request,
    signal: stopping.signal,
  };
  const { file, password } = home.passwordOf(directory, serverUser);
  await prepareData(setup, serverUser, file);
  const server = await startServer(setup);
  return { server, password };
}

/**
 * @param {import('../src/protocol').StartRequest} request
 * @param {string} directory
 */
async function serve(request, directory) {
  const { server, password } = await start(request, directory);
  const { pid, port } = server;
  const connection = { host: HOST, port, user: SUPERUSER, password };
  await reply({ type: 'ready', connection, pid, dataDirectory: directory });
  try {
    if (!stopping.signal.aborted) {
      await Promise.race([once(stopping.signal, 'abort'), server.exited]);
    }
  } finally {
    // No other server than its own: somebody else may be starting one here.
    await stopServer(pid, home.dataOf(directory));
  }
}

/** @param {import('../src/protocol').StartRequest} request */
async function run(request) {
  await sweep(mark);
  const directory = request.dataDirectory
    ? await home.claimPersistent(request.dataDirectory, mark)
    : home.createThrowAway(mark);
  try {
    await serve(request, directory);
  } finally {
    if (request.dataDirectory) {
      dropClaim(directory, mark);
    } else {
      await home.removeHome(directory);
    }
  }
}

/** @param {unknown} error */
async function fail(error) {
  const code = error instanceof Failure ? error.code : 'FAILED';
  const message = error instanceof Error ? error.message : String(error);
  await reply({ type: 'failed', code, message });
}

process.once('message', async request => {
  try {
    await run(/** @type {import('../src/protocol').StartRequest} */ (request));
  } catch (error) {
    await fail(error);
  }
  process.exit();
});
