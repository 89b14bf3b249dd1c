import { InputError } from '@backstage/errors';
import { AsyncLocalStorage } from 'node:async_hooks';
import { isIP } from 'node:net';
import {
  Agent,
  type Dispatcher,
  fetch as fetchByUndici,
  getGlobalDispatcher,
} from 'undici';
import { isPublic, lookupPublic } from './addresses';
import { UnlistedHostError } from './UnlistedHostError';

/** What may be connected to, and how much may be read, by the requests of one piece of work. */
export interface ReachOptions {
  /** Whether the operator has listed the host of a URL. */
  isListed: (url: URL) => boolean;
  /** Of all answers together, as they are sent. */
  maxBytes?: number;
  /** What is said beyond `maxBytes`. */
  beyondBytes?: () => Error;
  /** Ends the requests. */
  signal?: AbortSignal;
}

const reaches = new AsyncLocalStorage<Reach>();

const listed = new Agent();
const unlisted = new Agent({ connect: { lookup: lookupPublic } });

/**
 * The rule for all requests that a piece of work makes by `fetch`, whichever integration or
 * module makes them and wherever they are led to: each is judged at its connection, and so is
 * each redirect. A host that the operator has listed may have any address; all others are on
 * the internet.
 *
 * Answers are not compressed, so that the bytes that are counted are those that are kept.
 */
export class Reach {
  readonly #options: ReachOptions;
  #bytes = 0;
  /** Why a request was refused: `fetch` says that it failed, and no more. */
  #refusal?: Error;

  constructor(options: ReachOptions) {
    this.#options = options;
  }

  /**
   * Runs the work.
   *
   * @throws what was refused to it, whatever the work makes of that; otherwise what it throws
   */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const { signal } = this.#options;
    signal?.throwIfAborted();
    try {
      return await Promise.race([
        reaches.run(this, work),
        ...(signal ? [rejectionOf(signal)] : []),
      ]);
    } catch (error) {
      throw this.#refusal ?? error;
    }
  }

  /** As `fetch`. */
  async fetch(
    input: string | URL | Request,
    init?: RequestInit,
  ): Promise<Response> {
    const request = new Request(input, init);
    // Nothing is unpacked, so that what is counted is what is kept.
    request.headers.set('accept-encoding', 'identity');
    const { signal } = this.#options;
    try {
      const response = await fetchByUndici(request.url, {
        method: request.method,
        headers: [...request.headers],
        body: request.body as ReadableStream | null,
        duplex: 'half',
        redirect: request.redirect,
        signal: signal
          ? AbortSignal.any([signal, request.signal])
          : request.signal,
        dispatcher: this.#dispatcher(),
      });
      return this.#counted(response as unknown as Response);
    } catch (error) {
      const { cause } = error as Error;
      throw cause instanceof UnlistedHostError ? this.#refuse(cause) : error;
    }
  }

  #dispatcher(): Dispatcher {
    // A proxy that the operator has set connects by itself: to hosts that it lets through.
    const ofProcess = getGlobalDispatcher();
    const isProxy = ofProcess.constructor.name !== 'Agent';
    return unlisted.compose(dispatch => (options, handler) => {
      const url = new URL(options.path, options.origin);
      const isListed = this.#options.isListed(url);
      const host = url.hostname.replace(/^\[|\]$/g, '');
      // A name is looked up when it is connected to.
      if (!isListed && isIP(host) && !isPublic(host)) {
        throw this.#refuse(new UnlistedHostError(url.host));
      }
      if (isProxy) {
        return ofProcess.dispatch(options, handler);
      }
      return isListed
        ? listed.dispatch(options, handler)
        : dispatch(options, handler);
    });
  }

  #refuse(error: Error): Error {
    this.#refusal ??= error;
    return error;
  }

  /** An answer whose bytes are counted as they come. */
  #counted(response: Response): Response {
    const encoding = response.headers.get('content-encoding');
    if (encoding && encoding !== 'identity') {
      response.body?.cancel().catch(() => undefined);
      throw this.#refuse(
        new InputError(
          `The source is sent compressed (${encoding}), although the request asks for it as it is`,
        ),
      );
    }
    const { maxBytes = Infinity, beyondBytes } = this.#options;
    const counter = new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, controller) => {
        this.#bytes += chunk.byteLength;
        if (this.#bytes > maxBytes) {
          controller.error(
            this.#refuse(
              beyondBytes?.() ?? new Error(`More than ${maxBytes} bytes`),
            ),
          );
        } else {
          controller.enqueue(chunk);
        }
      },
    });
    const { status, statusText, headers, url } = response;
    return Object.defineProperty(
      new Response(response.body?.pipeThrough(counter) ?? null, {
        status,
        statusText,
        headers: [...headers],
      }),
      'url',
      { value: url },
    );
  }
}

function rejectionOf(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), {
      once: true,
    });
  });
}

/** Has the `fetch` of this process obey the {@link Reach} in which it is called, if any. */
export function obeyReach(): void {
  const original = globalThis.fetch;
  if (!obeying.has(original)) {
    const obedient: typeof fetch = (input, init) => {
      const reach = reaches.getStore();
      return reach ? reach.fetch(input, init) : original(input, init);
    };
    obeying.add(obedient);
    globalThis.fetch = obedient;
  }
}

const obeying = new WeakSet<typeof fetch>();
