import type { ServerResponse } from 'node:http';

/** How long a shutdown waits in all. Requests that take longer usually wait for events. */
const LONGEST_MS = 10_000;

/**
 * The requests that have passed a gate and are not answered yet. A shutdown waits for them
 * before it closes connections that they use.
 *
 * @public
 */
export class RequestsUnderWay {
  readonly #answers = new Map<Pick<ServerResponse, 'destroy'>, Promise<void>>();
  #deadline?: Promise<void>;
  #isOver = false;

  /**
   * Counts a request until its response is closed, which may have been before.
   *
   * @param response - emits `close` when it is sent or the client disconnects
   */
  begin(response: Pick<ServerResponse, 'closed' | 'once' | 'destroy'>): void {
    if (this.#isOver) {
      response.destroy();
      return;
    }
    if (response.closed) {
      return;
    }
    const answer = new Promise<void>(resolve => {
      response.once('close', resolve);
    });
    this.#answers.set(response, answer);
    answer.finally(() => this.#answers.delete(response));
  }

  /**
   * Resolves when the current requests are answered, or 10 seconds after the first call. Then
   * the remaining responses are destroyed: the server waits for each connection, and a long
   * poll for events would delay the shutdown by a minute.
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
