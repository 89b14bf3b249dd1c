import type {
  LifecycleService,
  LoggerService,
  RootLifecycleService,
} from '@backstage/backend-plugin-api';
import { operatorCommand } from 'backstage-catalog-tenancy-migrations';
import type { CatalogAdoption } from 'backstage-plugin-catalog-tenancy-node';
import { setTimeout as delay } from 'node:timers/promises';

// The engine starts after this: on an empty database, what it ingests first is then
// carried over as it comes in, and no request sees the default tenant without it. It
// does not wait for ever, though: adoption goes on without a waiting start.
const HOLD_UP_MS = 5_000;

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;

/**
 * Adopts the catalog once the catalog plugin has made its tables, which it does
 * after its modules have started, and tries again for as long as that fails.
 */
export function adoptCatalog(options: {
  adoption: CatalogAdoption;
  /** That of the catalog plugin, whose start ends before the engine's begins. */
  lifecycle: LifecycleService;
  /** Ends with the backend. */
  rootLifecycle: RootLifecycleService;
  logger: LoggerService;
}): void {
  const { adoption, lifecycle, rootLifecycle, logger } = options;
  if (adoption.isComplete) {
    return;
  }
  const stopped = new AbortController();
  let ended: Promise<void> | undefined;
  lifecycle.addStartupHook(async () => {
    const held = new AbortController();
    const { firstEnded, allEnded } = keepTrying(
      adoption,
      logger,
      stopped.signal,
    );
    ended = allEnded;
    await Promise.race([
      firstEnded,
      delay(HOLD_UP_MS, undefined, { signal: held.signal }).catch(() => {}),
    ]);
    held.abort();
  });
  // Before the connections of the backend are closed.
  rootLifecycle.addBeforeShutdownHook(async () => {
    stopped.abort();
    await ended;
  });
}

function keepTrying(
  adoption: CatalogAdoption,
  logger: LoggerService,
  signal: AbortSignal,
): { firstEnded: Promise<unknown>; allEnded: Promise<void> } {
  const attempt = async (pause: number): Promise<boolean> => {
    try {
      await adoption.complete(signal);
      return true;
    } catch (error) {
      if (!signal.aborted) {
        logger.error(explain(error, pause));
      }
      return signal.aborted;
    }
  };
  const first = attempt(FIRST_PAUSE_MS);
  const others = async () => {
    let pause = FIRST_PAUSE_MS;
    let isOver = await first;
    while (!isOver) {
      await delay(pause, undefined, { signal }).catch(() => {});
      pause = Math.min(2 * pause, LONGEST_PAUSE_MS);
      isOver = signal.aborted || (await attempt(pause));
    }
  };
  return { firstEnded: first, allEnded: others() };
}

function explain(error: unknown, pause: number): string {
  const reason = error instanceof Error ? error.message : String(error);
  return (
    'The catalog could not be adopted, so that the default tenant is answered with ' +
    `503; other tenants are served. ${reason.replace(/\.$/, '')}. ` +
    `The next attempt is in ${pause / 1000} s. "${operatorCommand(
      'adopt',
    )}" does the same ` +
    'by hand, with more about the reason.'
  );
}
