import { AsyncLocalStorage } from 'node:async_hooks';

const dryRuns = new AsyncLocalStorage<{ left: number }>();

/**
 * Answers a request that tries out what a location would bring. Backstage compares each entity
 * of it with each other, and follows the locations among them: all of them count together.
 */
export function boundDryRun(maxEntities: number, answer: () => void): void {
  dryRuns.run({ left: maxEntities }, answer);
}

/** @returns false where a dry run has no room for more entities */
export function takeFromDryRun(entities: number): boolean {
  const dryRun = dryRuns.getStore();
  if (!dryRun) {
    return true;
  }
  dryRun.left -= entities;
  return dryRun.left >= 0;
}
