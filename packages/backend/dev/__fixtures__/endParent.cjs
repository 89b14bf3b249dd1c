'use strict';

// Loaded into a process, ends the one that has started it.

const { isMainThread } = require('node:worker_threads');

// Node.js loads this into its thread for module hooks too.
if (isMainThread) {
  const parent = process.ppid;
  process.kill(parent, 'SIGKILL');
  while (process.ppid === parent);
}
