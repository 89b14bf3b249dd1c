import { mockServices } from '@backstage/backend-test-utils';
import { createTestDatabases, waitUntil } from '@internal/postgres/testUtils';
import {
  mockupSchema,
  trashedMockupSchema,
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

describe.each(databases.eachSupportedId())('the trash on %s', databaseId => {
  let id: string;

  const scheduler = mockServices.scheduler.mock();
  const backend = testBackend(databases, databaseId, {
    features: [scheduler.factory],
  });

  beforeEach(async () => {
    await backend.knex('mockups').delete();
    await backend.knex('mockup_trash').delete();
    const body = { name: 'Checkout', description: 'The last step' };
    id = (await createMockup(backend, body)).body.id;
    await backend.alice.post(`/mockups/${id}/versions`, {
      layoutData: [item()],
    });
    await backend.bob.delete(`/mockups/${id}`);
  });

  describe('GET /trash', () => {
    it('answers 200 with a page of deleted mockups', async () => {
      const response = await backend.alice.get('/trash');
      expect(response.status).toBe(200);
      expect(response.get('X-Total-Count')).toBe('1');
      expect(response.body).toEqual([
        expect.objectContaining({ id, name: 'Checkout', owner: ALICE }),
      ]);
      const [trashed] = response.body;
      expect(trashedMockupSchema.parse(trashed)).toEqual(trashed);
      expect(trashed.deletedBy).toBe(BOB);
      expect(Date.parse(trashed.purgedAfter)).toBe(
        Date.parse(trashed.deletedAt) + 30 * 24 * 3600 * 1000,
      );
      expect((await backend.service.get('/trash')).body).toHaveLength(1);
      for (const [query, found] of [
        [`owner=${ALICE}&search=LAST`, 1],
        [`owner=${BOB}`, 0],
        ['search=first', 0],
      ] as const) {
        const { body } = await backend.alice.get(`/trash?${query}`);
        expect(body).toHaveLength(found);
      }
    });

    it('has a mockup for 30 days unless configured otherwise', async () => {
      const tasks = scheduler.scheduleTask.mock.calls.map(([task]) => task);
      const retention = tasks.find(task => task.id === 'mockup-retention');
      for (const [days, left] of [
        [29, 1],
        [31, 0],
      ]) {
        await backend.knex('mockup_trash').update({
          deleted_at: backend.knex.raw(`now() - ${days} * interval '1 day'`),
        });
        await retention!.fn(new AbortController().signal);
        expect((await backend.alice.get('/trash')).body).toHaveLength(left);
      }
    });
  });

  it('gives a mockup back as it was, in a new state, on POST /trash/:id/restore', async () => {
    const { alice, bob } = backend;
    await bob.post(`/trash/${id}/restore`);
    const path = `/mockups/${id}`;
    const { body: first } = await alice.post(`${path}/versions`, {
      layoutData: [],
      versionTag: 'first',
      message: 'Why',
    });
    await bob.post(`${path}/versions/${first.id}/restore`);
    const before = await alice.get(path);
    const versions = await alice.get(`${path}/versions`);
    await alice.delete(path);

    const response = await bob.post(`/trash/${id}/restore`);
    expect(response.status).toBe(200);
    const restored = mockupSchema.parse(response.body);
    expect(response.body).toEqual(restored);
    const { latestVersion } = before.body;
    const { updatedAt } = restored;
    const read = await alice.get(path);
    expect(read.get('ETag')).toBe(response.get('ETag'));
    expect(read.body).toEqual({ ...before.body, updatedAt });
    expect(read.body).toEqual({ ...restored, latestVersion });
    const { body: versionsNow } = await alice.get(`${path}/versions`);
    expect(versionsNow).toEqual(versions.body);
    expect((await alice.get('/mockups?search=CHECK')).body).toHaveLength(1);
    expect((await alice.get('/trash')).body).toEqual([]);
    // Who read it before it was deleted does not overwrite it.
    const late = alice.patch(path, { name: 'y' });
    const { status } = await late.set('If-Match', before.get('ETag')!);
    expect(status).toBe(412);
  });

  it('lists the most recently deleted first, page by page', async () => {
    for (const name of ['a', 'b']) {
      const { body } = await createMockup(backend, { name });
      await backend.alice.delete(`/mockups/${body.id}`);
    }
    const first = await backend.alice.get('/trash?limit=2');
    const namesOf = (body: { name: string }[]) => body.map(({ name }) => name);
    expect(namesOf(first.body)).toEqual(['b', 'a']);
    const [, next] = /mockup(.*)>/.exec(first.get('Link')!)!;
    for (const path of [next, '/trash?limit=2&offset=2']) {
      const rest = await backend.alice.get(path);
      expect(namesOf(rest.body)).toEqual(['Checkout']);
      expect(rest.get('X-Total-Count')).toBe('3');
      expect(rest.get('Link')).toBeUndefined();
    }
    const other = await backend.alice.get(`${next}&search=a`);
    expect(other.status).toBe(400);
  });

  it('deletes a mockup for good on DELETE /trash/:id', async () => {
    expect((await backend.alice.delete(`/trash/${id}`)).status).toBe(204);
    expect((await backend.alice.get('/trash')).body).toEqual([]);
    await expect(
      backend.knex('mockup_trash_versions').count(),
    ).resolves.toEqual([{ count: '0' }]);
  });

  it('answers 404 where a mockup is not in it', async () => {
    const { body } = await createMockup(backend);
    for (const other of [UNKNOWN_ID, 'no-uuid', body.id]) {
      for (const response of [
        await backend.alice.post(`/trash/${other}/restore`),
        await backend.alice.delete(`/trash/${other}`),
      ]) {
        expect(response.status).toBe(404);
        expect(response.body.error.message).toBe(
          `No mockup with id '${other}' in the trash`,
        );
      }
    }
    expect((await backend.alice.get(`/mockups/${body.id}`)).status).toBe(200);
  });

  it('is where a mockup goes beside all that is done to it at once, and one takes it from there', async () => {
    const { alice, bob } = backend;
    for (let round = 0; round < 10; round += 1) {
      const { body: mockup } = await createMockup(backend);
      const path = `/mockups/${mockup.id}`;
      const { body: version } = await alice.post(`${path}/versions`, {
        layoutData: [item()],
      });
      const saved = `${path}/versions/${version.id}`;
      const remove = () => alice.delete(path);
      const answers = await Promise.all([
        alice.put(`/pages/race-${round}`, {
          mockupId: mockup.id,
          versionId: version.id,
          audience: 'everybody',
        }),
        alice.post(`${path}/versions`, { layoutData: [] }),
        remove(),
        alice.patch(path, { name: 'x' }),
        alice.patch(saved, { versionTag: 'x' }),
        alice.post(`${saved}/restore`),
        remove(),
        alice.post(`${path}/duplicate`, { withHistory: true }),
        alice.put(`${path}/shares`, { shares: [] }),
        bob.put(`${saved}/ready`),
        bob.post(`${path}/comments`, { text: 'x' }),
        bob.post(`${path}/editors`),
      ]);
      const statuses = answers.map(({ status }) => status);
      expect(statuses.filter(status => status === 204)).toHaveLength(1);
      for (const status of statuses) {
        expect([200, 201, 204, 404]).toContain(status);
      }
      expect((await alice.get(`/pages/race-${round}`)).status).toBe(404);

      const trashed = `/trash/${mockup.id}`;
      const taken = await Promise.all([
        alice.post(`${trashed}/restore`),
        alice.delete(trashed),
        bob.post(`${trashed}/restore`),
        bob.delete(trashed),
      ]);
      const [winner, ...others] = taken.map(({ status }) => status).sort();
      expect(others).toEqual([404, 404, 404]);
      const { status, body } = await alice.get(`${path}/versions`);
      // Those saved and restored before the deletion, too.
      const kept = [201, statuses[1], statuses[5]].filter(each => each === 201);
      expect([status, body.length]).toEqual(
        winner === 200 ? [200, kept.length] : [404, undefined],
      );
    }
  });

  it.each(['a mockup', 'an import'])(
    'gives back %s that was deleted while an attempt with its Idempotency-Key was under way',
    async what => {
      const at = '2026-01-31T12:00:00.000Z';
      const file = {
        schema: 'backstage-plugin-mockup/mockups',
        version: 1,
        mockups: [{ name: 'x', createdAt: at, updatedAt: at, versions: [] }],
      };
      const attempt = async () => {
        const { body } = await (what === 'a mockup'
          ? backend.alice.post('/mockups', { name: 'x' })
          : backend.alice.post('/import', file)
        ).set('Idempotency-Key', 'a key');
        return (body.mockups?.[0] ?? body).id as string;
      };
      const made = await attempt();
      let again: Promise<string> | undefined;
      await backend.knex.transaction(async held => {
        await held('mockups').where({ id: made }).delete();
        let isOver = false;
        again = attempt().finally(() => {
          isOver = true;
        });
        await waitUntil('the attempt to end, or to wait', async () => {
          const { rows } = await backend.knex.raw(
            `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
          );
          return isOver || rows.length > 0;
        });
      });
      await again;
      const restored = await backend.alice.post(`/trash/${made}/restore`);
      expect(restored.status).toBe(200);
      expect((await backend.alice.delete(`/mockups/${made}`)).status).toBe(204);
    },
  );
});
