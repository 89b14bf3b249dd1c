import type { EventEmitter } from 'node:events';

/** For how long a stop waits in all: what takes longer waits for events, as a rule. */
const LONGEST_MS = 10_000;

/**
 * The requests behind the gates that are not answered yet. A backend that stops waits for
 * them, before anything closes that they work with.
 *
 * @public
 */
export class RequestsUnderWay {
  readonly #answers = new Set<Promise<void>>();
  #deadline?: Promise<void>;

  /**
   * Counts a request until its response is closed.
   *
   * @param response - which emits `close` once it is sent, or its caller has gone
   */
  begin(response: Pick<EventEmitter, 'once'>): void {
    const answer = new Promise<void>(resolve => {
      response.once('close', resolve);
    });
    this.#answers.add(answer);
    answer.finally(() => this.#answers.delete(answer));
  }

  /** Resolves when those of now are answered, or 10 seconds after the first call. */
  async answered(): Promise<void> {
    this.#deadline ??= new Promise(resolve => {
      setTimeout(resolve, LONGEST_MS).unref();
    });
    await Promise.race([Promise.all(this.#answers), this.#deadline]);
  }
}
