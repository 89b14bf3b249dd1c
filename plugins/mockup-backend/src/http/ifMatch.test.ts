import { createTestDatabases } from '@internal/postgres/testUtils';
import {
  createMockup,
  testBackend,
  UNKNOWN_ID,
} from '../__testUtils__/startMockupBackend';

const databases = createTestDatabases({ versions: 'newest' });

describe.each(databases.eachSupportedId())('If-Match on %s', id => {
  const backend = testBackend(databases, id);

  beforeEach(() => backend.knex('mockups').delete());

  it('lets a write through while the entity tag holds', async () => {
    const created = await createMockup(backend);
    const path = `/mockups/${created.body.id}`;
    const updated = await backend.alice
      .patch(path, { name: 'y' })
      .set('If-Match', created.get('ETag')!);
    expect(updated.status).toBe(200);
    const saved = await backend.alice
      .post(`${path}/versions`, { layoutData: [] })
      .set('If-Match', `"1",, "a,b", ${updated.get('ETag')},`);
    expect(saved.status).toBe(201);
    // The tag of a saved version is the one that the mockup has from now on.
    const deleted = await backend.alice
      .delete(path)
      .set('If-Match', saved.get('ETag')!);
    expect(deleted.status).toBe(204);
  });

  it('answers 412 to every write once the mockup has changed', async () => {
    const created = await createMockup(backend);
    const path = `/mockups/${created.body.id}`;
    const { body: version } = await backend.bob.post(`${path}/versions`, {
      layoutData: [],
    });
    await backend.bob.patch(path, { name: 'by somebody else' });
    const at = `${path}/versions/${version.id}`;
    const { alice } = backend;
    for (const write of [
      alice.patch(path, { name: 'y' }),
      alice.post(`${path}/versions`, { layoutData: [] }),
      alice.patch(at, { versionTag: 'y' }),
      alice.post(`${at}/restore`, {}),
      alice.put(`${path}/shares`, { shares: [] }),
      alice.delete(path),
    ]) {
      const response = await write.set('If-Match', created.get('ETag')!);
      expect(response.status).toBe(412);
      expect(response.body.error.name).toBe('PreconditionFailedError');
    }
    expect((await alice.get(path)).body).toMatchObject({
      name: 'by somebody else',
      latestVersion: version,
    });
    expect((await alice.get(`${path}/versions`)).body).toHaveLength(1);
  });

  it('compares strongly: a weak tag never matches', async () => {
    const created = await createMockup(backend);
    const response = await backend.alice
      .patch(`/mockups/${created.body.id}`, { name: 'y' })
      .set('If-Match', `W/${created.get('ETag')}`);
    expect(response.status).toBe(412);
  });

  it('with * lets a write through whenever there is a mockup', async () => {
    const { body: mockup } = await createMockup(backend);
    const there = await backend.alice
      .patch(`/mockups/${mockup.id}`, { name: 'y' })
      .set('If-Match', '*');
    expect(there.status).toBe(200);
    const missing = await backend.alice
      .patch(`/mockups/${UNKNOWN_ID}`, { name: 'y' })
      .set('If-Match', '*');
    expect(missing.status).toBe(404);
  });

  it('answers 412 to a write of what has no entity tag', async () => {
    const { alice, bob } = backend;
    const { body: mockup } = await createMockup(backend);
    const path = `/mockups/${mockup.id}`;
    const { body: version } = await alice.post(`${path}/versions`, {
      layoutData: [],
    });
    const { body: comment } = await alice.post(`${path}/comments`, {
      text: 'x',
    });
    const page = { mockupId: mockup.id, versionId: version.id };
    const ofPage = { ...page, audience: 'everybody' };
    expect((await alice.put('/pages/a', ofPage)).status).toBe(200);
    const ready = `${path}/versions/${version.id}/ready`;
    expect((await bob.put(ready)).status).toBe(200);
    const writes = () => [
      alice.post(`${path}/comments`, { text: 'y' }),
      alice.patch(`${path}/comments/${comment.id}`, { resolved: true }),
      alice.put('/pages/a', page),
      alice.put('/settings', { reviewRequired: false }),
      bob.put(ready),
      alice.post(`${path}/duplicate`),
      alice.delete(`${path}/comments/${comment.id}`),
      alice.delete('/pages/a'),
      bob.delete(ready),
    ];
    for (const write of writes()) {
      const response = await write.set('If-Match', '"1"');
      expect([response.status, response.body.error?.name]).toEqual([
        412,
        'PreconditionFailedError',
      ]);
    }
    for (const write of writes()) {
      expect((await write.set('If-Match', '*')).status).toBeLessThan(300);
    }
    const put = (header: string) =>
      alice.put('/pages/b', ofPage).set(header, '*');
    expect((await put('If-Match')).status).toBe(412);
    expect((await alice.get('/pages')).body).toEqual([]);
    const made = await Promise.all(
      Array.from({ length: 5 }, () => put('If-None-Match')),
    );
    expect(made.map(({ status }) => status).sort()).toEqual([
      200,
      ...Array(4).fill(412),
    ]);
    // Also by a page that the caller does not see.
    await bob.put('/pages/b', { ...page, audience: 'group:default/a' });
    expect((await alice.get('/pages/b')).status).toBe(404);
    expect((await put('If-None-Match')).status).toBe(412);
    expect((await put('If-Match')).status).toBe(200);
  });

  it.each(['1', '"1', '"1" "2"', '"1", *', ',', 'W/1'])(
    'of %j is refused with 400',
    async header => {
      const { body: mockup } = await createMockup(backend);
      const response = await backend.alice
        .patch(`/mockups/${mockup.id}`, { name: 'y' })
        .set('If-Match', header);
      expect(response.status).toBe(400);
      expect(response.body.error.message).toContain('If-Match');
    },
  );

  it('lets exactly one of twenty racing writers through', async () => {
    const created = await createMockup(backend);
    const path = `/mockups/${created.body.id}`;
    const responses = await Promise.all(
      Array.from({ length: 10 }, () => [
        backend.alice.patch(path, { name: 'hers' }),
        backend.bob.post(`${path}/versions`, { layoutData: [] }),
      ])
        .flat()
        .map(write => write.set('If-Match', created.get('ETag')!)),
    );
    const statuses = responses.map(({ status }) => status);
    expect(statuses.filter(status => status < 300)).toHaveLength(1);
    expect(statuses.filter(status => status === 412)).toHaveLength(19);
  });
});
