import type { ClientConfig } from 'pg';
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';

/**
 * A way to a PostgreSQL server that can go silent without closing a connection, as a
 * network does.
 */
export class FreezableProxy {
  /** Through the proxy. */
  readonly connection: ClientConfig;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #frozen = false;

  static async start(target: ClientConfig): Promise<FreezableProxy> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new FreezableProxy(server, target);
  }

  private constructor(server: Server, target: ClientConfig) {
    this.#server = server;
    const { port } = server.address() as AddressInfo;
    this.connection = { ...target, host: '127.0.0.1', port };
    server.on('connection', near => {
      const far = connect(target.port!, target.host!);
      this.#forward(near, far);
      this.#forward(far, near);
    });
  }

  /** Nothing gets through any more. */
  freeze(): void {
    this.#frozen = true;
  }

  /** New connections get through; those from before are reset. */
  thaw(): void {
    this.#frozen = false;
    this.#sockets.forEach(socket => socket.resetAndDestroy());
  }

  async close(): Promise<void> {
    this.#sockets.forEach(socket => socket.destroy());
    this.#server.close();
    await once(this.#server, 'close');
  }

  #forward(from: Socket, to: Socket): void {
    this.#sockets.add(from);
    from.on('data', data => {
      if (!this.#frozen) {
        to.write(data);
      }
    });
    from.on('close', () => {
      this.#sockets.delete(from);
      to.destroy();
    });
    from.on('error', () => {});
  }
}
