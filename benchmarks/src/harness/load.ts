import autocannon, { type Client, type Request } from 'autocannon';
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { request as send } from 'undici';
import type { Measurement } from './comparison';

/** One request to send. */
export interface LoadRequest {
  method: 'GET' | 'POST';
  path: string;
  headers?: Record<string, string>;
  body?: string;
  /** The length of the right answer, where it is known. Any other answer is wrong. */
  answerLength?: number;
}

/** What a server did under load. */
export interface LoadMeasurement extends Measurement {
  p50: number;
  p99: number;
  /** Requests answered with 429 or 503, or broken off. They are not counted otherwise. */
  refused: number;
}

const NANOSECONDS_PER_MS = 1e6;
const REFUSALS = [429, 503];

/** More than any run takes: the load ends by itself otherwise. */
const LIMIT_SECONDS = 86_400;
const ANSWER_LIMIT_SECONDS = 300;

/**
 * Keeps several connections busy with requests until something has happened. It waits for the
 * last answers, since what is cut off would still keep the server busy.
 *
 * @throws Error if a request fails, or has a wrong answer: a server that fails fast must not
 * look like a fast one. Refusals fail too, unless they are allowed.
 */
export async function keepAsking(
  url: string,
  requests: LoadRequest[],
  options: {
    connections: number;
    until: Promise<unknown>;
    allowRefusals?: boolean;
  },
): Promise<LoadMeasurement> {
  const { connections, until, allowRefusals = false } = options;
  const clients: Client[] = [];
  // Each client ends after the answer that it waits for.
  const endAll = () =>
    clients.forEach(client => Object.assign(client, { responseMax: 1 }));
  let failure: Error | undefined;
  const fail = (message: string) => {
    failure ??= new Error(message);
    endAll();
  };
  const latencies = createHistogram();
  let refused = 0;
  const start = performance.now();
  let end = start;
  const checked = requests.map(request =>
    toChecked(request, fail, allowRefusals),
  );
  await new Promise<void>((resolve, reject) => {
    const load = autocannon(
      {
        url,
        connections,
        duration: LIMIT_SECONDS,
        timeout: ANSWER_LIMIT_SECONDS,
        // How often it looks whether all clients have ended.
        sampleInt: 10,
        setupClient: client => {
          // Each begins elsewhere: equal requests at the same time may be answered at once.
          const first = Math.floor(
            (clients.length * checked.length) / connections,
          );
          client.setRequests([
            ...checked.slice(first),
            ...checked.slice(0, first),
          ]);
          clients.push(client);
        },
      },
      error => (error ? reject(error) : resolve()),
    );
    load.on('response', (_client, status, _bytes, ms) => {
      end = performance.now();
      if (REFUSALS.includes(status)) {
        refused += 1;
      } else {
        recordMs(latencies, ms);
      }
    });
    load.on('reqError', error => {
      end = performance.now();
      refused += 1;
      if (!allowRefusals) {
        fail(`A request failed: ${error}`);
      }
    });
    until.then(endAll, reject);
  });
  if (failure) {
    throw failure;
  }
  return { ...summarize(latencies, (end - start) / 1000), refused };
}

function toChecked(
  { answerLength, ...request }: LoadRequest,
  fail: (message: string) => void,
  allowRefusals: boolean,
): Request {
  const { method, path } = request;
  return {
    ...request,
    onResponse: (status, body) => {
      if (allowRefusals && REFUSALS.includes(status)) {
        return;
      }
      if (status >= 300) {
        fail(`${method} ${path} failed with ${status}: ${body}`);
      } else if (answerLength !== undefined && body.length !== answerLength) {
        fail(
          `${method} ${path} was answered with ${body.length} characters, ` +
            `where ${answerLength} are right`,
        );
      }
    },
  };
}

/** The same for some seconds. */
export async function keepAskingFor(
  seconds: number,
  url: string,
  requests: LoadRequest[],
  options: { connections: number; allowRefusals?: boolean },
): Promise<LoadMeasurement> {
  const until = delay(seconds * 1000);
  return keepAsking(url, requests, { ...options, until });
}

/**
 * Sends one request, and returns the body of the answer.
 *
 * @throws Error if the answer is no success
 */
export async function ask(
  url: string,
  { method, path, headers, body }: LoadRequest,
): Promise<string> {
  const response = await send(`${url}${path}`, { method, headers, body });
  const text = await response.body.text();
  if (response.statusCode >= 300) {
    throw new Error(`${method} ${path}: ${response.statusCode}, ${text}`);
  }
  return text;
}

/** Does something again and again in several lanes, in each lane at least once. */
export async function keepBusy(
  lanes: number,
  seconds: number,
  once: () => Promise<unknown>,
): Promise<Measurement> {
  const latencies = createHistogram();
  const start = performance.now();
  const end = start + seconds * 1000;
  const lane = async () => {
    do {
      const before = performance.now();
      await once();
      recordMs(latencies, performance.now() - before);
    } while (performance.now() < end);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return summarize(latencies, (performance.now() - start) / 1000);
}

/** Records a duration in a histogram, which counts in whole nanoseconds. */
export function recordMs(histogram: RecordableHistogram, ms: number): void {
  histogram.record(Math.max(1, Math.round(ms * NANOSECONDS_PER_MS)));
}

/** A percentile in milliseconds, 0 where nothing was recorded. */
export function percentileOf(
  histogram: RecordableHistogram,
  share: number,
): number {
  return histogram.count === 0
    ? 0
    : histogram.percentile(share) / NANOSECONDS_PER_MS;
}

function summarize(latencies: RecordableHistogram, seconds: number) {
  return {
    count: latencies.count,
    perSecond: latencies.count / seconds,
    p50: percentileOf(latencies, 50),
    p99: percentileOf(latencies, 99),
  };
}
