import { createTestDatabases } from '@internal/postgres/testUtils';
import { createCatalogDatabase } from '../../__testUtils__/catalogDatabase';
import { EXIT_CODES } from '../../errors';

const databases = createTestDatabases({ versions: 'newest' });

describe.each(databases.eachSupportedId())('a full disk of %s', id => {
  const afterPhase4 = () =>
    createCatalogDatabase(databases, id, {
      entities: 50,
      phase: 4,
    });

  it('stops phase 5, which goes on when there is room', async () => {
    const database = await afterPhase4();
    const runPhase5 = () =>
      database.migrate(migration => migration.runPhase(5));
    await database.client.query(
      `create function disk_full() returns event_trigger language plpgsql as $$
         begin raise exception 'No space left on device' using errcode = '53100'; end $$;
       create event trigger disk_full on ddl_command_end
         when tag in ('CREATE INDEX') execute function disk_full()`,
    );
    await expect(runPhase5()).rejects.toMatchObject({
      name: 'DiskFullError',
      exitCode: EXIT_CODES.refused,
      message: expect.stringContaining('is full: No space left on device.'),
    });
    await database.client.query('drop event trigger disk_full');
    await expect(runPhase5()).resolves.toBe(true);
    await database.close();
  });
});
