import { createTestDatabases } from '@internal/postgres/testUtils';
import {
  type Version,
  versionDifferenceSchema,
} from 'backstage-plugin-mockup-common';
import { applyPatch } from 'rfc6902';
import { BOB, item, testBackend } from '../__testUtils__/startMockupBackend';

const databases = createTestDatabases({ versions: 'newest' });

/** Where `Link` leads to, relative to the plugin. */
function nextOf(link: string | undefined): string {
  const next = /^<\/api\/mockup(.*)>; rel="next"$/.exec(link ?? '');
  expect(next?.[1]).toMatch(/[?&]cursor=/);
  return next![1];
}

describe.each(databases.eachSupportedId())('version routes on %s', id => {
  let mockupId: string;
  let path: string;

  const backend = testBackend(databases, id);

  beforeEach(async () => {
    await backend.knex('mockups').delete();
    const { body } = await backend.alice.post('/mockups', { name: 'x' });
    mockupId = body.id;
    path = `/mockups/${mockupId}/versions`;
  });

  describe('GET /mockups/:id/versions', () => {
    it('ends a page before its layouts exceed 4 MiB, and leads on from there', async () => {
      const layoutData = [item({ props: { text: 'x'.repeat(1_000_000) } })];
      for (const versionTag of ['a', 'b', 'c', 'd', 'e', 'f']) {
        await backend.alice.post(path, { layoutData, versionTag });
      }
      const first = await backend.alice.get(path);
      expect(
        first.body.map((each: { versionTag: string }) => each.versionTag),
      ).toEqual(['f', 'e', 'd', 'c']);
      expect(first.get('X-Total-Count')).toBe('6');
      for (const next of [
        nextOf(first.get('Link')),
        `${path}?limit=100&offset=4`,
      ]) {
        const second = await backend.alice.get(next);
        expect(second.body).toHaveLength(2);
        expect(second.get('Link')).toBeUndefined();
      }
    });
  });

  describe('GET /mockups/:id/versions/:vid/diff', () => {
    let older: Version;
    let newer: Version;

    beforeEach(async () => {
      const save = async (...layoutData: object[]) =>
        (await backend.alice.post(path, { layoutData })).body;
      older = await save(item(), item({ i: 'title' }));
      newer = await save(
        item({ i: 'title', x: 4, h: 3, props: { label: 'Checkout' } }),
        item({ i: 'logo' }),
      );
    });

    it('says what became of each item, and how to patch the layout', async () => {
      const response = await backend.alice.get(
        `${path}/${older.id}/diff?to=${newer.id}`,
      );
      expect(response.status).toBe(200);
      expect(response.body).toEqual({
        from: older.id,
        to: newer.id,
        items: [
          { i: 'buy', change: 'removed', before: item() },
          {
            i: 'title',
            change: 'changed',
            moved: true,
            resized: true,
            props: true,
            before: older.layoutData[1],
            after: newer.layoutData[0],
          },
          { i: 'logo', change: 'added', after: item({ i: 'logo' }) },
        ],
        patch: expect.any(Array),
      });
      expect(() => versionDifferenceSchema.parse(response.body)).not.toThrow();
      const none = await backend.alice.get(`${path}/${older.id}/diff?to=x`);
      expect(none.status).toBe(400);
      applyPatch(older.layoutData, response.body.patch);
      expect(older.layoutData).toEqual(newer.layoutData);
    });
  });

  it('offers no way to delete a version, or to change more of it than its tag', async () => {
    const { body: version } = await backend.alice.post(path, {
      layoutData: [],
    });
    const at = `${path}/${version.id}`;
    for (const change of [
      { layoutData: [item()] },
      { versionTag: 'x', createdBy: BOB },
    ]) {
      expect((await backend.alice.patch(at, change)).status).toBe(400);
    }
    expect((await backend.alice.delete(at)).status).toBe(404);
    expect((await backend.alice.get(at)).body).toEqual(version);
  });
});
