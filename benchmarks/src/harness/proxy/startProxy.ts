import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { HOST } from '../port';
import type { ProxySettings } from './settings';

/** Listens on a free port, and passes on what comes there. */
export async function startProxy({
  host,
  port,
  rttMs,
}: ProxySettings): Promise<Server> {
  const server = createServer({ noDelay: true }, client => {
    const target = connect({ host, port, noDelay: true });
    client.on('data', data => target.write(data));
    delay(target, client, rttMs);
    endTogether(client, target, rttMs);
  });
  server.listen(0, HOST);
  await once(server, 'listening');
  return server;
}

// What comes later waits as long, so that everything arrives in its order, and a long
// answer takes no longer than a short one.
function delay(from: Socket, to: Socket, ms: number): void {
  from.on('data', data => {
    setTimeout(() => to.write(data), ms);
  });
}

function endTogether(client: Socket, target: Socket, ms: number): void {
  client.on('error', () => target.destroy());
  client.on('close', () => target.destroy());
  target.on('error', () => client.destroy());
  target.on('close', () => setTimeout(() => client.end(), ms));
}
