import { once } from 'events';
import { AddressInfo, createServer } from 'net';

/**
 * A port of this machine on which nothing listens at the moment.
 *
 * @public
 */
export async function freePort(host = '127.0.0.1'): Promise<number> {
  const probe = createServer().listen(0, host);
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}
