import { createTestDatabases } from '@internal/postgres/testUtils';
import createKnex from 'knex';
import { startMockupBackend } from '../__testUtils__/startMockupBackend';

const databases = createTestDatabases({ versions: 'newest' });

describe.each(databases.eachSupportedId())('migrations on %s', id => {
  it('are run once by backends that start at once', async () => {
    const knex = await databases.init(id);
    const pools = Array.from({ length: 4 }, () =>
      createKnex({
        client: 'pg',
        connection: knex.client.config.connection,
        pool: { min: 0, max: 1 },
      }),
    );
    const backends = await Promise.all(
      pools.map(pool => startMockupBackend({ knex: pool })),
    );
    for (const { alice } of backends) {
      expect((await alice.get('/mockups')).status).toBe(200);
    }
    await Promise.all(pools.map(pool => pool.destroy()));
  });

  it.each(['pages', 'message', 'review', 'templates'])(
    'go on where a process was killed before it had noted that of %s',
    async name => {
      const knex = await databases.init(id);
      await startMockupBackend({ knex });
      // Knex's lock, which stays as it was.
      await knex('knex_migrations_lock').update({ is_locked: 1 });
      await knex('knex_migrations')
        .where('name', 'like', `%_${name}.js`)
        .delete();
      const { alice } = await startMockupBackend({ knex });
      expect((await alice.get('/mockups')).status).toBe(200);
    },
  );

  it('leave the plugin working in a schema of its own', async () => {
    const knex = await databases.init(id);
    await knex.raw('create schema mockup');
    const inSchema = createKnex({
      client: 'pg',
      connection: knex.client.config.connection,
      searchPath: ['mockup'],
    });
    const backend = await startMockupBackend({ knex: inSchema });
    await backend.alice.post('/mockups', { name: 'Checkout' });
    const { body } = await backend.alice.get('/mockups?search=CHECK');
    expect(body).toHaveLength(1);
    const { rows } = await knex.raw(
      `select extnamespace::regnamespace::text as schema
         from pg_extension where extname = 'pg_trgm'`,
    );
    expect(rows).toEqual([{ schema: 'public' }]);
    await inSchema.destroy();
  });

  it('are left to the operator where the database service says so', async () => {
    const knex = await databases.init(id);
    await startMockupBackend({
      knex,
      migrations: { skip: true },
    });
    await expect(knex.schema.hasTable('mockups')).resolves.toBe(false);
  });
});
