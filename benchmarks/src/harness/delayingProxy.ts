import type { PostgresConnection } from '@internal/postgres';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { HOST, serve, ServerProcess } from './servers';

/** Where to pass on to, and how long answers wait. */
interface ProxySettings {
  host: string;
  port: number;
  rttMs: number;
}

/**
 * Runs an action with a connection to PostgreSQL whose answers come later, as through a network.
 * The proxy is a process of its own, so that no side waits for its other work.
 *
 * @param rttMs - the least delay; timers add half of a millisecond on average
 */
export async function withDelay<T>(
  target: PostgresConnection,
  rttMs: number,
  action: (connection: PostgresConnection) => Promise<T>,
): Promise<T> {
  const { host, port } = target;
  const settings: ProxySettings = { host, port, rttMs };
  const proxy = await ServerProcess.start(__filename, settings);
  const { hostname, port: ours } = new URL(proxy.url);
  try {
    return await action({ ...target, host: hostname, port: Number(ours) });
  } finally {
    await proxy.stop();
  }
}

/** Listens on a free port, and passes on what comes there. */
async function startProxy(settings: ProxySettings): Promise<Server> {
  const { host, port, rttMs } = settings;
  // Everything waits as long, so that the order stays, and the end overtakes no answer.
  const wait = (then: () => void) => setTimeout(then, rttMs);
  const server = createServer({ noDelay: true }, client => {
    const target = connect({ host, port, noDelay: true });
    client.on('data', data => target.write(data));
    client.on('error', () => target.destroy());
    client.on('close', () => target.destroy());
    target.on('data', data => wait(() => client.write(data)));
    target.on('error', () => client.destroy());
    target.on('close', () => wait(() => client.end()));
  });
  server.listen(0, HOST);
  await once(server, 'listening');
  return server;
}

// In the process of its own.
if (require.main === module) {
  serve<ProxySettings>(async settings => {
    const server = await startProxy(settings);
    return `tcp://${HOST}:${(server.address() as AddressInfo).port}`;
  });
}
