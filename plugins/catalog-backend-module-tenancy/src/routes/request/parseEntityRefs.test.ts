import { mockErrorHandler } from '@backstage/backend-test-utils';
import express from 'express';
import request from 'supertest';
import { parseEntityRefs } from './parseEntityRefs';

const app = express()
  .post('/', (req, res, next) => {
    parseEntityRefs(req, res).then(parsed => res.json(parsed), next);
  })
  .use(mockErrorHandler());

const parse = (body: unknown) =>
  request(app)
    .post('/')
    .set('Content-Type', 'application/json')
    .send(typeof body === 'string' ? body : JSON.stringify(body));

/** As JSON, which has no limit of its own. */
function nested(levels: number): string {
  return `{"entityRefs":[],"query":${'{"$not":'.repeat(
    levels,
  )}{"kind":"a"}${'}'.repeat(levels)}}`;
}

describe('parseEntityRefs', () => {
  it.each([
    [[], 'request/body must be object'],
    [{}, "request/body must have required property 'entityRefs'"],
    [
      { entityRefs: 'component:default/a' },
      'request/body/entityRefs must be array',
    ],
    [{ entityRefs: [1] }, 'request/body/entityRefs/0 must be string'],
    [{ entityRefs: [], fields: 'a' }, 'request/body/fields must be array'],
    [{ entityRefs: [], query: 'text' }, 'request/body/query must be object'],
    [{ entityRefs: [], query: { kind: { $in: 'a' } } }, /^Malformed request/],
  ])('refuses %j', async (body, message) => {
    const answer = await parse(body);
    expect(answer.status).toBe(400);
    expect(answer.body.error.message).toMatch(message);
  });

  it('refuses what is nested so deep that it would fill the stack', async () => {
    expect((await parse(nested(100))).body.query).toBeDefined();
    for (const body of [nested(1_000), nested(5_000)]) {
      const answer = await parse(body);
      expect(answer.status).toBe(400);
      expect(answer.body.error.message).toBe(
        'Malformed request body, it is nested deeper than 250 levels',
      );
    }
  });
});
