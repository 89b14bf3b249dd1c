import { createTestDatabases } from '@internal/postgres/testUtils';
import { forEachTest } from './__testUtils__/forEachTest';
import { createCatalogDatabase } from './__testUtils__/catalogDatabase';
import { migrateTo, OtherOperatorError, status } from './index';

const databases = createTestDatabases();

describe.each(databases.eachSupportedId())('the library on %s', id => {
  const database = forEachTest(() =>
    createCatalogDatabase(databases, id, { seed: false }),
  );

  it('sets up a fresh database', async () => {
    const { connection, client } = database;
    await client.query('create extension pg_trgm schema public');
    const options = {
      connection,
      createTables: true,
      defaultTenantName: 'Our company',
    };
    const result = await migrateTo(5, options);
    expect(result.phase).toBe(5);
    expect(result.done).toContain('5_97_mark_ready');
    const { rows } = await client.query(
      'select tenant_slug, tenant_name from tenants',
    );
    expect(rows).toEqual([
      { tenant_slug: 'default', tenant_name: 'Our company' },
    ]);
    await expect(migrateTo(5, options)).resolves.toEqual({
      phase: 5,
      done: [],
    });
    const report = await status({ connection });
    expect(report).toMatchObject({
      phase: 5,
      phaseBegun: null,
      tables: expect.arrayContaining(['entities', 'tenants']),
    });
    expect(report.tables.filter(name => /_old$/.test(name))).toEqual([]);
  });

  it('never goes back', async () => {
    const { connection } = database;
    await migrateTo(2, { connection, createTables: true, schema: 'elsewhere' });
    await expect(
      migrateTo(1, { connection, schema: 'elsewhere' }),
    ).resolves.toEqual({ phase: 2, done: [] });
  });

  it('is refused while somebody is at work, unless there is nothing to do', async () => {
    const { connection } = database;
    await migrateTo(1, { connection, createTables: true });
    await database.migrate(async () => {
      await expect(migrateTo(1, { connection })).resolves.toEqual({
        phase: 1,
        done: [],
      });
      await expect(migrateTo(2, { connection })).rejects.toThrow(
        OtherOperatorError,
      );
    });
  });
});
