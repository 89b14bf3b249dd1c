import { InputError, NotAllowedError } from '@backstage/errors';
import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import http from 'node:http';
import https from 'node:https';
import { isIP, isIPv6 } from 'node:net';
import type { Duplex } from 'node:stream';
import {
  Agent,
  type Dispatcher,
  fetch as fetchByUndici,
  getGlobalDispatcher,
} from 'undici';
import { isPublic, lookupPublic } from './addresses';
import { rejectionOf } from '../work/rejectionOf';
import { UnlistedHostError } from './UnlistedHostError';

/** The limits of the requests of one piece of work: which hosts, and how many bytes. */
export interface ReachOptions {
  /** Whether the operator has listed the host of a URL. */
  isListed: (url: URL) => boolean;
  /** Of all answers together, as they are sent. */
  maxBytes?: number;
  /** The limit of one connection of `node:http`, whose bytes are not counted elsewhere. */
  maxBytesOfConnection?: number;
  /** The message beyond `maxBytes`. */
  beyondBytes?: () => Error;
  /** Ends the requests. */
  signal?: AbortSignal;
}

/** Runs a piece of work within a new {@link Reach}. */
export type WithinReach = <T>(work: () => Promise<T>) => Promise<T>;

const reaches = new AsyncLocalStorage<Reach>();
const obeying = new WeakSet<object>();

/** Of Node.js's own agents. */
const AGENT_OPTIONS = {
  keepAlive: true,
  scheduling: 'lifo',
  timeout: 5_000,
} as const;

const listed = new Agent();
const unlisted = new Agent({ connect: { lookup: lookupPublic } });

/**
 * The rule for all requests that a piece of work makes, whichever integration or module makes
 * them and wherever they are led to: each is judged at its connection, and so is
 * each redirect. A host that the operator has listed may have any address; all others are on
 * the internet.
 *
 * Where bytes are counted, answers to `fetch` are not compressed, so that they are those that are
 * kept. Those to `node:http` are counted where they are kept.
 */
export class Reach {
  /** Differs from that of each other. */
  readonly id = randomUUID();
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
   * @throws the error of a refused request, even if the work catches it; otherwise the error of
   * the work
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
    const { maxBytes, signal } = this.#options;
    if (maxBytes !== undefined) {
      // Without compression, the counted bytes are those that are kept.
      request.headers.set('accept-encoding', 'identity');
    }
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
      return maxBytes === undefined
        ? (response as unknown as Response)
        : this.#counted(response as unknown as Response, maxBytes);
    } catch (error) {
      const { cause } = error as Error;
      throw cause instanceof UnlistedHostError ? this.refuse(cause) : error;
    }
  }

  /**
   * What is connected to.
   *
   * @returns whether the operator has listed it; otherwise its name has to be looked up by
   *   {@link lookupPublic}
   * @throws UnlistedHostError for an address that is not public
   */
  judge(url: URL): boolean {
    if (this.#options.isListed(url)) {
      return true;
    }
    const host = url.hostname.replace(/^\[|\]$/g, '');
    if (isIP(host) && !isPublic(host)) {
      throw this.refuse(new UnlistedHostError(url.host));
    }
    return false;
  }

  #dispatcher(): Dispatcher {
    // A proxy that the operator has set connects itself, to the hosts that it allows.
    const ofProcess = getGlobalDispatcher();
    const isProxy = ofProcess.constructor.name !== 'Agent';
    return unlisted.compose(dispatch => (options, handler) => {
      const isListed = this.judge(new URL(options.path, options.origin));
      if (isProxy) {
        return ofProcess.dispatch(options, handler);
      }
      return isListed
        ? listed.dispatch(options, handler)
        : dispatch(options, handler);
    });
  }

  /** Ends a connection of `node:http` beyond its limit. */
  bound<T extends Duplex | null | undefined>(connection: T): T {
    const { maxBytesOfConnection: most } = this.#options;
    if (most !== undefined && connection) {
      let bytes = 0;
      connection.on('data', (chunk: Buffer) => {
        bytes += chunk.byteLength;
        if (bytes > most) {
          connection.destroy(
            this.refuse(new Error(`An answer has more than ${most} bytes`)),
          );
        }
      });
    }
    return connection;
  }

  /** Makes the work fail with this error. */
  refuse(error: Error): Error {
    this.#refusal ??= error;
    return error;
  }

  /** An answer whose bytes are counted as they come. */
  #counted(response: Response, maxBytes: number): Response {
    const encoding = response.headers.get('content-encoding');
    if (encoding && encoding !== 'identity') {
      response.body?.cancel().catch(() => undefined);
      throw this.refuse(
        new InputError(
          `The source is sent compressed (${encoding}), although the request asks for it as it is`,
        ),
      );
    }
    const { beyondBytes } = this.#options;
    const counter = new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, controller) => {
        this.#bytes += chunk.byteLength;
        if (this.#bytes > maxBytes) {
          controller.error(
            this.refuse(
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

/** The reach of the current work, if there is one. */
export function currentReach(): Reach | undefined {
  return reaches.getStore();
}

/** One of Node.js, or of another copy of this module. */
function isReplaceable(agent: http.Agent, ofNode: typeof http.Agent): boolean {
  return agent.constructor === ofNode || 'obeysReach' in agent;
}

interface Connecting {
  host?: string | null;
  port?: number | string | null;
  socketPath?: string;
  lookup?: unknown;
}

/** The options of a connection, with the rule for it. */
function within<TOptions extends Connecting>(
  protocol: string,
  options: TOptions,
): TOptions {
  const reach = currentReach();
  const { host, port, socketPath } = options;
  if (reach && socketPath) {
    // Node.js then ignores the host.
    throw reach.refuse(
      new NotAllowedError(
        `The source leads to ${socketPath}, a socket of this machine`,
      ),
    );
  }
  if (!reach || !host) {
    return options;
  }
  const name = isIPv6(host) ? `[${host}]` : host;
  const isListed = reach.judge(new URL(`${protocol}//${name}:${port ?? ''}`));
  return isListed ? options : { ...options, lookup: lookupPublic };
}

function bound<T extends Duplex | null | undefined>(connection: T): T {
  return currentReach()?.bound(connection) ?? connection;
}

/**
 * A reach shares no connections: another one could otherwise use one to a host that it may not
 * reach.
 */
function nameWithin(name: string): string {
  const reach = currentReach();
  return reach ? `${name}:within ${reach.id}` : name;
}

class ReachAgent extends http.Agent {
  readonly obeysReach = true;

  createConnection(
    options: http.ClientRequestArgs,
    done?: (error: Error | null, stream: Duplex) => void,
  ) {
    return bound(super.createConnection(within('http:', options), done));
  }

  getName(options?: Parameters<http.Agent['getName']>[0]): string {
    return nameWithin(super.getName(options));
  }
}

class SecureReachAgent extends https.Agent {
  readonly obeysReach = true;

  createConnection(
    options: https.RequestOptions,
    done?: (error: Error | null, stream: Duplex) => void,
  ) {
    return bound(super.createConnection(within('https:', options), done));
  }

  getName(options?: https.RequestOptions): string {
    return nameWithin(super.getName(options));
  }
}

/**
 * Has the requests of this process that begin within the work of a {@link Reach} obey it: those
 * by `fetch`, and those by `node:http` and `node:https` that bring no agent of their own.
 */
export function obeyReach(): void {
  const original = globalThis.fetch;
  if (!obeying.has(original)) {
    const obedient: typeof fetch = (input, init) => {
      const reach = currentReach();
      return reach ? reach.fetch(input, init) : original(input, init);
    };
    obeying.add(obedient);
    globalThis.fetch = obedient;
  }
  // A proxy that the operator has set is an agent of another kind, and stays.
  if (isReplaceable(http.globalAgent, http.Agent)) {
    http.globalAgent = new ReachAgent(AGENT_OPTIONS);
  }
  if (isReplaceable(https.globalAgent, https.Agent)) {
    https.globalAgent = new SecureReachAgent(AGENT_OPTIONS);
  }
}
