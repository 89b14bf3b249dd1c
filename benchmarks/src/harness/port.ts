import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/** Where the servers of a benchmark listen. */
export const HOST = '127.0.0.1';

/**
 * A port that nobody listens on. Backstage verifies tokens by way of its own URL, and
 * so must know its port before it listens.
 */
export async function findFreePort(): Promise<number> {
  const probe = createServer().listen(0, HOST);
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}
