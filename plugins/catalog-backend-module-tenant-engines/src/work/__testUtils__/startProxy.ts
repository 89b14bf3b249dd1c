import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { ClientConfig } from 'pg';

/**
 * Starts a way to PostgreSQL that loses what it is told to lose, as a network does.
 *
 * @param isLost - called with the number of the connection, from 1, for what goes over it and for
 * its end; and with the letter of each message to PostgreSQL
 */
export async function startProxy(
  target: ClientConfig,
  isLost: (number: number, message?: string) => boolean = () => false,
) {
  const clients = new Set<Socket>();
  const all = new Set<Socket>();
  let accepted = 0;
  const server = createServer(near => {
    accepted += 1;
    const number = accepted;
    const far = connect(target.port!, target.host!);
    clients.add(near);
    near.on('close', () => clients.delete(near));
    const forward = (from: Socket, to: Socket) =>
      all.add(
        from
          .on('data', (data: Buffer) => {
            const letter = String.fromCharCode(data[0]);
            return (
              isLost(number, from === near ? letter : undefined) ||
              to.write(data)
            );
          })
          .on('error', () => undefined)
          .on('close', () => isLost(number) || to.destroy()),
      );
    forward(near, far);
    forward(far, near);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const cut = () => all.forEach(socket => socket.destroy());
  return {
    connection: { ...target, host: '127.0.0.1', port },
    get accepted() {
      return accepted;
    },
    get open() {
      return clients.size;
    },
    cut,
    close: () => {
      cut();
      server.close();
    },
  };
}
