import { createTestDatabases } from '@internal/postgres/testUtils';
import type { Knex } from 'knex';
import {
  ALICE,
  type MockupBackend,
  startMockupBackend,
} from '../__testUtils__/startMockupBackend';

const databases = createTestDatabases({ versions: 'newest' });

describe.each(databases.eachSupportedId())('GET /mockups on %s', id => {
  let knex: Knex;
  let backend: MockupBackend;

  beforeAll(async () => {
    knex = await databases.init(id);
    backend = await startMockupBackend({ knex });
  });

  beforeEach(() => knex('mockups').delete());

  it('answers a bare array, empty while there is nothing', async () => {
    const response = await backend.alice.get('/mockups');
    expect(response.status).toBe(200);
    expect(response.body).toEqual([]);
    expect(response.get('X-Total-Count')).toBe('0');
    expect(response.get('Link')).toBeUndefined();
  });

  it('returns 100 mockups unless asked for another number', async () => {
    await knex('mockups').insert(
      Array.from({ length: 501 }, (_, n) => ({ name: `${n}`, owner: ALICE })),
    );
    const byDefault = await backend.alice.get('/mockups');
    expect(byDefault.body).toHaveLength(100);
    const most = await backend.alice.get('/mockups?limit=500');
    expect(most.body).toHaveLength(500);
    expect(most.get('X-Total-Count')).toBe('501');
    expect(most.get('Link')).toMatch(
      /^<\/api\/mockup\/mockups\?limit=500&cursor=[^&]+>; rel="next"$/,
    );
  });

  it.each([
    ['limit=0', 'limit must be an integer from 1 to 500, got 0'],
    ['limit=501', 'limit must be an integer from 1 to 500, got 501'],
    ['limit=1e1', 'limit must be an integer from 1 to 500, got "1e1"'],
    ['offset=-1', 'offset must be an integer >= 0, got "-1"'],
    ['orderBy=owner,asc', 'orderBy must be one of name,asc | name,desc'],
    ['owner=bob', 'owner must be a user reference of the form user:'],
    ['owner[a]=b', 'owner must be a user reference'],
    ['search=%00', 'search must be a text to look for without NUL'],
    ['name=x', 'unknown field "name"'],
  ])('refuses ?%s with 400', async (query, message) => {
    const response = await backend.alice.get(`/mockups?${query}`);
    expect(response.status).toBe(400);
    expect(response.body.error.message).toContain(message);
  });
});
