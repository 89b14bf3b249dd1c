import { ResponseError } from '@backstage/errors';
import type {
  CreateMockupRequest,
  ListMockupsQuery,
  Mockup,
  MockupWithLatestVersion,
  Page,
  Pagination,
  SaveVersionRequest,
  UpdateMockupRequest,
  Version,
} from '../types';
import type {
  MockupApi,
  MockupRequestOptions,
  MockupWriteOptions,
} from './MockupApi';

interface MockupFetchOptions extends MockupWriteOptions {
  method?: string;
  body?: unknown;
}

/**
 * Calls the mockup plugin over HTTP, from a frontend or from another backend.
 *
 * @public
 */
export class MockupClient implements MockupApi {
  readonly #discoveryApi: { getBaseUrl(pluginId: string): Promise<string> };
  readonly #fetchApi: { fetch: typeof fetch };

  /**
   * @param options - `discoveryApi` finds the plugin (the frontend's discovery
   * API, or the backend's discovery service); `fetchApi` is the frontend's,
   * which adds the token of the signed-in user, and the platform's `fetch`
   * where none is given.
   */
  constructor(options: {
    discoveryApi: { getBaseUrl(pluginId: string): Promise<string> };
    fetchApi?: { fetch: typeof fetch };
  }) {
    this.#discoveryApi = options.discoveryApi;
    this.#fetchApi = options.fetchApi ?? { fetch };
  }

  /** {@inheritdoc MockupApi.listMockups} */
  async listMockups(
    query: ListMockupsQuery = {},
    options?: MockupRequestOptions,
  ): Promise<Page<Mockup>> {
    const response = await this.#fetch(`/mockups${toSearch(query)}`, options);
    return readPage(response);
  }

  /** {@inheritdoc MockupApi.getMockup} */
  async getMockup(
    id: string,
    options?: MockupRequestOptions,
  ): Promise<{ mockup: MockupWithLatestVersion; etag: string } | undefined> {
    const response = await this.#fetchIfThere(mockupPath(id), options);
    return (
      response && { mockup: await response.json(), etag: readETag(response) }
    );
  }

  /** {@inheritdoc MockupApi.createMockup} */
  async createMockup(
    request: CreateMockupRequest,
    options?: MockupRequestOptions,
  ): Promise<{ mockup: Mockup; etag: string }> {
    const response = await this.#fetch('/mockups', {
      ...options,
      method: 'POST',
      body: request,
    });
    return { mockup: await response.json(), etag: readETag(response) };
  }

  /** {@inheritdoc MockupApi.updateMockup} */
  async updateMockup(
    id: string,
    request: UpdateMockupRequest,
    options?: MockupWriteOptions,
  ): Promise<{ mockup: Mockup; etag: string }> {
    const response = await this.#fetch(mockupPath(id), {
      ...options,
      method: 'PATCH',
      body: request,
    });
    return { mockup: await response.json(), etag: readETag(response) };
  }

  /** {@inheritdoc MockupApi.deleteMockup} */
  async deleteMockup(id: string, options?: MockupWriteOptions): Promise<void> {
    await this.#fetch(mockupPath(id), { ...options, method: 'DELETE' });
  }

  /** {@inheritdoc MockupApi.saveVersion} */
  async saveVersion(
    mockupId: string,
    request: SaveVersionRequest,
    options?: MockupWriteOptions,
  ): Promise<{ version: Version; etag: string }> {
    const response = await this.#fetch(`${mockupPath(mockupId)}/versions`, {
      ...options,
      method: 'POST',
      body: request,
    });
    return { version: await response.json(), etag: readETag(response) };
  }

  /** {@inheritdoc MockupApi.listVersions} */
  async listVersions(
    mockupId: string,
    query: Pagination = {},
    options?: MockupRequestOptions,
  ): Promise<Page<Version>> {
    const path = `${mockupPath(mockupId)}/versions${toSearch(query)}`;
    return readPage(await this.#fetch(path, options));
  }

  /** {@inheritdoc MockupApi.getVersion} */
  async getVersion(
    mockupId: string,
    versionId: string,
    options?: MockupRequestOptions,
  ): Promise<Version | undefined> {
    const path = `${mockupPath(mockupId)}/versions/${encodeURIComponent(
      versionId,
    )}`;
    const response = await this.#fetchIfThere(path, options);
    return response?.json();
  }

  async #fetch(path: string, options?: MockupFetchOptions): Promise<Response> {
    return assertOk(await this.#send(path, options));
  }

  async #fetchIfThere(
    path: string,
    options?: MockupFetchOptions,
  ): Promise<Response | undefined> {
    const response = await this.#send(path, options);
    return response.status === 404 ? undefined : assertOk(response);
  }

  async #send(path: string, options: MockupFetchOptions = {}) {
    const { method = 'GET', body, token, ifMatch } = options;
    const headers: Record<string, string> = {};
    if (token) {
      headers.Authorization = `Bearer ${token}`;
    }
    // An empty tag must not turn a conditional write into an unconditional one.
    if (ifMatch !== undefined) {
      headers['If-Match'] = ifMatch;
    }
    if (body !== undefined) {
      headers['Content-Type'] = 'application/json';
    }
    const baseUrl = await this.#discoveryApi.getBaseUrl('mockup');
    return this.#fetchApi.fetch(`${baseUrl}${path}`, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  }
}

async function assertOk(response: Response): Promise<Response> {
  if (!response.ok) {
    throw await ResponseError.fromResponse(response);
  }
  return response;
}

function mockupPath(id: string): string {
  return `/mockups/${encodeURIComponent(id)}`;
}

function toSearch(query: ListMockupsQuery | Pagination): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== undefined) {
      search.set(key, String(value));
    }
  }
  const text = search.toString();
  return text && `?${text}`;
}

async function readPage<TItem>(response: Response): Promise<Page<TItem>> {
  return {
    items: await response.json(),
    totalItems: Number(response.headers.get('X-Total-Count')),
  };
}

function readETag(response: Response): string {
  const etag = response.headers.get('ETag');
  if (etag === null) {
    throw new Error(
      'The answer of the mockup plugin has lost its ETag header on the way',
    );
  }
  return etag;
}
