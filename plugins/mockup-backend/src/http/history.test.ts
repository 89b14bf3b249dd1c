import { createTestDatabases } from '@internal/postgres/testUtils';
import {
  mockupWithLatestVersionSchema,
  versionSchema,
} from 'backstage-plugin-mockup-common';
import {
  BOB,
  createMockup,
  item,
  testBackend,
} from '../__testUtils__/startMockupBackend';

const databases = createTestDatabases({ versions: 'newest' });

describe.each(databases.eachSupportedId())(
  'the history of a mockup on %s',
  id => {
    let mockup: string;
    let version: string;
    let versionId: string;
    let etag: string;

    const backend = testBackend(databases, id);

    beforeEach(async () => {
      const created = await createMockup(backend);
      mockup = `/mockups/${created.body.id}`;
      const saved = await backend.alice.post(`${mockup}/versions`, {
        layoutData: [item()],
        versionTag: 'first',
        message: 'It begins',
      });
      versionId = saved.body.id;
      version = `${mockup}/versions/${versionId}`;
      etag = saved.headers.etag;
    });

    const latest = async () =>
      (await backend.alice.get(mockup)).body.latestVersion;

    it('finds no version of another mockup, and changes nothing', async () => {
      const other = await createMockup(backend);
      const path = `/mockups/${other.body.id}`;
      const theirs = `${path}/versions/${versionId}`;
      const { bob } = backend;
      expect((await bob.post(`${theirs}/restore`)).status).toBe(404);
      const change = { versionTag: 'x' };
      expect((await bob.patch(theirs, change)).status).toBe(404);
      const late = bob.patch(theirs, change).set('If-Match', '"1"');
      expect((await late).status).toBe(404);
      expect((await bob.get(theirs)).status).toBe(404);
      expect((await bob.get(path)).get('ETag')).toBe(other.get('ETag'));
    });

    describe('POST /mockups/:id/versions/:vid/restore', () => {
      it('answers 201 with the new version, its address and an entity tag', async () => {
        const response = await backend.bob.post(`${version}/restore`);
        expect(response.status).toBe(201);
        expect(versionSchema.parse(response.body)).toEqual(response.body);
        expect(response.body).toMatchObject({
          layoutData: [item()],
          createdBy: BOB,
          restoredFrom: versionId,
        });
        expect(response.body).not.toHaveProperty('versionTag');
        expect(response.get('Location')).toBe(
          `/api/mockup${mockup}/versions/${response.body.id}`,
        );
        const read = await backend.alice.get(mockup);
        expect(read.get('ETag')).toBe(response.get('ETag'));
        expect(read.body.latestVersion).toEqual(response.body);
      });
    });

    describe('PATCH /mockups/:id/versions/:vid', () => {
      it('answers 200 with the version and a new entity tag', async () => {
        const before = await backend.alice.get(version);
        const response = await backend.bob.patch(version, {
          versionTag: 'renamed',
        });
        expect(response.status).toBe(200);
        expect(response.body).toEqual({
          ...before.body,
          versionTag: 'renamed',
        });
        const read = await backend.alice.get(mockup).set('If-None-Match', etag);
        expect(read.status).toBe(200);
        expect(read.get('ETag')).toBe(response.get('ETag'));
        expect(read.body.latestVersion).toEqual(response.body);
      });

      it.each([
        [{}, 'versionTag is missing, expected a string of at most 50'],
        [{ versionTag: 't'.repeat(51) }, 'versionTag must be a string of at'],
        [[], 'it must be an object with a versionTag, got a list'],
        [undefined, 'it is missing, expected an object with a versionTag'],
      ])('refuses %j', async (body, message) => {
        const response = await backend.alice.patch(version, body);
        expect(response.status).toBe(400);
        expect(response.body.error.message).toContain(message);
        expect((await latest()).versionTag).toBe('first');
      });
    });

    describe('POST /mockups/:id/duplicate', () => {
      it('answers 201 with the copy, its address and an entity tag', async () => {
        const response = await backend.bob.post(`${mockup}/duplicate`);
        expect(response.status).toBe(201);
        expect(mockupWithLatestVersionSchema.parse(response.body)).toEqual(
          response.body,
        );
        expect(response.body).toMatchObject({
          name: 'Checkout (copy)',
          owner: BOB,
          latestVersion: { layoutData: [item()], createdBy: BOB },
        });
        expect(response.body.latestVersion).not.toHaveProperty('versionTag');
        expect(response.body.latestVersion).not.toHaveProperty('message');
        const path = `/mockups/${response.body.id}`;
        expect(response.get('Location')).toBe(`/api/mockup${path}`);
        const read = await backend.alice.get(path);
        expect(read.body).toEqual(response.body);
        expect(read.get('ETag')).toBe(response.get('ETag'));
        const saved = await backend.bob
          .post(`${path}/versions`, { layoutData: [] })
          .set('If-Match', response.get('ETag')!);
        expect(saved.status).toBe(201);
      });
    });
  },
);
