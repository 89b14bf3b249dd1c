import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Answers requests of a test at a port of this machine, by default a free one. */
export class TestServer {
  readonly #server: Server;

  constructor(answer: RequestListener) {
    this.#server = createServer(answer);
  }

  /** Rejects where the port is taken. */
  async listen(port = 0): Promise<this> {
    await once(this.#server.listen(port, '127.0.0.1'), 'listening');
    return this;
  }

  /** As the configuration of a backend names it. */
  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get url(): string {
    return `http://${this.host}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise(resolve => {
      this.#server.close(resolve);
    });
  }
}
