'use strict';

// Loaded by `npm start` before all else: npm may have ended by the time that the rest is loaded.

const { isMainThread } = require('node:worker_threads');

// Node.js loads this into its thread for module hooks too, which is later.
if (isMainThread) {
  process.env.PARENT_OF_START = String(process.ppid);
}
