import {
  type Entity,
  parseEntityRef,
  stringifyEntityRef,
} from '@backstage/catalog-model';
import { isPlainObject, mapValues, uniqBy } from 'lodash';
import {
  type Answer,
  get,
  post,
  type Request,
  type Send,
  withQuery,
} from './requests';

/** What ours must answer to a request. */
type Expect = (request: Request) => Promise<Answer>;

/** A way in which ours must answer differently from the stock catalog, and why. */
export interface MeantDifference {
  why: string;
  /** Requests that show it. */
  examples: Request[];
  /** The decision of the permission policy under which they do, if only under one. */
  under?: 'deny';
  /**
   * The answer that ours must give, made from the request and from answers of the stock
   * catalog, never from one of ours; nothing for a request that does not show the
   * difference.
   *
   * @param rest - what ours must answer by the differences after this one in the list,
   * and so without this one
   */
  expected(request: Request, rest: Expect): Promise<Answer | undefined>;
}

/** A request that is refused, with the reason in exactly these words. */
function refused(
  why: string,
  examples: Request[],
  reasonFor: (request: Request) => string | undefined,
): MeantDifference {
  return {
    why,
    examples,
    async expected(request, rest) {
      const message = reasonFor(request);
      if (message === undefined) {
        return undefined;
      }
      // Any other refusal has the same headers.
      const { headers } = await rest(get('/entities?limit=0'));
      return {
        status: 400,
        headers,
        body: {
          error: { name: 'InputError', message },
          request: { method: request.method, url: request.path },
          response: { statusCode: 400 },
        },
      };
    },
  };
}

/** The answer to another request, of which the stock catalog makes more. */
function answeredAs(
  why: string,
  examples: Request[],
  other: (request: Request) => Request | undefined,
): MeantDifference {
  return {
    why,
    examples,
    async expected(request, rest) {
      const instead = other(request);
      return instead && rest(instead);
    },
  };
}

interface Cursor {
  orderFields?: Array<{ field: string; order?: string }>;
  orderFieldValues?: unknown[];
}

const encode = (value: unknown) =>
  Buffer.from(JSON.stringify(value)).toString('base64');

const paramsOf = ({ path }: Request) => new URL(`http://x${path}`).searchParams;

/** The path of a request with some of its parameters set, or deleted. */
function withParams(
  { path }: Request,
  changes: Record<string, string | string[] | undefined>,
): string {
  const params = new URL(`http://x${path}`).searchParams;
  const others = [...params.keys()].filter(name => !(name in changes));
  const kept = Object.fromEntries(
    others.map(name => [name, params.getAll(name)]),
  );
  return withQuery(path.split('?')[0], { ...kept, ...changes });
}

function bodyOf({ body }: Request): Record<string, any> {
  return isPlainObject(body) ? (body as Record<string, unknown>) : {};
}

/** The cursor of a request, where it has one that can be read. */
function cursorOf(request: Request): Cursor | undefined {
  const text = bodyOf(request).cursor ?? paramsOf(request).get('cursor');
  try {
    const cursor = JSON.parse(Buffer.from(text, 'base64').toString());
    return isPlainObject(cursor) ? cursor : undefined;
  } catch {
    return undefined;
  }
}

function withCursor(request: Request, cursor: Cursor): Request {
  return request.method === 'POST'
    ? { ...request, body: { ...bodyOf(request), cursor: encode(cursor) } }
    : { ...request, path: withParams(request, { cursor: encode(cursor) }) };
}

/** An answer with the cursors in it changed. */
function withCursors(
  answer: Answer,
  change: (cursor: Cursor) => Cursor,
): Answer {
  const { pageInfo } = answer.body;
  return pageInfo
    ? {
        ...answer,
        body: {
          ...answer.body,
          pageInfo: mapValues(pageInfo, text =>
            encode(change(JSON.parse(Buffer.from(text, 'base64').toString()))),
          ),
        },
      }
    : answer;
}

/** Whether a request asks for a page of `GET /entities`. */
function isPage(request: Request): boolean {
  const params = paramsOf(request);
  return (
    /^\/entities\?/.test(request.path) &&
    ['limit', 'offset', 'after'].some(name => params.has(name))
  );
}

/** The parameters `order` of a page of `GET /entities`; of other requests none. */
function ordersOfPage(request: Request): string[] {
  return isPage(request) ? paramsOf(request).getAll('order') : [];
}

/** Where the page of `GET /entities` begins that a request asks for, and how long it is. */
function pageOf(request: Request): { limit?: number; offset?: number } {
  const params = paramsOf(request);
  const number = (name: string) =>
    params.has(name) ? Number(params.get(name)) : undefined;
  const page = { limit: number('limit'), offset: number('offset') };
  const after = params.get('after') ?? '';
  try {
    return { ...page, ...JSON.parse(Buffer.from(after, 'base64').toString()) };
  } catch {
    return page;
  }
}

/** An answer that leads to the page after the one that was asked for, or to none. */
function withNextLink(
  answer: Answer,
  request: Request,
  hasNext: boolean,
): Answer {
  const { link, ...headers } = answer.headers;
  if (!hasNext) {
    return { ...answer, headers };
  }
  const { limit = 0, offset = 0 } = pageOf(request);
  const url = new URL(`http://x${request.path}`);
  url.searchParams.delete('offset');
  url.searchParams.set('after', encode({ limit, offset: offset + limit }));
  const next = `<${url.pathname}${url.search}>; rel="next"`;
  return { ...answer, headers: { ...headers, link: next } };
}

const fieldsOf = (request: Request): string[] =>
  [bodyOf(request).fields ?? paramsOf(request).getAll('fields')]
    .flat()
    .flatMap(field => String(field).split(','))
    .filter(field => field.trim());

const statementsOf = (request: Request): string[] =>
  paramsOf(request)
    .getAll('filter')
    .flatMap(filter => filter.split(','))
    .map(statement => statement.trim());

/** The entities of an answer. */
const itemsOf = ({ body }: Answer): unknown[] => body.items ?? body;

const withItems = (answer: Answer, items: unknown[]): Answer => ({
  ...answer,
  body: answer.body.items ? { ...answer.body, items } : items,
});

function withoutTag(answer: Answer): Answer {
  const { etag, ...headers } = answer.headers;
  return { ...answer, headers };
}

// A character that no entity has, and whose place in an order is behind all others.
const PLACEHOLDER = '\uF8FF';

/** A value with one text in place of another wherever it is there. */
function replaced<T>(value: T, text: string, by: string): T {
  const escaped = (plain: string) => JSON.stringify(plain).slice(1, -1);
  const json = JSON.stringify(value)
    ?.replaceAll(escaped(text), escaped(by))
    .replaceAll(encodeURIComponent(text), encodeURIComponent(by));
  return json === undefined ? value : JSON.parse(json);
}

/** An object in place of an array that stands where the entity has an object. */
function likeEntity(projected: unknown, entity: unknown): unknown {
  if (Array.isArray(projected) && isPlainObject(entity)) {
    return likeEntity(
      Object.fromEntries(
        Object.entries(projected).filter(([, value]) => value !== null),
      ),
      entity,
    );
  }
  if (Array.isArray(projected) && Array.isArray(entity)) {
    return projected.map((item, index) => likeEntity(item, entity[index]));
  }
  if (!isPlainObject(projected) || !isPlainObject(entity)) {
    return projected;
  }
  return mapValues(projected as object, (value, key) =>
    likeEntity(value, (entity as Record<string, unknown>)[key]),
  );
}

const range = (length: number) => Array.from({ length }, (_, index) => index);

const nested = (depth: number): object =>
  range(depth - 1).reduce<object>(inner => ({ $not: inner }), { kind: 'api' });

/** The depth of a predicate that {@link nested} has made. */
function depthOf(query: unknown): number {
  let depth = 0;
  for (let inner: any = query; isPlainObject(inner); inner = inner.$not) {
    depth += 1;
  }
  return depth;
}

const CURSOR = {
  orderFields: [{ field: 'metadata.name', order: 'asc' }],
  orderFieldValues: ['m', '7bd6b4a3-0b0c-4f0f-8a67-0d9b3c6c9f11'],
  isPrevious: false,
};

/**
 * All differences that are meant and that a request can show. What the generated requests
 * find beyond them is a fault.
 */
export const MEANT_DIFFERENCES: MeantDifference[] = [
  refused(
    'a limit, or an offset, beyond what numbers are exact to is refused',
    [
      get('/entities?limit=9007199254740993'),
      get('/entities/by-query?offset=9007199254740993&limit=1'),
    ],
    request => {
      const name = ['limit', 'offset'].find(
        each => Number(paramsOf(request).get(each)) > Number.MAX_SAFE_INTEGER,
      );
      return name && `request/query/${name} must be integer`;
    },
  ),
  refused(
    'an `after` with a number that is out of bounds is refused',
    [
      get(`/entities?after=${encode({ limit: -1 })}`),
      get(`/entities?after=${encode({ limit: 0 })}`),
      get(`/entities?after=${encode({ limit: 2, offset: -1 })}`),
    ],
    request => {
      const { limit = 1, offset = 0 } = pageOf(request);
      const message = (name: string, least: number) =>
        `Malformed after cursor, ${name} was not an integer of ${least} or more`;
      if (!paramsOf(request).has('after') || (limit >= 1 && offset >= 0)) {
        return undefined;
      }
      return limit < 1 ? message('limit', 1) : message('offset', 0);
    },
  ),
  refused(
    'a negative number in the body is refused',
    [
      post('/entities/by-query', { limit: -1 }),
      post('/entities/by-query', { limit: 1, offset: -2 }),
      post('/entities/by-query', { limit: 9007199254740993 }),
    ],
    request => {
      const body = bodyOf(request);
      const isWrong = (name: string) =>
        typeof body[name] === 'number' &&
        (body[name] < 0 || body[name] > Number.MAX_SAFE_INTEGER);
      const name = ['limit', 'offset'].find(isWrong);
      return (
        name && `Invalid ${name} ${body[name]}, expected a number of 0 or more`
      );
    },
  ),
  refused(
    'a parameter of another type is refused in words that say so',
    [
      get('/entities/by-query?fields[a]=b'),
      get('/entities/by-query?fullTextFilterFields[a]=b'),
    ],
    ({ path }) => {
      const [, name] = /\?(fields|fullTextFilterFields)\[a\]=/.exec(path) ?? [];
      return name && `request/query/${name} must be array`;
    },
  ),
  refused(
    'a filter by a key that is an operator of predicates is refused',
    [
      get('/entities?filter=$not=a'),
      get('/entity-facets?facet=kind&filter=kind=api,$any'),
    ],
    request => {
      const statement = statementsOf(request).find(each =>
        each.startsWith('$'),
      );
      return (
        statement &&
        `Invalid filter, '${statement}' is not a valid statement (expected a string on the form a=b or a= or a)`
      );
    },
  ),
  refused(
    'an order of `GET /entities` by a key that is an operator of predicates is refused',
    [get('/entities?order=asc:$all'), get('/entities?limit=3&order=desc:$x')],
    request => {
      const order = paramsOf(request)
        .getAll('order')
        .find(each => /^(asc|desc):\$/.test(each));
      return (
        order &&
        `Invalid order parameter "${order}", expected "<asc or desc>:<field name>"`
      );
    },
  ),
  refused(
    'more orders than 10 are refused',
    [
      get(
        withQuery('/entities', { order: range(11).map(n => `asc:spec.n${n}`) }),
      ),
    ],
    request => {
      const { length } = paramsOf(request).getAll('order');
      return length > 10
        ? `Invalid order parameters, expected at most 10, got ${length}`
        : undefined;
    },
  ),
  refused(
    'more fields than 200 are refused',
    [
      get(`/entities?limit=1&fields=${range(201).map(n => `spec.n${n}`)}`),
      post('/entities/by-refs', {
        entityRefs: [],
        fields: range(201).map(n => `spec.n${n}`),
      }),
    ],
    request => {
      const { length } = fieldsOf(request);
      return length > 200
        ? `Invalid fields, expected at most 200, got ${length}`
        : undefined;
    },
  ),
  refused(
    'more conditions than 200 are refused',
    [
      get(
        withQuery('/entities', { filter: range(201).map(n => `spec.n${n}`) }),
      ),
      post('/entities/by-query', {
        query: { $any: range(201).map(n => ({ [`spec.n${n}`]: 'x' })) },
      }),
    ],
    request =>
      Math.max(
        statementsOf(request).length,
        bodyOf(request).query?.$any?.length ?? 0,
      ) > 200
        ? 'Invalid filter predicate: it has more than 200 conditions'
        : undefined,
  ),
  refused(
    'a predicate that is nested deeper than 100 levels is refused',
    [post('/entities/by-query', { query: nested(101) })],
    request => {
      const depth = depthOf(bodyOf(request).query);
      return depth > 100 && depth <= 250
        ? 'Invalid filter predicate: it is nested deeper than 100 levels'
        : undefined;
    },
  ),
  refused(
    'JSON that is nested deeper than 250 levels is refused before it is parsed',
    [post('/entities/by-refs', { entityRefs: ['a:b/c'], query: nested(260) })],
    request => {
      const what = request.path.startsWith('/entities/by-refs')
        ? 'request body'
        : 'query';
      return depthOf(bodyOf(request).query) > 250
        ? `Malformed ${what}, it is nested deeper than 250 levels`
        : undefined;
    },
  ),
  refused(
    'a cursor whose place does not fit its order is refused',
    [
      get(
        withQuery('/entities/by-query', {
          cursor: encode({ ...CURSOR, orderFields: [] }),
        }),
      ),
    ],
    request => {
      const { orderFields, orderFieldValues } = cursorOf(request) ?? {};
      return orderFields?.length === 0 && orderFieldValues?.length === 2
        ? 'Malformed cursor: orderFieldValues has a value, expected the id alone as there are no orderFields'
        : undefined;
    },
  ),
  refused(
    'a cursor with a NUL in the place at which it goes on is refused',
    [
      post('/entities/by-query', {
        cursor: encode({ ...CURSOR, orderFieldValues: ['m\0', 'x'] }),
      }),
      post('/entities/by-query', {
        cursor: encode({ ...CURSOR, orderFieldValues: ['m', 'x\0'] }),
      }),
    ],
    request => {
      const place = cursorOf(request)?.orderFieldValues ?? [];
      return place.length === 2 && String(place).includes('\0')
        ? 'Invalid cursor, expected the value and id of a row of an earlier page'
        : undefined;
    },
  ),
  {
    why: 'a NUL, on which the stock catalog fails, is a character that nothing has',
    examples: [
      get('/entities?filter=kind=%00'),
      get('/entities?limit=5&order=asc:%00'),
      get('/entity-facets?facet=%00'),
      get('/entities/by-uid/%00'),
      post('/entities/by-refs', { entityRefs: ['a:b/\0'] }),
    ],
    async expected(request, rest) {
      const cursor = cursorOf(request);
      if (!/\\u0000|%00/.test(JSON.stringify([request, cursor]))) {
        return undefined;
      }
      const other = replaced(request, '\0', PLACEHOLDER);
      const answer = await rest(
        cursor ? withCursor(other, replaced(cursor, '\0', PLACEHOLDER)) : other,
      );
      const { body, ...back } = replaced(
        withCursors(answer, each => replaced(each, PLACEHOLDER, '\0')),
        PLACEHOLDER,
        '\0',
      );
      return {
        ...back,
        body: body.request
          ? { ...body, request: { ...body.request, url: request.path } }
          : body,
      };
    },
  },
  {
    why: 'a cursor of an order without a direction, which the stock catalog gives and then refuses, leads on',
    examples: [
      get(
        withQuery('/entities/by-query', {
          limit: 1,
          cursor: encode({
            ...CURSOR,
            orderFields: [{ field: 'metadata.name' }],
          }),
        }),
      ),
    ],
    async expected(request, rest) {
      const cursor = cursorOf(request);
      const orderFields = Array.isArray(cursor?.orderFields)
        ? cursor.orderFields
        : [];
      if (
        !orderFields.some(
          ({ field, order }) =>
            typeof field === 'string' && order === undefined,
        )
      ) {
        return undefined;
      }
      const answer = await rest(
        withCursor(request, {
          ...cursor,
          orderFields: orderFields.map(field => ({ order: 'asc', ...field })),
        }),
      );
      return withCursors(answer, each => ({ ...each, orderFields }));
    },
  },
  answeredAs(
    '`by-refs` finds refs in any case, and without the default namespace',
    [
      post('/entities/by-refs', {
        entityRefs: ['Group:DEFAULT/Group-0', 'group:group-0', 'group-0'],
        fields: ['kind', 'metadata.name'],
      }),
    ],
    request => {
      const { entityRefs } = bodyOf(request);
      const toStored = (ref: string) => {
        try {
          return stringifyEntityRef(parseEntityRef(ref));
        } catch {
          return ref;
        }
      };
      return request.path.startsWith('/entities/by-refs') &&
        Array.isArray(entityRefs) &&
        entityRefs.every(ref => typeof ref === 'string')
        ? {
            ...request,
            body: { ...bodyOf(request), entityRefs: entityRefs.map(toStored) },
          }
        : undefined;
    },
  ),
  {
    why: 'with `fields`, an object whose keys are numbers stays an object, where the stock catalog makes an array of it',
    examples: [
      get('/entities?filter=spec.numbers.7&fields=spec.numbers.7'),
      post('/entities/by-query', {
        query: { 'spec.numbers.7': { $exists: true } },
        fields: ['kind', 'spec.numbers.7'],
      }),
    ],
    async expected(request, rest) {
      if (!fieldsOf(request).some(field => /\.\d+(\.|$)/.test(field))) {
        return undefined;
      }
      const answer = await rest(request);
      if (answer.status !== 200) {
        return undefined;
      }
      const { fields, ...body } = bodyOf(request);
      const whole = await rest({
        ...request,
        path: withParams(request, { fields: undefined }),
        body: request.method === 'POST' ? body : undefined,
      });
      const entities = itemsOf(whole);
      return withItems(
        answer,
        itemsOf(answer).map((item, index) => likeEntity(item, entities[index])),
      );
    },
  },
  {
    why: 'no entity tag tells a list that may not be read from one that is empty',
    under: 'deny',
    examples: [
      get('/entities?limit=2'),
      get('/entities/by-query'),
      post('/entities/by-refs', { entityRefs: ['a:b/c'] }),
    ],
    async expected(request, rest) {
      const isList =
        /^\/entities\/by-(query|refs)/.test(request.path) || isPage(request);
      if (!isList || fieldsOf(request).length > 0) {
        return undefined;
      }
      const answer = await rest(request);
      return answer.status === 200 ? withoutTag(answer) : answer;
    },
  },
  {
    why: 'the fields of an order count in any case on pages of `GET /entities`, as they do everywhere else',
    examples: [
      get(
        '/entities?limit=3&order=desc:metadata.NAME&fields=metadata.name&filter=kind=api',
      ),
    ],
    async expected(request, rest) {
      const orders = ordersOfPage(request);
      const order = orders.map(each => each.toLowerCase());
      if (order.join() === orders.join()) {
        return undefined;
      }
      const answer = await rest({
        ...request,
        path: withParams(request, { order }),
      });
      return withNextLink(answer, request, Boolean(answer.headers.link));
    },
  },
  {
    why: 'on pages of `GET /entities` an entity that has several values for the field of an order comes once, by the first of them',
    examples: [
      get('/entities?limit=900&order=asc:metadata.tags&fields=metadata.name'),
      get('/entities?limit=7&offset=300&order=desc:metadata.tags'),
    ],
    async expected(request, rest) {
      if (ordersOfPage(request).length === 0) {
        return undefined;
      }
      const answer = await rest(request);
      if (answer.status !== 200) {
        return undefined;
      }
      const list = (fields: Record<string, string>) =>
        rest({
          ...request,
          path: withParams(request, {
            ...{ limit: '1000000', offset: undefined, after: undefined },
            ...fields,
          }),
        });
      const ids = (await list({ fields: 'metadata.uid' })).body.map(
        ({ metadata }: Entity) => metadata.uid,
      );
      if (new Set(ids).size === ids.length) {
        return answer;
      }
      const { body } = await list({});
      const once = uniqBy(Object.keys(ids), index => ids[index]).map(
        index => body[index],
      );
      const { limit = Infinity, offset = 0 } = pageOf(request);
      return withNextLink(
        { ...answer, body: once.slice(offset, offset + limit) },
        request,
        once.length > offset + limit,
      );
    },
  },
  {
    why: 'an answer says on which headers it depends, because they name the tenant',
    examples: [get('/entities?limit=1'), get('/entities?limit=0')],
    async expected(request, rest) {
      const { headers, ...answer } = await rest(request);
      const tenant = 'Host, X-Forwarded-Host, Authorization, X-Tenant-Slug';
      const vary = [tenant, headers.vary].filter(Boolean).join(', ');
      return { ...answer, headers: { ...headers, vary } };
    },
  },
];

/**
 * What ours must answer to any request: what the stock catalog answers, but for the
 * meant differences.
 */
export function expectedFrom(
  stock: Send,
  differences = MEANT_DIFFERENCES,
): Expect {
  return differences.reduceRight<Expect>(
    (rest, { expected }) =>
      async request =>
        (await expected(request, rest)) ?? (await rest(request)),
    stock,
  );
}

/** To each example of a difference: what is due, and what would be without it. */
export async function answersDue(
  difference: MeantDifference,
  stock: Send,
): Promise<Array<{ example: Request; due: Answer; without: Answer }>> {
  const others = MEANT_DIFFERENCES.filter(each => each !== difference);
  const answers = [];
  for (const example of difference.examples) {
    const due = await expectedFrom(stock)(example);
    const without = await expectedFrom(stock, others)(example);
    answers.push({ example, due, without });
  }
  return answers;
}
