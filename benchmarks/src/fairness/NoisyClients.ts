import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { LoadServer } from '../load/LoadClient';
import type { LoadTenant } from '../load/requests';
import type { Noise } from './noise';

/** What the thread is told: to ask, and to have done with it. */
export type Command = 'ask' | 'rest';

/** What the thread is to do. Plain JSON. */
export interface NoiseSettings {
  url: string;
  tenant: LoadTenant;
  noise: Noise;
  /** How many requests are under way at a time. */
  requests: number;
}

/** What the noisy tenant got so far. */
export interface NoiseReport {
  /** As in `RequestLog`. */
  rows: string[][];
  failures: string[];
}

/**
 * Clients of the noisy tenant, in a thread of their own: megabytes of answers would
 * otherwise keep the client of the quiet tenant waiting, which is no work of the backend.
 */
export class NoisyClients {
  /** After the last rest. */
  report: NoiseReport = { rows: [], failures: [] };
  readonly #worker: Worker;

  static start(
    server: LoadServer,
    settings: Omit<NoiseSettings, 'url'>,
  ): NoisyClients {
    const workerData: NoiseSettings = { ...settings, url: server.url };
    return new NoisyClients(
      new Worker(require.resolve('./askNoisily'), { workerData }),
    );
  }

  private constructor(worker: Worker) {
    this.#worker = worker;
  }

  /** Has them ask while something is measured. */
  async during<T>(measure: () => Promise<T>): Promise<T> {
    this.#tell('ask');
    try {
      return await measure();
    } finally {
      const told = once(this.#worker, 'message');
      this.#tell('rest');
      [this.report] = await told;
    }
  }

  async stop(): Promise<void> {
    await this.#worker.terminate();
  }

  #tell(command: Command): void {
    this.#worker.postMessage(command);
  }
}
