/** A request to `/api/catalog`. */
export interface Request {
  method: 'GET' | 'POST' | 'HEAD';
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
