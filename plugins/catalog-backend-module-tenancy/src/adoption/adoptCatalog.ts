import type {
  LifecycleService,
  LoggerService,
  RootLifecycleService,
} from '@backstage/backend-plugin-api';
import { operatorCommand } from 'backstage-catalog-tenancy-migrations';
import type { CatalogAdoption } from 'backstage-plugin-catalog-tenancy-node';
import { setTimeout as delay } from 'node:timers/promises';

// How long the start of the catalog plugin waits for the adoption. If it completes in time, the
// triggers copy everything that the engine ingests from its start on. Otherwise the adoption
// continues in the background.
const HOLD_UP_MS = 5_000;

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;

/**
 * Adopts the catalog once the catalog plugin has created its tables, which happens after its
 * modules have started. Retries until it succeeds.
 */
export function adoptCatalog(options: {
  adoption: CatalogAdoption;
  /** The lifecycle of the catalog plugin, whose startup hooks run before the engine starts. */
  lifecycle: LifecycleService;
  /** Stops the attempts when the backend shuts down. */
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
  // Before shutdown, while connections are open.
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
    'The catalog could not be adopted: requests of the default tenant get status ' +
    `503; other tenants are served. ${reason.replace(/\.$/, '')}. ` +
    `The next attempt is in ${pause / 1000} s. "${operatorCommand(
      'adopt',
    )}" does the same ` +
    'by hand, with more details.'
  );
}
