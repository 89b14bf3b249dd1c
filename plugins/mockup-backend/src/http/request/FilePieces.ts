import { InputError } from '@backstage/errors';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/**
 * The heap of the thread, for each character of the file. Arrays within each other take the most, 28
 * bytes; the thread needs 30 with the file itself. A heap that is full within `JSON.parse` ends the whole process.
 */
const HEAP_BYTES_PER_CHARACTER = 40;
const LEAST_HEAP_MB = 64;

/**
 * The code of the thread. It is a text, since a package that is built has no file of its own for a
 * thread.
 *
 * For each message it answers with the next piece: the file with a place for each mockup, each
 * mockup with a place for each version, and its versions.
 */
const PARSE = `
const { createHash } = require('node:crypto');
const { parentPort, workerData: { text, maxCharacters } } = require('node:worker_threads');

function* pieces() {
  const file = JSON.parse(text);
  yield without(file, 'mockups');
  for (const mockup of file.mockups) {
    yield without(mockup, 'versions');
    yield* mockup.versions;
  }
}

function without(value, list) {
  return Array.isArray(value?.[list]) ? { ...value, [list]: value[list].map((_, i) => i) } : value;
}

const all = pieces();
const digest = createHash('sha256').update(text).digest('base64url');
parentPort.on('message', () => {
  try {
    const { value } = all.next();
    const isLarge = JSON.stringify(value).length > maxCharacters;
    parentPort.postMessage(isLarge ? { isLarge } : { value, digest });
  } catch (error) {
    parentPort.postMessage({ failure: error.message });
  }
});
`;

type Answer =
  | { value: unknown; digest: string }
  | { isLarge: true }
  | { failure: string };

/**
 * Parses the JSON of a file of mockups in a thread, since this one may not stand still for as long as
 * that takes.
 */
export class FilePieces {
  readonly #worker: Worker;
  readonly #maxCharacters: number;
  readonly #heapMb: number;
  readonly #failed: Promise<never>;
  /** Of the whole file; there from the first piece on. */
  digest?: string;

  /** @param options.maxCharacters - the largest piece, as JSON */
  constructor(text: string, options: { maxCharacters: number }) {
    this.#maxCharacters = options.maxCharacters;
    this.#heapMb =
      LEAST_HEAP_MB +
      Math.ceil((text.length * HEAP_BYTES_PER_CHARACTER) / 1024 ** 2);
    this.#worker = new Worker(PARSE, {
      eval: true,
      env: {},
      workerData: { text, ...options },
      resourceLimits: { maxOldGenerationSizeMb: this.#heapMb },
    });
    this.#failed = new Promise((_resolve, reject) => {
      this.#worker.on('error', reject);
      // Of a piece that this thread has too small a stack for.
      this.#worker.on('messageerror', reject);
    });
    // `next` sees it.
    this.#failed.catch(() => undefined);
  }

  /**
   * The next piece. Call it only where the pieces before it were valid, so that there is one.
   *
   * @param where - the piece's path, for errors
   * @throws InputError if the file is no JSON, or the piece is too large
   */
  async next(where: string): Promise<unknown> {
    this.#worker.postMessage('next');
    const answered = once(this.#worker, 'message');
    const [answer] = (await Promise.race([answered, this.#failed]).catch(
      error => {
        if (error.code === 'ERR_WORKER_OUT_OF_MEMORY') {
          throw new InputError(
            `Invalid file: it takes more than ${this.#heapMb} MB to be parsed`,
          );
        }
        if (error.name === 'RangeError') {
          return [{ failure: error.message }];
        }
        throw error;
      },
    )) as [Answer];
    if ('failure' in answer) {
      throw new InputError(
        `Invalid file: ${where} can't be parsed as JSON: ${answer.failure}`,
      );
    }
    if ('isLarge' in answer) {
      throw new InputError(
        `Invalid file: ${where} is larger than ${
          this.#maxCharacters
        } characters`,
      );
    }
    this.digest = answer.digest;
    return answer.value;
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }
}
