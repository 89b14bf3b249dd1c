'use strict';

// Loaded by `npm start` before all else: npm may have ended by the time that the rest is loaded.

const { execFileSync } = require('node:child_process');
const { isMainThread } = require('node:worker_threads');

const SHELL = /^\s*(\d+)\s+(?:\S*\/)?\w*sh -c /;

/** npm runs a script by `sh -c`. Some shells become what they run, others stay in between. */
function parentOfShell() {
  try {
    const about = ['-o', 'ppid=,args=', '-p', String(process.ppid)];
    const parent = execFileSync('ps', about, { encoding: 'utf8' });
    return SHELL.exec(parent)?.[1] ?? '';
  } catch {
    // There is no `ps`, or no parent any more.
    return '';
  }
}

// Node.js loads this into its thread for module hooks too, which is later.
if (isMainThread) {
  process.env.PARENT_OF_START = String(process.ppid);
  process.env.NPM_OF_START = parentOfShell();
}
