import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Memory } from './settings';

// What the first collection finalizes, the next one frees.
const COLLECTIONS = 3;

/** What this process takes once all garbage is collected. */
export async function measureMemory(): Promise<Memory> {
  // A flag of Node.js would do, but hold for the process that measures, too.
  setFlagsFromString('--expose_gc');
  const collectGarbage: () => void = runInNewContext('gc');
  for (let count = 0; count < COLLECTIONS; count++) {
    collectGarbage();
    await turn();
  }
  const { rss, heapUsed, external } = process.memoryUsage();
  return { rss, heap: heapUsed, external };
}
