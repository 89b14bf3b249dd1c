import { createTestDatabases } from '@internal/postgres/testUtils';
import { TenancyPool } from 'backstage-plugin-catalog-tenancy-node';
import {
  mockupSchema,
  mockupWithLatestVersionSchema,
} from 'backstage-plugin-mockup-common';
import {
  ALICE,
  BOB,
  createMockup,
  item,
  testBackend,
  UNKNOWN_ID,
} from '../__testUtils__/startMockupBackend';

const databases = createTestDatabases({ versions: 'newest' });

describe.each(databases.eachSupportedId())('mockup routes on %s', id => {
  const backend = testBackend(databases, id);

  beforeEach(() => backend.knex('mockups').delete());

  describe('POST /mockups', () => {
    it('answers 201 with the mockup, its address and its entity tag', async () => {
      const response = await createMockup(backend, {
        name: 'Checkout',
        description: 'The last step',
      });
      expect(response.body).toEqual({
        id: expect.any(String),
        name: 'Checkout',
        description: 'The last step',
        owner: ALICE,
        createdAt: expect.any(String),
        updatedAt: expect.any(String),
      });
      expect(mockupSchema.parse(response.body)).toEqual(response.body);
      expect(response.get('Location')).toBe(
        `/api/mockup/mockups/${response.body.id}`,
      );
      expect(response.get('ETag')).toMatch(/^"\d+"$/);

      const path = response.get('Location')!.replace('/api/mockup', '');
      const found = await backend.alice.get(path);
      expect(found.status).toBe(200);
      expect(found.get('ETag')).toBe(response.get('ETag'));
    });

    it.each([
      [{}, 'name is missing, expected a string of 1 to 255 characters'],
      [{ name: '' }, 'name must be a string of 1 to 255 characters, got ""'],
      [
        { name: ' \u00a0\ufeff' },
        'name must be a string that is not only blanks',
      ],
      [{ name: '🙂'.repeat(256) }, '(256 characters)'],
      [
        { name: 'x', description: 'd'.repeat(1001) },
        'description must be a string of at most 1000 characters',
      ],
      [{ name: 'x', owner: BOB }, 'unknown field "owner"'],
      [['x'], 'it must be an object with a name, got a list'],
    ])('refuses %j with 400', async (body, message) => {
      const response = await backend.alice.post('/mockups', body);
      expect(response.status).toBe(400);
      expect(response.body.error.name).toBe('InputError');
      expect(response.body.error.message).toContain(message);
      await expect(backend.knex('mockups')).resolves.toEqual([]);
    });
  });

  describe('POST /mockups with an Idempotency-Key', () => {
    beforeEach(() => backend.knex('mockup_trash').delete());

    const attempt = async (
      body: object = { name: 'Checkout' },
      key = 'dialog 1',
      by: 'alice' | 'bob' = 'alice',
    ) => {
      const request = backend[by].post('/mockups', body);
      const response = await request.set('Idempotency-Key', key);
      expect(response.status).toBe(201);
      return response;
    };
    const idOf = async (...args: Parameters<typeof attempt>) =>
      (await attempt(...args)).body.id;

    it('creates one, however often it is sent, also at once', async () => {
      const ids = await Promise.all(Array.from({ length: 5 }, () => idOf()));
      expect(new Set(ids).size).toBe(1);
      const { body: changed } = await backend.alice.patch(
        `/mockups/${ids[0]}`,
        {
          name: 'Payment',
        },
      );
      const again = await attempt();
      expect(mockupSchema.parse(again.body)).toEqual(changed);
      expect(await backend.knex('mockups')).toHaveLength(1);
      const found = await backend.alice.get(`/mockups/${ids[0]}`);
      expect(again.get('ETag')).toBe(found.get('ETag'));
    });

    it('creates another for another key, content or user', async () => {
      const ids = [
        await idOf(),
        await idOf({ name: 'Checkout' }, 'dialog 2'),
        await idOf({ name: 'Checkout', description: 'New' }),
        await idOf({ name: 'Checkout' }, 'dialog 1', 'bob'),
      ];
      expect(new Set(ids).size).toBe(ids.length);
    });

    it('leaves one in the trash alone', async () => {
      const trashed = await idOf();
      await backend.alice.delete(`/mockups/${trashed}`);
      expect(await idOf()).not.toBe(trashed);
      const restored = await backend.alice.post(`/trash/${trashed}/restore`);
      expect(restored.status).toBe(200);
    });

    it.each([
      ['', 'got 0'],
      ['k'.repeat(256), 'got 256'],
    ])('refuses the key "%s" with 400', async (key, got) => {
      const response = await backend.alice
        .post('/mockups', { name: 'Checkout' })
        .set('Idempotency-Key', key);
      expect(response.status).toBe(400);
      expect(response.body.error.message).toContain(
        `The Idempotency-Key header must have 1 to 255 characters, ${got}`,
      );
    });
  });

  describe('POST /mockups/:id/duplicate with an Idempotency-Key', () => {
    it('makes one copy with its versions, however often it is sent, also at once', async () => {
      const { body: original } = await createMockup(backend);
      const path = `/mockups/${original.id}`;
      for (const layoutData of [[], [item()]]) {
        await backend.alice.post(`${path}/versions`, { layoutData });
      }
      const copy = async (body: object, key = 'dialog 1', of = original.id) => {
        const request = backend.alice.post(`/mockups/${of}/duplicate`, body);
        const response = await request.set('Idempotency-Key', key);
        expect(response.status).toBe(201);
        return response;
      };
      const first = { name: 'Copy', withHistory: true };
      const made = await Promise.all([1, 2, 3].map(() => copy(first)));
      const [{ body: made1 }] = made;
      expect(mockupWithLatestVersionSchema.parse(made1)).toEqual(made1);
      expect(made1.latestVersion.layoutData).toEqual([item()]);
      const inCapitals = await copy(
        first,
        'dialog 1',
        original.id.toUpperCase(),
      );
      for (const again of [...made.slice(1), await copy(first), inCapitals]) {
        expect(again.body).toEqual(made1);
        expect(again.get('ETag')).toBe(made[0].get('ETag'));
      }
      const { body: versions } = await backend.alice.get(
        `/mockups/${made1.id}/versions`,
      );
      expect(versions).toHaveLength(2);

      await copy({ ...first, withHistory: false });
      await copy(first, 'dialog 2');
      const { body: bobs } = await backend.bob
        .post(`${path}/duplicate`, first)
        .set('Idempotency-Key', 'dialog 1');
      expect(bobs.owner).toBe(BOB);
      expect(await backend.knex('mockups')).toHaveLength(5);
    });
  });

  describe('GET /mockups', () => {
    it('returns 100 mockups unless asked for another number', async () => {
      await backend.knex('mockups').insert(
        Array.from({ length: 501 }, (_, n) => ({
          name: `${n}`,
          owner: ALICE,
        })),
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
      ['__proto__=x', 'unknown field "__proto__"'],
    ])('refuses ?%s with 400', async (query, message) => {
      const response = await backend.alice.get(`/mockups?${query}`);
      expect(response.status).toBe(400);
      expect(response.body.error.message).toContain(message);
    });
  });

  describe('GET /mockups/:id', () => {
    it('answers 304 to a caller that has this state already', async () => {
      const created = await createMockup(backend);
      const response = await backend.alice
        .get(`/mockups/${created.body.id}`)
        .set('If-None-Match', created.get('ETag')!);
      expect(response.status).toBe(304);
      expect(response.text).toBe('');
    });

    it.each([UNKNOWN_ID, 'no-uuid', '%00', "'", 'null'])(
      'answers 404 to the id %s',
      async mockupId => {
        const response = await backend.alice.get(`/mockups/${mockupId}`);
        expect(response.status).toBe(404);
        expect(response.body.error.name).toBe('NotFoundError');
      },
    );
  });

  describe('PATCH /mockups/:id', () => {
    it('changes the fields that are given and returns the mockup', async () => {
      const { body: mockup } = await createMockup(backend, {
        name: 'x',
        description: 'kept',
      });
      const response = await backend.alice.patch(`/mockups/${mockup.id}`, {
        name: 'y',
      });
      expect(response.status).toBe(200);
      expect(response.body).toEqual({
        ...mockup,
        name: 'y',
        updatedAt: expect.any(String),
      });
      const nothing = await backend.alice.patch(`/mockups/${mockup.id}`, {});
      expect([nothing.status, nothing.body.error.message]).toEqual([
        400,
        expect.stringContaining('a name, a description, or both'),
      ]);
    });
  });

  describe('DELETE /mockups/:id', () => {
    it('answers 204 once, then 404, and takes the versions along', async () => {
      const { body: mockup } = await createMockup(backend);
      const path = `/mockups/${mockup.id}`;
      await backend.alice.post(`${path}/versions`, { layoutData: [] });

      const response = await backend.alice.delete(path);
      expect(response.status).toBe(204);
      expect(response.text).toBe('');
      expect((await backend.alice.delete(path)).status).toBe(404);
      expect((await backend.alice.get(`${path}/versions`)).status).toBe(404);
      await expect(backend.knex('mockup_versions')).resolves.toEqual([]);
    });
  });

  it('takes one query to read a mockup with its latest version, and one to save a version', async () => {
    const { body: mockup } = await createMockup(backend);
    const path = `/mockups/${mockup.id}`;
    const query = jest.spyOn(TenancyPool.prototype, 'query');
    const transaction = jest.spyOn(TenancyPool.prototype, 'transaction');

    await backend.alice.post(`${path}/versions`, { layoutData: [item()] });
    expect(query).toHaveBeenCalledTimes(1);
    await backend.alice.get(path);
    expect(query).toHaveBeenCalledTimes(2);
    expect(transaction).not.toHaveBeenCalled();

    query.mockRestore();
    transaction.mockRestore();
  });

  it('keeps the order of two changes within one tick of the clock', async () => {
    const { body: mockup } = await createMockup(backend);
    // A clock that stands still, or was set back, must not repeat a state.
    await backend.knex('mockups').update({ updated_at: '2099-01-01 00:00:00' });
    const path = `/mockups/${mockup.id}`;
    const first = await backend.alice.patch(path, { name: 'one' });
    const second = await backend.alice.patch(path, { name: 'two' });
    const [before, after] = [first, second].map(response =>
      Number(response.get('ETag')!.slice(1, -1)),
    );
    expect(after).toBe(before + 1);

    await backend.alice.post(`${path}/versions`, { layoutData: [item()] });
    const { body: copy } = await backend.alice.post(`${path}/duplicate`, {
      withHistory: true,
    });
    const ofCopy = `/mockups/${copy.id}`;
    await backend.alice.post(`${ofCopy}/versions`, { layoutData: [] });
    const { body: newest } = await backend.alice.get(ofCopy);
    expect(newest.latestVersion.layoutData).toEqual([]);

    await backend.alice.delete(path);
    const restored = await backend.alice.post(`/trash/${mockup.id}/restore`);
    expect(restored.get('ETag')).toBe(`"${after + 2}"`);
  });

  it('lets a frontend of another origin read its headers', async () => {
    const response = await backend.alice.get('/mockups');
    expect(response.get('Access-Control-Expose-Headers')).toBe(
      'ETag, Link, Location, Retry-After, X-Total-Count',
    );
  });
});
