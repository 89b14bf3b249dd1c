import { setTimeout as delay } from 'node:timers/promises';

const PATIENCE_MS = 20_000;
const POLL_MS = 20;

/** Waits until something holds, and fails as it does where that takes too long. */
export async function eventually(
  holds: () => Promise<void> | void,
): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      await holds();
      return;
    } catch (error) {
      if (performance.now() > end) {
        throw error;
      }
    }
    await delay(POLL_MS);
  }
}
