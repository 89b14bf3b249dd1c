// @ts-check
'use strict';

// Run by the parent of a guard that was killed, with the guard's home.

require('./orphans.cjs').reclaim(process.argv[2]);
