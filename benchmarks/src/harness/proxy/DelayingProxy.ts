import type { PostgresConnection } from '@internal/postgres';
import { ServerProcess } from '../ServerProcess';
import type { ProxySettings } from './settings';

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
   */
  static async start(
    target: PostgresConnection,
    rttMs: number,
  ): Promise<DelayingProxy> {
    const { host, port } = target;
    const settings: ProxySettings = { host, port, rttMs };
    const process = await ServerProcess.start(
      require.resolve('./server'),
      settings,
    );
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
