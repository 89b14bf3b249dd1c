import { InputError } from '@backstage/errors';
import createLimit from 'p-limit';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { TurnsByKey } from '../work/TurnsByKey';
import { type SourceBounds, tooMuch } from './bounds';
import { PARSE_IN_WORKER } from './parseInWorker';

/** How many files of all tenants are parsed at a time. */
const THREADS = 2;

/** A file within the bounds takes less; one that takes more ends the thread, and no more. */
const HEAP_MB = 512;

/** A document of a file, in the order of the file. */
export type ParsedDocument =
  /** The value, as JSON. */
  | { json: string }
  /** The errors of the parser. */
  | { error: string };

type Answer =
  | { documents: ParsedDocument[] }
  | { beyond: 'maxEntities' | 'maxValues' | 'maxDepth' }
  | { failure: string };

/**
 * Parses the YAML and JSON of tenants in two threads of this process: one file of each tenant at a time,
 * the tenants in turn. A file whose cost no bound catches ends only its thread.
 */
export class SourceParser {
  readonly #bounds: SourceBounds;
  readonly #all = createLimit(THREADS);
  readonly #byTenant = new TurnsByKey();
  readonly #idle: Worker[] = [];

  constructor(bounds: SourceBounds) {
    this.#bounds = bounds;
  }

  /** @throws InputError that names the bound which the file is beyond */
  async parse(
    tenantId: string,
    text: string,
    format: 'json' | 'yaml' = 'yaml',
  ): Promise<ParsedDocument[]> {
    return this.#byTenant.run(tenantId, () =>
      this.#all(() => this.#parse(text, format)),
    );
  }

  async #parse(
    text: string,
    format: 'json' | 'yaml',
  ): Promise<ParsedDocument[]> {
    const worker = this.#idle.pop() ?? this.#startWorker();
    const { maxEntities, maxValues, maxDepth, maxBytes } = this.#bounds;
    let isDone = false;
    let isLate = false;
    const answered = new AbortController();
    const { signal } = answered;
    const answer = Promise.race([
      once(worker, 'message', { signal }).then(
        ([message]) => message as Answer,
      ),
      once(worker, 'exit', { signal }).then(() => {
        throw new InputError('The source ended the thread that parsed it');
      }),
    ]);
    const timer = setTimeout(() => {
      isLate = true;
      worker.terminate();
    }, this.#bounds.timeoutMs);
    worker.postMessage({
      text,
      format,
      bounds: { maxEntities, maxValues, maxDepth, maxCharacters: 2 * maxBytes },
    });
    try {
      const result = await answer;
      isDone = true;
      if ('beyond' in result) {
        throw tooMuch(result.beyond, this.#bounds);
      }
      if ('failure' in result) {
        throw new InputError(result.failure);
      }
      return result.documents;
    } catch (error) {
      if (isLate) {
        throw tooMuch('timeoutMs', this.#bounds);
      }
      throw (error as { code?: string }).code === 'ERR_WORKER_OUT_OF_MEMORY'
        ? new InputError(
            `The source takes more than ${HEAP_MB} MB to be parsed`,
          )
        : error;
    } finally {
      clearTimeout(timer);
      answered.abort();
      if (isDone) {
        this.#idle.push(worker);
      } else {
        // Errors of a thread that is being ended are ignored.
        worker.on('error', () => undefined);
        await worker.terminate();
      }
    }
  }

  #startWorker(): Worker {
    const worker = new Worker(PARSE_IN_WORKER, {
      eval: true,
      // Without the environment of the process, which sources must not see.
      env: {},
      workerData: { yaml: require.resolve('yaml') },
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    });
    worker.unref();
    return worker;
  }

  /** Ends the threads. */
  async close(): Promise<void> {
    await Promise.all(this.#idle.splice(0).map(worker => worker.terminate()));
  }
}
