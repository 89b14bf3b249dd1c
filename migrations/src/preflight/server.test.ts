import { createTestDatabases } from '@internal/postgres/testUtils';
import { Client } from 'pg';
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

  it('refuses connections that are pooled by the transaction', async () => {
    const other = new Client(database.connection);
    await other.connect();
    const report = await database.migrate(
      ({ context }) => {
        const pooled = Object.create(context.executor);
        let turn = 0;
        pooled.read = async (sql: string, values?: unknown[]) => {
          turn += 1;
          return turn % 2 === 0
            ? (await other.query(sql, values)).rows
            : context.executor.read(sql, values);
        };
        return runPreflight(
          { ...context, executor: pooled },
          { backupCompleted: true },
        );
      },
      { mode: 'read' },
    );
    await other.end();
    const found = findings(report, 'failure', 'connection');
    expect(found[0].message).toMatch(/the command got 2 of them/);
  });

  it.each([
    [false, 'failure'],
    [true, 'warning'],
  ] as const)(
    'refuses a connection that greets with the process of a pooler, unless forced: %s',
    async (force, level) => {
      const report = await database.migrate(
        ({ context }) =>
          runPreflight({ ...context, serverPid: 1 }, { backupCompleted: true }),
        { mode: 'read', settings: { force } },
      );
      const [found] = findings(report, level, 'connection');
      expect(found.message).toMatch(/one that was open before/);
    },
  );
});
