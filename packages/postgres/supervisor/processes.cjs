// @ts-check
'use strict';

const { execFileSync } = require('node:child_process');
const { readFileSync } = require('node:fs');
const { setTimeout: delay } = require('node:timers/promises');

const POLL_MS = 20;
const PATIENCE_MS = 5_000;

// Fast shutdown first, as it leaves nothing to recover. Immediate shutdown
// after that still removes the shared memory, which SIGKILL would leave.
const SHUTDOWN_SIGNALS = /** @type {const} */ ([
  'SIGINT',
  'SIGQUIT',
  'SIGKILL',
]);

/**
 * @param {number} pid
 * @returns {string} the empty string where there is no such process
 */
function commandLine(pid) {
  try {
    // No `ps` on Linux: slim container images lack it.
    return process.platform === 'linux'
      ? readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
      : execFileSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], {
          encoding: 'utf8',
          stdio: ['ignore', 'pipe', 'ignore'],
        });
  } catch {
    return '';
  }
}

/**
 * Whether a process runs that has `mark` in its command line. The system may have reused
 * the number for another process.
 *
 * @param {number} pid
 * @param {string} mark
 */
function isRunning(pid, mark) {
  return commandLine(pid).includes(mark);
}

/**
 * @param {number} pid
 * @param {NodeJS.Signals} signal
 */
function kill(pid, signal) {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // It may have ended by itself in the meantime.
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ESRCH') {
      throw error;
    }
  }
}

/**
 * @param {number} pid
 * @param {string} mark
 */
async function isGoneInTime(pid, mark) {
  const deadline = Date.now() + PATIENCE_MS;
  while (isRunning(pid, mark)) {
    if (Date.now() > deadline) {
      return false;
    }
    await delay(POLL_MS);
  }
  return true;
}

/**
 * Stops the PostgreSQL server `pid`, with stronger signals in turn.
 *
 * @param {number} pid
 * @param {string} mark
 */
async function stopServer(pid, mark) {
  for (const signal of SHUTDOWN_SIGNALS) {
    if (!isRunning(pid, mark)) {
      return;
    }
    kill(pid, signal);
    if (await isGoneInTime(pid, mark)) {
      return;
    }
  }
}

module.exports = { POLL_MS, commandLine, isRunning, stopServer };
