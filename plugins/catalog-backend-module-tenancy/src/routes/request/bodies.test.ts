import { mockErrorHandler } from '@backstage/backend-test-utils';
import express, { type Request, type Response } from 'express';
import request from 'supertest';
import { parseFacetsBody } from '../facets';
import { parsePageBody } from './parsePage';

function posting(parse: (req: Request, res: Response) => Promise<object>) {
  const app = express()
    .post('/', (req, res, next) => {
      parse(req, res).then(parsed => res.json(parsed), next);
    })
    .use(mockErrorHandler());
  return (body: unknown) =>
    request(app)
      .post('/')
      .set('Content-Type', 'application/json')
      .send(JSON.stringify(body));
}

describe('parsePageBody', () => {
  const post = posting(parsePageBody);

  it.each([
    [[], 'request/body must be object'],
    [{ cursor: '' }, 'Cursor cannot be empty'],
    [{ cursor: 'x' }, /^Malformed cursor/],
    [{ cursor: 1 }, 'request/body/cursor must be string'],
    [{ limit: '5' }, 'request/body/limit must be number'],
    [{ limit: -1 }, 'Invalid limit -1, expected a number of 0 or more'],
    [
      { offset: 1e300 },
      'Invalid offset 1e+300, expected a number of 0 or more',
    ],
    [
      { orderBy: [{ field: 'a' }] },
      "request/body/orderBy/0 must have required property 'order'",
    ],
    [
      { orderBy: [{ field: 'a', order: 'up' }] },
      'request/body/orderBy/0/order must be equal to one of the allowed values: asc, desc',
    ],
    [
      { fullTextFilter: { fields: 'a' } },
      'request/body/fullTextFilter/fields must be array',
    ],
    [{ query: null }, 'request/body/query must be object'],
    [{ query: { kind: null } }, /^Invalid query: Validation error/],
    [{ query: { $all: [{ kind: 'a' }], kind: 'b' } }, /^Invalid query: /],
    [{ fields: ['a[0]'] }, /^Invalid field "a\[0\]"/],
  ])('refuses %j', async (body, message) => {
    const answer = await post(body);
    expect(answer.status).toBe(400);
    expect(answer.body.error.name).toBe('InputError');
    expect(answer.body.error.message).toMatch(message);
  });
});

describe('parseFacetsBody', () => {
  const post = posting(parseFacetsBody);

  it.each([
    [{}, "request/body must have required property 'facets'"],
    [{ facets: [] }, 'Missing or empty facets parameter'],
    [{ facets: [''] }, 'Missing or empty facets parameter'],
    [{ facets: [1] }, 'request/body/facets/0 must be string'],
    [{ facets: ['kind'], query: [] }, 'request/body/query must be object'],
    [{ facets: ['kind'], query: { $x: 1 } }, /^Invalid query: /],
  ])('refuses %j', async (body, message) => {
    const answer = await post(body);
    expect(answer.status).toBe(400);
    expect(answer.body.error.message).toMatch(message);
  });
});
