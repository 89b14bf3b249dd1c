import type { Answer } from './Sender';
import type { Request } from './Request';

/** Answers that are not those of the stock catalog, and why not. */
export interface MeantDifference {
  why: string;
  /** A request that shows it. */
  example: Request;
  /** Whether it is what makes the two answers differ. */
  explains(request: Request, stock: Answer, ours: Answer): boolean;
}

const isRefused = (answer: Answer) =>
  answer.status === 400 && answer.body.error.name === 'InputError';

/** Where it has begun to answer, an error of it ends in an empty answer. */
const hasFailed = ({ status, type }: Answer) =>
  status === 500 || (status === 200 && type === undefined);

const messageOf = (answer: Answer): string => answer.body.error?.message ?? '';

const cursor = (value: unknown) =>
  Buffer.from(JSON.stringify(value)).toString('base64');

const PLACE = ['m', '7bd6b4a3-0b0c-4f0f-8a67-0d9b3c6c9f11'];

/**
 * All differences that are meant. Each is in the README of the package too. What the
 * generated requests find beyond them is a fault.
 */
export const MEANT_DIFFERENCES: MeantDifference[] = [
  {
    why: 'what makes the stock catalog fail is refused in words that say why, or matches nothing',
    example: {
      method: 'POST',
      path: '/entities/by-query',
      body: { limit: -1 },
    },
    explains: (_request, stock, ours) =>
      (hasFailed(stock) && ours.status < 500) ||
      (isRefused(ours) && / is not a function$/.test(messageOf(stock))),
  },
  {
    why: 'the cursor of an order without a direction leads on',
    example: {
      method: 'GET',
      path: `/entities/by-query?limit=1&cursor=${encodeURIComponent(
        cursor({
          orderFields: [{ field: 'metadata.name' }],
          isPrevious: false,
          orderFieldValues: PLACE,
        }),
      )}`,
    },
    explains: (_request, stock, ours) =>
      isRefused(stock) &&
      stock.body.error.message.includes('"orderFields"') &&
      ours.status === 200,
  },
  {
    why: 'a number beyond what numbers are exact to is refused',
    example: { method: 'GET', path: '/entities?limit=9007199254740993' },
    explains: (request, _stock, ours) =>
      /\d{16}/.test(request.path) && isRefused(ours),
  },
  {
    why: 'a filter or an order by a key that is an operator of predicates is refused',
    example: { method: 'GET', path: '/entities?filter=$not=a' },
    explains: (request, _stock, ours) =>
      /=(asc:|desc:)?\$/.test(decodeURIComponent(request.path)) &&
      isRefused(ours),
  },
  {
    why: 'refs are found in any case, and without the default namespace',
    example: {
      method: 'POST',
      path: '/entities/by-refs',
      body: { entityRefs: ['Group:DEFAULT/Group-0'], fields: ['kind'] },
    },
    explains: (request, stock, ours) =>
      request.path.startsWith('/entities/by-refs') &&
      stock.body.items?.length === ours.body.items?.length &&
      stock.body.items?.includes(null),
  },
  {
    why: 'the fields of an order count in any case on pages of a list',
    example: {
      method: 'GET',
      path: '/entities?limit=3&order=desc:metadata.NAME&fields=metadata.name',
    },
    explains: request =>
      /^\/entities\?.*order=\w+(:|%3A)\S*[A-Z]/.test(request.path),
  },
  {
    why: 'on pages of a list an entity that has several values for a field comes once',
    example: {
      method: 'GET',
      path: '/entities?limit=900&order=asc:metadata.tags&filter=kind=system,metadata.tags&filter=kind=group,metadata.tags&filter=kind=user,metadata.tags',
    },
    explains: (request, stock, ours) =>
      /^\/entities\?.*order=\w+(:|%3A)metadata\.tags/.test(request.path) &&
      stock.status === 200 &&
      ours.status === 200,
  },
];
