import type { PostgresConnection } from '@internal/postgres';
import { once } from 'node:events';
import {
  type AddressInfo,
  connect,
  createServer,
  type Server,
  type Socket,
} from 'node:net';
import { HOST, serve, ServerProcess } from './servers';

/** Where to pass on to, and how long answers wait. */
interface ProxySettings {
  host: string;
  port: number;
  rttMs: number;
  exact?: boolean;
}

/**
 * Stands between a client and PostgreSQL, and passes on what PostgreSQL answers some
 * milliseconds later: a network between them, as far as waiting for it goes.
 *
 * It is a process of its own, so that neither side waits for it to do something else.
 */
export class DelayingProxy {
  /** How to reach PostgreSQL through it. */
  readonly connection: PostgresConnection;
  readonly #process: ServerProcess;

  /**
   * @param rttMs - the least time by which an answer is later, in milliseconds. Timers
   * have a resolution of 1 ms: on average it is about half of one more.
   * @param options - `exact`: without timers, which keeps a processor busy while an answer waits
   */
  static async start(
    target: PostgresConnection,
    rttMs: number,
    { exact = false } = {},
  ): Promise<DelayingProxy> {
    const { host, port } = target;
    const settings: ProxySettings = { host, port, rttMs, exact };
    const process = await ServerProcess.start(__filename, settings);
    return new DelayingProxy(process, target);
  }

  private constructor(process: ServerProcess, target: PostgresConnection) {
    const { hostname, port } = new URL(process.url);
    this.#process = process;
    this.connection = { ...target, host: hostname, port: Number(port) };
  }

  async stop(): Promise<void> {
    await this.#process.stop();
  }
}

/** Listens on a free port, and passes on what comes there. */
export async function startProxy({
  host,
  port,
  rttMs,
  exact,
}: ProxySettings): Promise<Server> {
  const server = createServer({ noDelay: true }, client => {
    const target = connect({ host, port, noDelay: true });
    client.on('data', data => target.write(data));
    const wait = exact ? afterExactly(rttMs) : after(rttMs);
    delay(target, client, wait);
    endTogether(client, target, wait);
  });
  server.listen(0, HOST);
  await once(server, 'listening');
  return server;
}

// What comes later waits as long, so that everything arrives in its order, and a long
// answer takes no longer than a short one.
function delay(from: Socket, to: Socket, wait: Wait): void {
  from.on('data', data => wait(() => to.write(data)));
}

type Wait = (then: () => void) => void;

function after(ms: number): Wait {
  return then => setTimeout(then, ms);
}

function afterExactly(ms: number): Wait {
  // One queue: of two that look by themselves, the later may be the first to find its time come.
  const waiting: { due: number; then: () => void }[] = [];
  const look = () => {
    while (waiting.length > 0 && waiting[0].due <= performance.now()) {
      waiting.shift()!.then();
    }
    if (waiting.length > 0) {
      setImmediate(look);
    }
  };
  return then => {
    waiting.push({ due: performance.now() + ms, then });
    if (waiting.length === 1) {
      setImmediate(look);
    }
  };
}

// The end waits as the answers do, or it could overtake the last of them.
function endTogether(client: Socket, target: Socket, wait: Wait): void {
  client.on('error', () => target.destroy());
  client.on('close', () => target.destroy());
  target.on('error', () => client.destroy());
  target.on('close', () => wait(() => client.end()));
}

// In the process of its own.
if (require.main === module) {
  serve<ProxySettings>(async settings => {
    const server = await startProxy(settings);
    return `tcp://${HOST}:${(server.address() as AddressInfo).port}`;
  });
}
