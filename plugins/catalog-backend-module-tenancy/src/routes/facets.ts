import { InputError } from '@backstage/errors';
import {
  type FacetCount,
  type FacetsQuery,
  parseFilter,
} from 'backstage-plugin-catalog-tenancy-node';
import type { Request, Response, Router } from 'express';
import type { OperationContext, Operations } from './operations';
import {
  type BodySchema,
  OBJECT,
  readJsonBody,
  STRINGS,
} from './request/parseBody';
import { parsePredicate } from './request/parsePredicate';
import { parseQuery } from './request/parseQuery';
import { sendTexts } from './response';

const EVENT = { eventId: 'entity-facets' };

/** The routes that count values of entities. */
export function mountFacets(router: Router, operations: Operations): void {
  router.get(
    '/entity-facets',
    operations.read(
      () => ({}),
      context => answer(context, parseFacetParameters(context.req.query)),
      EVENT,
    ),
  );

  router.post(
    '/entity-facets',
    operations.read(
      () => ({}),
      async context => {
        parseQuery(context.req.query, {});
        const query = await parseFacetsBody(context.req, context.res);
        await answer(context, query);
      },
      EVENT,
    ),
  );
}

/** The most keys whose values are in memory at once: each entity may have a value of its own. */
const KEYS_AT_ONCE = 5;

/** The most counts in one text. */
const COUNTS_AT_ONCE = 1_000;

/**
 * Sends many counts in several texts, and reads a few keys at a time: a request may name thousands
 * of keys, or thousands of spellings of one.
 */
async function answer(
  { res, tenantId, catalog, assertStillAdmitted }: OperationContext,
  { facets, filter }: FacetsQuery,
): Promise<void> {
  const [part, ...others] = inParts(facets);
  const read = (some: string[]) =>
    catalog.countFacets(tenantId, { facets: some, filter });
  const first = await read(part);
  const counts = Object.values(first).reduce(
    (sum, { length }) => sum + length,
    0,
  );
  if (others.length === 0 && counts <= COUNTS_AT_ONCE) {
    res.json({ facets: first });
    return;
  }
  async function* texts() {
    yield '{"facets":{';
    yield* textsOf(first);
    for (const other of others) {
      await assertStillAdmitted();
      yield ',';
      yield* textsOf(await read(other));
    }
    yield '}}';
  }
  await sendTexts(res, texts());
}

/** Different facets, with all spellings of a key in one part. */
function inParts(facets: readonly string[]): string[][] {
  const byKey = new Map<string, string[]>();
  for (const facet of new Set(facets)) {
    const key = facet.toLowerCase();
    const spellings = byKey.get(key) ?? [];
    spellings.push(facet);
    byKey.set(key, spellings);
  }
  const keys = [...byKey.values()];
  const parts: string[][] = [];
  while (keys.length > 0) {
    parts.push(keys.splice(0, KEYS_AT_ONCE).flat());
  }
  return parts;
}

/** The properties of a JSON object, without its braces. */
function* textsOf(facets: Record<string, FacetCount[]>): Generator<string> {
  let separator = '';
  for (const [facet, counts] of Object.entries(facets)) {
    yield `${separator}${JSON.stringify(facet)}:[`;
    for (let at = 0; at < counts.length; at += COUNTS_AT_ONCE) {
      const some = JSON.stringify(counts.slice(at, at + COUNTS_AT_ONCE));
      yield `${at === 0 ? '' : ','}${some.slice(1, -1)}`;
    }
    yield ']';
    separator = ',';
  }
}

const schema: BodySchema = {
  type: 'object',
  required: ['facets'],
  properties: { facets: STRINGS, query: OBJECT },
};

/**
 * Parses the parameters of `GET /entity-facets`.
 *
 * @throws InputError that names a parameter that is unknown, malformed or missing
 */
function parseFacetParameters(query: Request['query']): FacetsQuery {
  const given = parseQuery(
    query,
    { facet: 'strings', filter: 'strings' },
    { required: ['facet'] },
  );
  const filter = parseFilter(given.filter);
  const facets = given.facet?.filter(Boolean) ?? [];
  if (facets.length === 0) {
    throw new InputError('Missing facet parameter');
  }
  return { facets, filter };
}

/**
 * Reads the body of `POST /entity-facets`.
 *
 * @throws InputError that names what is malformed or missing
 */
async function parseFacetsBody(
  req: Request,
  res: Response,
): Promise<FacetsQuery> {
  const body = await readJsonBody<{ facets: string[]; query?: object }>(
    req,
    res,
    schema,
    { required: true },
  );
  const facets = body.facets.filter(Boolean);
  if (facets.length === 0) {
    throw new InputError('Missing or empty facets parameter');
  }
  return { facets, filter: parsePredicate(body.query) };
}
