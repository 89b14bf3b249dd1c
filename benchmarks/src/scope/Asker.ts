import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import type { Measurement } from '../harness/comparison';

const NANOSECONDS_PER_MS = 1e6;

/** What is asked for again and again, with the number of the question. */
export type AskNext = (number: number) => Promise<unknown>;

/** Has some questions under way at any time for some time, each asker at least one. */
export class Asker {
  readonly #ask: AskNext;
  readonly #concurrency: number;
  #next = 0;

  constructor(ask: AskNext, concurrency: number) {
    this.#ask = ask;
    this.#concurrency = concurrency;
  }

  async forSeconds(seconds: number): Promise<Measurement> {
    const latencies = createHistogram();
    const start = performance.now();
    const end = start + seconds * 1000;
    await this.#together(async () => {
      do {
        await this.#askOne(latencies);
      } while (performance.now() < end);
    });
    return {
      count: latencies.count,
      perSecond: (latencies.count * 1000) / (performance.now() - start),
      p50: latencies.percentile(50) / NANOSECONDS_PER_MS,
      p99: latencies.percentile(99) / NANOSECONDS_PER_MS,
    };
  }

  /** Asks so many questions. */
  async times(count: number): Promise<void> {
    const last = this.#next + count;
    await this.#together(async () => {
      while (this.#next < last) {
        await this.#askOne();
      }
    });
  }

  async #together(askSome: () => Promise<void>): Promise<void> {
    await Promise.all(Array.from({ length: this.#concurrency }, askSome));
  }

  async #askOne(latencies?: RecordableHistogram): Promise<void> {
    const number = this.#next;
    this.#next += 1;
    const start = performance.now();
    await this.#ask(number);
    latencies?.record(
      Math.max(1, Math.round((performance.now() - start) * NANOSECONDS_PER_MS)),
    );
  }
}
