import { ResponseError } from '@backstage/errors';

export { parseInput } from './parseInput';
export { refuseLonger } from './refuseLonger';
export { isStorableText, isWithin } from './texts';

/** How a client finds its plugin and reaches it. */
export interface HttpClientOptions {
  /** The frontend's discovery API, or the backend's discovery service. */
  discoveryApi: { getBaseUrl(pluginId: string): Promise<string> };
  /** The platform's `fetch` where none is given. */
  fetchApi?: { fetch: typeof fetch };
}

/** What a request has beside its path. */
export interface HttpRequest {
  method?: string;
  /** Sent as JSON. */
  body?: unknown;
  /** Sent as it is, a JSON text, instead of `body`. */
  jsonText?: string | Blob;
  token?: string;
  ifMatch?: string;
  idempotencyKey?: string;
  tenantSlug?: string;
}

/** A page of a list, with the number of its entries and the way to the next page. */
export interface PageOf<TItem> {
  items: TItem[];
  totalItems: number;
  nextCursor?: string;
}

/** Calls the routes of one plugin. */
export class HttpClient {
  readonly #pluginId: string;
  readonly #discoveryApi: HttpClientOptions['discoveryApi'];
  readonly #fetchApi: { fetch: typeof fetch };

  constructor(pluginId: string, options: HttpClientOptions) {
    this.#pluginId = pluginId;
    this.#discoveryApi = options.discoveryApi;
    // A browser's `fetch` fails as a method of another object than the window.
    this.#fetchApi = options.fetchApi ?? {
      fetch: (...args) => fetch(...args),
    };
  }

  /**
   * @returns the answer, where it is a success
   * @throws `ResponseError` for any other
   */
  async fetch(path: string, request?: HttpRequest): Promise<Response> {
    return assertOk(await this.#send(path, request));
  }

  /** Reads the JSON of an answer, otherwise like {@link HttpClient.fetch}. */
  async json<T>(path: string, request?: HttpRequest): Promise<T> {
    const response = await this.fetch(path, request);
    return response.json();
  }

  /** Reads the JSON of an answer to a request that changes something. */
  send<T>(
    method: 'PATCH' | 'POST' | 'PUT',
    path: string,
    body: unknown,
    request?: HttpRequest,
  ): Promise<T> {
    return this.json(path, { ...request, method, body });
  }

  async delete(path: string, request?: HttpRequest): Promise<void> {
    await this.fetch(path, { ...request, method: 'DELETE' });
  }

  /** Reads a page of a list. */
  async page<TItem>(
    path: string,
    query: object,
    request?: HttpRequest,
  ): Promise<PageOf<TItem>> {
    const response = await this.fetch(`${path}${toSearch(query)}`, request);
    const nextCursor = /[?&]cursor=([^&>]+)[^>]*>; *rel="next"/.exec(
      response.headers.get('Link') ?? '',
    )?.[1];
    return {
      items: await response.json(),
      totalItems: Number(response.headers.get('X-Total-Count')),
      ...(nextCursor && { nextCursor: decodeURIComponent(nextCursor) }),
    };
  }

  /** Returns `undefined` for 404, otherwise like {@link HttpClient.json}. */
  async jsonIfThere<T>(
    path: string,
    request?: HttpRequest,
  ): Promise<T | undefined> {
    const response = await this.fetchIfThere(path, request);
    return response?.json();
  }

  /** Returns `undefined` for 404, otherwise like {@link HttpClient.fetch}. */
  async fetchIfThere(
    path: string,
    request?: HttpRequest,
  ): Promise<Response | undefined> {
    const response = await this.#send(path, request);
    return response.status === 404 && !isPage(response)
      ? undefined
      : assertOk(response);
  }

  async #send(path: string, request: HttpRequest = {}): Promise<Response> {
    const {
      method = 'GET',
      body,
      jsonText,
      token,
      ifMatch,
      idempotencyKey,
      tenantSlug,
    } = request;
    const headers: Record<string, string> = {};
    if (token) {
      headers.Authorization = `Bearer ${token}`;
    }
    // An empty tag must not turn a conditional write into an unconditional one.
    if (ifMatch !== undefined) {
      headers['If-Match'] = ifMatch;
    }
    if (idempotencyKey !== undefined) {
      headers['Idempotency-Key'] = idempotencyKey;
    }
    if (tenantSlug !== undefined) {
      headers['X-Tenant-Slug'] = tenantSlug;
    }
    const text = body === undefined ? jsonText : JSON.stringify(body);
    if (text !== undefined) {
      headers['Content-Type'] = 'application/json';
    }
    const baseUrl = await this.#discoveryApi.getBaseUrl(this.#pluginId);
    return this.#fetchApi.fetch(`${baseUrl}${path}`, {
      method,
      headers,
      body: text,
    });
  }
}

/**
 * The query string of the defined values, with its `?`; empty where there are none. A list
 * becomes one parameter for each of its entries.
 */
export function toSearch(query: object): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    for (const each of [value].flat()) {
      if (each !== undefined) {
        search.append(key, String(each));
      }
    }
  }
  const text = search.toString();
  return text && `?${text}`;
}

/** A path, such as `pathOf`/tenants/${slug}``, with its values encoded. */
export function pathOf(
  texts: TemplateStringsArray,
  ...values: string[]
): string {
  return String.raw({ raw: texts }, ...values.map(encodeURIComponent));
}

/**
 * The entity tag of an answer, which `ifMatch` takes. Our plugins send strong tags alone: a weak one
 * is of a proxy that compresses answers, and would never match (RFC 9110, 13.1.1).
 */
export function etagOf(response: Response): string | undefined {
  return response.headers.get('ETag')?.replace(/^W\//, '');
}

async function assertOk(response: Response): Promise<Response> {
  if (!response.ok || isPage(response)) {
    throw await ResponseError.fromResponse(response);
  }
  return response;
}

/** Of a proxy, which asks to sign in or knows no way to the backend: no plugin answers so. */
function isPage({ headers }: Response): boolean {
  return headers.get('Content-Type')?.startsWith('text/html') === true;
}
