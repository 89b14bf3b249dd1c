import { createHistogram } from 'node:perf_hooks';
import { Pool } from 'undici';
import type { Measurement } from './comparison';
import { NANOSECONDS_PER_MS, recordMs } from './waits';

/** One request to send. */
export interface LoadRequest {
  method: 'GET' | 'POST';
  path: string;
  headers?: Record<string, string>;
  body?: string;
  /** How long the answer is, where that is known: any other is a wrong one. */
  answerBytes?: number;
}

/** What one round of requests to one server took. */
export type LoadMeasurement = Required<Measurement>;

/**
 * Does something again and again in several lanes, each time as soon as the time before is
 * over, and in each lane at least once.
 *
 * @param once - returns how many things it did, where that is not one
 */
export async function keepBusy(
  lanes: number,
  seconds: number,
  once: () => Promise<number | void>,
): Promise<LoadMeasurement> {
  const latencies = createHistogram();
  const start = performance.now();
  const end = start + seconds * 1000;
  let count = 0;
  const lane = async () => {
    do {
      const before = performance.now();
      const done = (await once()) ?? 1;
      count += done;
      if (done > 0) {
        recordMs(latencies, (performance.now() - before) / done);
      }
    } while (performance.now() < end);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return {
    count,
    perSecond: (count * 1000) / (performance.now() - start),
    p50: latencies.percentile(50) / NANOSECONDS_PER_MS,
    p99: latencies.percentile(99) / NANOSECONDS_PER_MS,
  };
}

/** Keeps a server busy with a fixed number of requests at a time. */
export class LoadGenerator {
  readonly #pool: Pool;
  readonly #concurrency: number;

  constructor(options: { url: string; concurrency: number }) {
    this.#concurrency = options.concurrency;
    this.#pool = new Pool(options.url, {
      connections: options.concurrency,
      // One request at a time per connection, as browsers and proxies do it.
      pipelining: 1,
    });
  }

  /**
   * Sends requests for a number of seconds, the next one as soon as one is
   * answered.
   *
   * @throws Error if any request is not answered as a success, or with an answer of
   * another length: a server that fails fast must not look like a fast one
   */
  async run(
    seconds: number,
    nextRequest: () => LoadRequest,
  ): Promise<LoadMeasurement> {
    return await keepBusy(this.#concurrency, seconds, async () => {
      await this.#fetch(nextRequest());
    });
  }

  /** Sends one request, and returns the body of the response. */
  async send(request: LoadRequest): Promise<string> {
    return Buffer.from(await this.#fetch(request)).toString();
  }

  async close(): Promise<void> {
    await this.#pool.close();
  }

  async #fetch({ answerBytes, ...request }: LoadRequest): Promise<ArrayBuffer> {
    const { statusCode, body } = await this.#pool.request(request);
    // Read to its end but not parsed, so that the servers wait for this process
    // as little as possible.
    const content = await body.arrayBuffer();
    if (statusCode >= 300) {
      throw new Error(
        `${request.method} ${request.path} failed with ${statusCode}: ` +
          `${Buffer.from(content).toString()}`,
      );
    }
    if (answerBytes !== undefined && content.byteLength !== answerBytes) {
      throw new Error(
        `${request.method} ${request.path} was answered with ` +
          `${content.byteLength} bytes, where ${answerBytes} are right`,
      );
    }
    return content;
  }
}
