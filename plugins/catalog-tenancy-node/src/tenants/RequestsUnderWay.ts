import type { ServerResponse } from 'node:http';

/** For how long a stop waits in all: what takes longer waits for events, as a rule. */
const LONGEST_MS = 10_000;

/**
 * The requests behind the gates that are not answered yet. A backend that stops waits for
 * them, before anything closes that they work with.
 *
 * @public
 */
export class RequestsUnderWay {
  readonly #answers = new Map<Pick<ServerResponse, 'destroy'>, Promise<void>>();
  #deadline?: Promise<void>;
  #isOver = false;

  /**
   * Counts a request until its response is closed.
   *
   * @param response - which emits `close` once it is sent, or its caller has gone
   */
  begin(response: Pick<ServerResponse, 'once' | 'destroy'>): void {
    if (this.#isOver) {
      response.destroy();
      return;
    }
    const answer = new Promise<void>(resolve => {
      response.once('close', resolve);
    });
    this.#answers.set(response, answer);
    answer.finally(() => this.#answers.delete(response));
  }

  /**
   * Resolves when those of now are answered, or 10 seconds after the first call. What is not
   * answered then is cut off: the server waits for each connection, and a plugin that waits for
   * events would hold it up for a minute.
   */
  async answered(): Promise<void> {
    this.#deadline ??= new Promise(resolve => {
      setTimeout(() => {
        this.#cutOff();
        resolve();
      }, LONGEST_MS).unref();
    });
    await Promise.race([Promise.all(this.#answers.values()), this.#deadline]);
  }

  #cutOff(): void {
    this.#isOver = true;
    [...this.#answers.keys()].forEach(response => response.destroy());
  }
}
