import { Postgres } from '@internal/postgres';
import {
  createTestDatabases,
  testedVersions,
} from '@internal/postgres/testUtils';
import createKnex from 'knex';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  startMockupBackend,
  UNKNOWN_ID,
} from '../__testUtils__/startMockupBackend';

const databases = createTestDatabases({ versions: 'newest' });

describe.each(databases.eachSupportedId())('an error of our own on %s', id => {
  it('is answered without the statement', async () => {
    const knex = await databases.init(id);
    const backend = await startMockupBackend({ knex });
    await knex.raw('drop table mockup_versions cascade');
    const response = await backend.alice.get(`/mockups/${UNKNOWN_ID}`);
    expect(response.status).toBe(503);
    expect(response.text).not.toMatch(/select|mockup_versions|\.ts:/);
  });
});

describe.each(testedVersions({ versions: 'newest' }))(
  'a server %s that goes away',
  version => {
    it('is answered with 503 that says nothing of it, and heals by itself', async () => {
      const dataDirectory = await mkdtemp(join(tmpdir(), 'mockup-test-'));
      const first = await Postgres.start({ version, dataDirectory });
      const { port } = first.connection;
      const knex = createKnex({
        client: 'pg',
        connection: { ...first.connection, database: 'postgres' },
        pool: { min: 0, max: 2, acquireTimeoutMillis: 2_000 },
        log: { warn() {}, error() {} },
      });
      const backend = await startMockupBackend({ knex });
      const { body: mockup } = await backend.alice.post('/mockups', {
        name: 'x',
      });

      await first.stop();
      const at = `/mockups/${mockup.id}`;
      const lost = [
        await backend.alice.get('/mockups'),
        await backend.alice.get(at),
        await backend.alice.patch(at, { name: 'y' }),
        await backend.alice.post(`${at}/versions`, { layoutData: [] }),
      ];
      for (const response of lost) {
        expect(response.status).toBe(503);
        expect(response.body.error).toMatchObject({
          message: expect.stringMatching(/connection to the database/),
        });
      }

      const second = await Postgres.start({ version, dataDirectory, port });
      const found = await backend.alice.get(at);
      expect(found.status).toBe(200);
      expect(found.body).toEqual({ ...mockup, latestVersion: null });

      await knex.destroy();
      await second.stop();
      await rm(dataDirectory, { recursive: true });
    });
  },
);
