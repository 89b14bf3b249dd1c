import { createTestDatabases } from '@internal/postgres/testUtils';
import { forEachTest } from '../__testUtils__/forEachTest';
import { createCatalogDatabase } from '../__testUtils__/catalogDatabase';
import { runPreflight } from './runPreflight';
import { findings } from './__testUtils__/preflight';

const databases = createTestDatabases();

describe.each(databases.eachSupportedId())('the preflight on %s', id => {
  const database = forEachTest(() =>
    createCatalogDatabase(databases, id, { entities: 20 }),
  );

  it('refuses a server that is too old', async () => {
    const report = await database.migrate(
      ({ context }) => {
        const executor = Object.create(context.executor);
        // What is asked of publications differs from version to version.
        executor.read = (sql: string, values?: unknown[]) =>
          context.executor.read(
            sql.includes('pg_publication')
              ? sql
              : sql.replaceAll(
                  "current_setting('server_version_num')::int",
                  '130022',
                ),
            values,
          );
        return runPreflight(
          { ...context, executor },
          { backupCompleted: true },
        );
      },
      { mode: 'read' },
    );
    expect(findings(report, 'failure').map(({ check }) => check)).toEqual([
      'server version',
    ]);
  });
});
