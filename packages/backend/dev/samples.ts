import { setTimeout as delay } from 'timers/promises';
import { getJson } from './health';

// The backend logs every request, so that asking often would bury its log.
const POLL_MS = 1_000;

// The engine takes a few seconds for what it ingests; longer, and something is amiss
// that its log tells about.
const PATIENCE_MS = 60_000;

// The last of each file of the examples, and one that the others point at.
const SAMPLES = [
  'api/default/stock',
  'component/default/shop-frontend',
  'group/default/storefront',
  'user/default/guest',
];

/** A token for whoever tries the portal out. */
export async function guestToken(baseUrl: string): Promise<string | undefined> {
  const session = await getJson(`${baseUrl}/api/auth/guest/refresh`);
  return (session as { backstageIdentity?: { token?: string } } | undefined)
    ?.backstageIdentity?.token;
}

/**
 * Waits until the catalog shows the examples with their relations, which its engine
 * ingests while the backend is ready already.
 */
export async function untilSamplesAreServed(
  baseUrl: string,
  isRunning: () => boolean,
): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  const token = await guestToken(baseUrl);
  let missing = SAMPLES;
  while (token && isRunning() && Date.now() < deadline) {
    const [next] = missing;
    if (
      await isComplete(`${baseUrl}/api/catalog/entities/by-name/${next}`, token)
    ) {
      missing = missing.slice(1);
      if (missing.length === 0) {
        return;
      }
    } else {
      await delay(POLL_MS);
    }
  }
}

async function isComplete(url: string, token: string): Promise<boolean> {
  const entity = (await getJson(url, token)) as
    | { relations?: unknown[] }
    | undefined;
  return Boolean(entity?.relations?.length);
}
