import { AsyncLocalStorage } from 'node:async_hooks';

const dryRuns = new AsyncLocalStorage<{ left: number }>();

/**
 * Runs the dry run of a location. Backstage compares all of its entities with each other, and
 * follows the locations among them, so all of them count together.
 */
export function boundDryRun(maxEntities: number, answer: () => void): void {
  dryRuns.run({ left: maxEntities }, answer);
}

/** The dry run that the code that calls this belongs to. */
export function currentDryRun(): object | undefined {
  return dryRuns.getStore();
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
