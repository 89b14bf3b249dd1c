import { once } from 'node:events';
import {
  isMainThread,
  parentPort,
  Worker,
  workerData,
} from 'node:worker_threads';
import {
  keepAsking,
  type LoadMeasurement,
  type LoadRequest,
} from '../harness/load';

interface NoiseSettings {
  url: string;
  requests: LoadRequest[];
  connections: number;
}

/**
 * The clients of a noisy tenant, in a thread of their own. Megabytes of answers would otherwise
 * keep the client of the quiet tenant waiting, which is no work of the backend.
 */
export class NoisyClients {
  /** What they got in each round. */
  readonly rounds: LoadMeasurement[] = [];
  readonly #worker: Worker;

  constructor(settings: NoiseSettings) {
    this.#worker = new Worker(__filename, { workerData: settings });
  }

  /** Has them ask while something is measured. */
  async during<T>(measure: () => Promise<T>): Promise<T> {
    this.#worker.postMessage('begin');
    try {
      return await measure();
    } finally {
      const report = once(this.#worker, 'message');
      this.#worker.postMessage('end');
      this.rounds.push((await report)[0]);
    }
  }

  async stop(): Promise<void> {
    await this.#worker.terminate();
  }
}

async function serveNoise(port: NonNullable<typeof parentPort>): Promise<void> {
  const { url, requests, connections } = workerData as NoiseSettings;
  for (;;) {
    await once(port, 'message');
    const until = once(port, 'message');
    const options = { connections, until, allowRefusals: true };
    port.postMessage(await keepAsking(url, requests, options));
  }
}

if (!isMainThread && parentPort) {
  serveNoise(parentPort);
}
