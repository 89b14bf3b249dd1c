import { MEANT_DIFFERENCES } from './meantDifferences';
import type { Request } from './Request';
import type { Answer, Send } from './Sender';

const MAX_PAGES = 6;

/** Compares the answers to requests, and what they lead to. */
export class Comparison {
  /** How many answers were compared. */
  compared = 0;

  constructor(
    private readonly stock: Send,
    private readonly ours: Send,
    /** What to say where two answers differ. */
    private readonly context: string,
  ) {}

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
    const [stock, ours] = await Promise.all([
      this.stock(request),
      this.ours(request),
    ]);
    this.compared += 1;
    const isMeant = MEANT_DIFFERENCES.some(difference =>
      difference.explains(request, stock, ours),
    );
    if (!isMeant) {
      expect({
        context: this.context,
        request,
        answer: comparable(request, ours),
      }).toEqual({
        context: this.context,
        request,
        answer: comparable(request, stock),
      });
    }
    return ours;
  }
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
    const next = /<(.*)>; rel="next"/.exec(answer.link ?? '')?.[1];
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
