import { isEqual, union } from 'lodash';
import { expectedFrom } from './meantDifferences';
import type { Answer, Request, Send } from './requests';

const MAX_PAGES = 4;
const MAX_SHOWN = 300;

/** An answer of ours that is not the one that the stock catalog's requires. */
export interface Difference {
  request: Request;
  /** Where in the answers they differ first. */
  at: string;
  expected?: string;
  ours?: string;
}

/** Compares the answers to requests, and what they lead to. */
export class Comparison {
  /** How many answers were compared. */
  compared = 0;
  /** What was found that is not meant. */
  readonly differences: Difference[] = [];

  /** How many of the answers showed something. */
  found = 0;
  readonly #expected: (request: Request) => Promise<Answer>;

  constructor(stock: Send, private readonly ours: Send) {
    this.#expected = expectedFrom(stock);
  }

  /** Compares the answers to a request, and on the way of its cursors, there and back. */
  async compare(request: Request): Promise<void> {
    const first = await this.#compareOne(request);
    let next = following(request, first, 'nextCursor');
    let last: Answer | undefined;
    let lastRequest = request;
    for (let page = 0; next && page < MAX_PAGES; page += 1) {
      last = await this.#compareOne(next);
      lastRequest = next;
      next = following(next, last, 'nextCursor');
    }
    next = last && following(lastRequest, last, 'prevCursor');
    for (let page = 0; next && page < MAX_PAGES; page += 1) {
      last = await this.#compareOne(next);
      next = following(next, last, 'prevCursor');
    }
  }

  async #compareOne(request: Request): Promise<Answer> {
    const [expected, ours] = await Promise.all([
      this.#expected(request),
      this.ours(request),
    ]);
    this.compared += 1;
    this.found += showsSomething(ours) ? 1 : 0;
    const [due, actual] = [expected, ours].map(answer =>
      comparable(request, answer),
    );
    if (!isEqual(actual, due)) {
      this.differences.push({ request, ...difference(due, actual) });
    }
    return ours;
  }
}

/** Where two values differ first, and what they have there. */
function difference(
  expected: unknown,
  ours: unknown,
  at = 'answer',
): Omit<Difference, 'request'> {
  if (isObject(expected) && isObject(ours)) {
    for (const key of union(Object.keys(expected), Object.keys(ours))) {
      if (!isEqual(expected[key], ours[key])) {
        return difference(expected[key], ours[key], `${at}.${key}`);
      }
    }
  }
  const show = (value: unknown) => JSON.stringify(value)?.slice(0, MAX_SHOWN);
  return { at, expected: show(expected), ours: show(ours) };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** Whether an answer has an entity or a count, so that it could be wrong. */
function showsSomething({ status, body }: Answer): boolean {
  const { items = body, facets } = body;
  return (
    status === 200 &&
    (facets
      ? Object.values<unknown[]>(facets).some(counts => counts.length > 0)
      : [items].flat().some(item => item !== null))
  );
}

/** The request for the page to which a cursor of an answer leads. */
function following(
  request: Request,
  answer: Answer,
  which: 'nextCursor' | 'prevCursor',
): Request | undefined {
  if (answer.status !== 200) {
    return undefined;
  }
  const cursor = answer.body.pageInfo?.[which];
  if (cursor === undefined) {
    const next = /<(.*)>; rel="next"/.exec(answer.headers.link ?? '')?.[1];
    return next && which === 'nextCursor'
      ? { ...request, path: next }
      : undefined;
  }
  if (request.method === 'POST') {
    const { limit, fields } = request.body as Record<string, unknown>;
    return { ...request, body: { cursor, limit, fields } };
  }
  const params = new URL(`http://x${request.path}`).searchParams;
  const kept = new URLSearchParams({ cursor });
  for (const name of ['limit', 'fields']) {
    if (params.has(name)) {
      kept.set(name, params.get(name)!);
    }
  }
  return { ...request, path: `/entities/by-query?${kept}` };
}

/** Neither side says in which order an entity's parents come. */
function comparable(request: Request, answer: Answer): Answer {
  if (!request.path.includes('/ancestry') || answer.status !== 200) {
    return answer;
  }
  const { rootEntityRef, items } = answer.body;
  const sorted = items
    .map((item: { parentEntityRefs: string[] }) => ({
      ...item,
      parentEntityRefs: [...item.parentEntityRefs].sort(),
    }))
    .sort((a: { entity: { metadata: { uid: string } } }, b: typeof a) =>
      a.entity.metadata.uid < b.entity.metadata.uid ? -1 : 1,
    );
  return { ...answer, body: { rootEntityRef, items: sorted } };
}
