import request from 'supertest';
import { component } from '@internal/catalog-testing/entities';
import { memoryStore } from '../__testUtils__/memoryStore';
import { routesOf } from '../__testUtils__/routesOf';
import { workSlices } from './workSlices';

describe('operations', () => {
  const event = { success: jest.fn(), fail: jest.fn() };
  const createEvent = jest.fn(async () => event);
  const app = routesOf(memoryStore([component('a')]), createEvent);

  beforeEach(() => {
    jest.clearAllMocks();
  });

  it('have long lists of other tenants pause, until they are answered', async () => {
    let enter!: jest.SpyInstance;
    await new Promise<void>((resolve, reject) => {
      enter = jest.spyOn(workSlices, 'enter').mockReturnValue(resolve);
      request(app).get('/entities/by-uid/x').then(undefined, reject);
    });
    expect(enter.mock.calls).toEqual([['id of acme']]);
  });

  it.each([
    [
      request(app).get('/entities?limit=1'),
      { queryType: 'all', query: { limit: '1' } },
      undefined,
    ],
    [
      request(app).get('/entities/by-uid/x'),
      { queryType: 'by-uid', uid: 'x' },
      { meta: { entities: ['component:default/a'] } },
    ],
    [
      request(app).get('/entities/by-name/Component/default/A'),
      { queryType: 'by-name', entityRef: 'component:default/a' },
      undefined,
    ],
    [
      request(app)
        .post('/entities/by-refs')
        .send({ entityRefs: ['component:default/a'] }),
      { queryType: 'by-refs' },
      { meta: { entityRefs: ['component:default/a'] } },
    ],
    [
      request(app).get('/entities/by-query'),
      { queryType: 'by-query' },
      { meta: { totalItems: 1, pageInfo: {} } },
    ],
    [
      request(app).post('/entities/by-query').send({}),
      { queryType: 'by-query' },
      { meta: { totalItems: 1, pageInfo: {} } },
    ],
    [
      request(app).get('/entities/by-name/Component/default/A/ancestry'),
      { actionType: 'ancestry', entityRef: 'component:default/a' },
      {
        meta: {
          rootEntityRef: 'component:default/a',
          ancestry: [
            { entityRef: 'component:default/a', parentEntityRefs: [] },
          ],
        },
      },
    ],
    [request(app).get('/entity-facets?facet=kind'), {}, undefined],
    [
      request(app)
        .post('/entity-facets')
        .send({ facets: ['kind'] }),
      {},
      undefined,
    ],
  ])('tells the audit log of %#', async (sent, asked, told) => {
    const answer = await sent;
    expect(answer.status).toBe(200);
    expect(createEvent).toHaveBeenCalledWith({
      eventId: /facets/.test(answer.request.url)
        ? 'entity-facets'
        : 'entity-fetch',
      request: expect.anything(),
      meta: { ...asked, tenant: 'acme' },
    });
    expect(event.success).toHaveBeenCalledWith(told);
    expect(event.fail).not.toHaveBeenCalled();
  });

  const nested = (depth: number): object =>
    depth === 0 ? {} : { not: nested(depth - 1) };
  const cursorOf = (more: object) =>
    Buffer.from(
      JSON.stringify({
        orderFields: [],
        orderFieldValues: [],
        isPrevious: false,
        ...more,
      }),
    ).toString('base64');
  const conditions = Array.from({ length: 3_000 }, () => ({ kind: 'a' }));

  it.each([
    [{ cursor: cursorOf({ filter: nested(50) }) }, 'deeper than 10 levels'],
    [
      { cursor: cursorOf({ filter: { anyOf: Array(9_000).fill(1) } }) },
      'Malformed cursor',
    ],
    [
      { cursor: cursorOf({ query: { $all: conditions } }) },
      'more than 1000 objects and lists',
    ],
    [{ query: { $all: conditions } }, 'more than 1000 objects and lists'],
  ])(
    'refuse a query that would hold the thread, in few words: %#',
    async (body, message) => {
      const answer = await request(app).post('/entities/by-query').send(body);
      expect(answer.status).toBe(400);
      expect(answer.body.error.message).toContain(message);
      expect(answer.text.length).toBeLessThan(500);
    },
  );

  it.each([
    ['text/plain', 'kind', 'unsupported media type text/plain'],
    ['application/json', '{', /JSON/],
    [
      'application/json',
      JSON.stringify({ entityRefs: ['x'.repeat(200_000)] }),
      'request entity too large',
    ],
  ])('refuses a body of type %s', async (type, body, message) => {
    const answer = await request(app)
      .post('/entities/by-refs')
      .set('Content-Type', type)
      .send(body);
    expect(answer.status).toBe(400);
    expect(answer.body.error.message).toMatch(message);
    expect(answer.text.length).toBeLessThan(500);
  });
});
