// @ts-check
'use strict';

// Run by the parent of a guard that was killed, with the guard's home and a mark
// that tells this process from every other.

require('./orphans.cjs').reclaim(process.argv[2], process.argv[3]);
