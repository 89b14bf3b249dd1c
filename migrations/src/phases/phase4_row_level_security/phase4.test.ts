import { createTestDatabases } from '@internal/postgres/testUtils';
import { createCatalogDatabase } from '../../__testUtils__/catalogDatabase';
import type { CatalogDatabase } from '../../__testUtils__/catalogDatabase';
import { catalogSnapshot } from '../../__testUtils__/catalogSnapshot';
import { dryRun } from '../../__testUtils__/dryRun';
import { runPhases } from '../../__testUtils__/runPhases';
import { privileges } from './10_privileges';

const databases = createTestDatabases();

describe.each(databases.eachSupportedId())('phase 4 on %s', id => {
  const opened: CatalogDatabase[] = [];
  const create = async () => {
    const database = await createCatalogDatabase(databases, id);
    opened.push(database);
    return database;
  };
  afterEach(async () => {
    await Promise.all(opened.splice(0).map(database => database.close()));
  });

  it('is undone without a trace, and done again', async () => {
    const database = await create();
    await runPhases(database, 3);
    const before = await catalogSnapshot(database.client);
    await runPhases(database, 4);
    const after = await catalogSnapshot(database.client);
    expect(after).not.toEqual(before);

    await database.migrate(migration => migration.undoFrom(privileges));
    expect(await catalogSnapshot(database.client)).toEqual(before);

    await runPhases(database, 4);
    expect(await catalogSnapshot(database.client)).toEqual(after);
  });

  it('prints scripts that do, and undo, the same', async () => {
    const [byCommand, byScript] = [await create(), await create()];
    await runPhases(byCommand, 4);
    await runPhases(byScript, 3);
    const before = await catalogSnapshot(byScript.client);

    const up = await dryRun(byScript, 4);
    expect(await catalogSnapshot(byScript.client)).toEqual(before);
    for (const statement of up) {
      await byScript.client.query(statement);
    }
    expect(await catalogSnapshot(byScript.client)).toEqual(
      await catalogSnapshot(byCommand.client),
    );
    await expect(
      byScript.migrate(migration => migration.completedPhase()),
    ).resolves.toBe(4);

    for (const statement of await dryRun(byScript, privileges)) {
      await byScript.client.query(statement);
    }
    expect(await catalogSnapshot(byScript.client)).toEqual(before);
  });
});
