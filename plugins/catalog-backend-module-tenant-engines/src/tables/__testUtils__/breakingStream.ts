import { Socket } from 'node:net';
import type { ClientConfig } from 'pg';

// The first byte of a simple query, and of an extended one.
const STATEMENTS = [0x51, 0x50];

/** Connections that count their statements, and break before one of them. */
export class Breaking {
  statements = 0;

  /** @param before - the number of the statement that is not sent; none without one */
  constructor(private readonly before = Infinity) {}

  connection(config: ClientConfig): ClientConfig {
    return { ...config, stream: () => this.stream() };
  }

  private stream(): Socket {
    const socket = new Socket();
    const write = socket.write.bind(socket) as (...args: unknown[]) => boolean;
    const intercept = (...args: unknown[]) => {
      const [data] = args;
      if (Buffer.isBuffer(data) && STATEMENTS.includes(data[0])) {
        this.statements += 1;
        if (this.statements >= this.before) {
          socket.destroy();
          return true;
        }
      }
      return write(...args);
    };
    // Not before: connect() sets it.
    socket.once('connect', () => {
      socket.write = intercept;
    });
    return socket;
  }
}
