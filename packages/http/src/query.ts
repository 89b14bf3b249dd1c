import type { Request } from 'express';

const NUMBERS = ['limit', 'offset'];
const FLAGS = ['deleted', 'summary'];

/** The address that a caller has sent. Its query may have another `?` in it. */
export function addressOf({ originalUrl }: Request): {
  path: string;
  query: URLSearchParams;
} {
  const [path, ...search] = originalUrl.split('?');
  return { path, query: new URLSearchParams(search.join('?')) };
}

/**
 * The query of a request, for a schema that refuses unknown parameters. Converts plain decimal
 * numbers and booleans, and leaves everything else as text.
 */
export function readQuery(req: Request): Record<string, unknown> {
  const parsed: Record<string, unknown> = { ...req.query };
  for (const key of NUMBERS) {
    const value = parsed[key];
    if (typeof value === 'string' && /^\d+$/.test(value)) {
      parsed[key] = Number(value);
    }
  }
  for (const key of FLAGS) {
    if (parsed[key] === 'true' || parsed[key] === 'false') {
      parsed[key] = parsed[key] === 'true';
    }
  }
  // Express leaves it out, so that no schema would see it.
  return [...addressOf(req).query.keys()].some(key => /^__proto__/.test(key))
    ? { ...parsed, ['__proto__']: '' }
    : parsed;
}
