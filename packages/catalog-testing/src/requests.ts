import { mockCredentials } from '@backstage/backend-test-utils';
import type { CatalogBackend } from './startCatalogBackend';

/** A request to `/api/catalog`. */
export interface Request {
  method: string;
  path: string;
  body?: unknown;
}

export function get(path: string): Request {
  return { method: 'GET', path };
}

export function post(path: string, body: unknown): Request {
  return { method: 'POST', path, body };
}

/** A path with a query, of which each value may be there several times. */
export function withQuery(
  path: string,
  query: Record<string, string | number | string[] | undefined>,
): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const each of [value ?? []].flat()) {
      params.append(name, String(each));
    }
  }
  return params.size > 0 ? `${path}?${params}` : path;
}

// Headers about when and how an answer was sent, rather than what it says.
const ABOUT_TRANSPORT = [
  ...['date', 'connection', 'keep-alive'],
  ...['content-length', 'transfer-encoding'],
];

/** What an answer says. */
export interface Answer {
  status: number;
  /**
   * All headers but those about transport. Entity tags are left out of their header,
   * because JSONB keeps no order of keys: equal answers have texts of their own.
   */
  headers: Record<string, string>;
  // Compared, and looked into by tests that know what they have asked for.
  body: any;
}

/** Sends a request as one user. */
export type Send = (request: Request) => Promise<Answer>;

export function sender(
  backend: CatalogBackend,
  options: { tenant?: string; authorization?: string } = {},
): Send {
  const { tenant, authorization = mockCredentials.user.header() } = options;
  const caller = backend.as(tenant);
  return async ({ method, path, body }) => {
    const answer = await caller
      .send(method, path, body)
      .set('Authorization', authorization);
    return {
      status: answer.status,
      headers: comparableHeaders({ path, body }, answer),
      body: answer.body,
    };
  };
}

/**
 * Of the headers of an answer, those that {@link Answer} has. Without the entity tag of an answer
 * with `fields`, which the stock catalog has no more since 4.0.1.
 */
export function comparableHeaders(
  { path, body }: Pick<Request, 'path' | 'body'>,
  { status, headers }: Pick<Answer, 'status' | 'headers'>,
): Record<string, string> {
  const isTagged =
    status !== 200 ||
    !(/[?&]fields/.test(path) || Object(body).fields?.length > 0);
  return Object.fromEntries(
    Object.entries(headers)
      .filter(([name]) => !ABOUT_TRANSPORT.includes(name))
      .filter(([name]) => isTagged || name !== 'etag')
      .map(([name, value]) => [
        name,
        name === 'etag' ? value.replace(/"[^"]*"/, '""') : value,
      ]),
  );
}
