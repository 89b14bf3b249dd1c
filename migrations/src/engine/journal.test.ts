import { createTestDatabases } from '@internal/postgres/testUtils';
import { createCatalogDatabase } from '../__testUtils__/catalogDatabase';
import { RefusedError } from '../errors';
import { phases } from '../phases';
import { rollback } from '../rollback/rollback';

const databases = createTestDatabases();

describe.each(databases.eachSupportedId())('on %s', id => {
  it('counts a step as done from its end on, and until its undo begins', async () => {
    const database = await createCatalogDatabase(databases, id);
    const [{ steps: ofPhase1 }] = phases;
    const last = ofPhase1[ofPhase1.length - 1];
    const broken = new Error('The connection was lost in the middle');
    const failing = phases.map(phase => ({
      ...phase,
      steps: phase.steps.map(step =>
        step === last
          ? {
              ...step,
              up: () => Promise.reject(broken),
              down: () => Promise.reject(broken),
            }
          : step,
      ),
    }));
    const done = () =>
      database.migrate(async migration =>
        (await migration.completedSteps()).includes(last.name),
      );
    await expect(
      database.migrate(migration => migration.runPhase(1), { phases: failing }),
    ).rejects.toThrow(broken);
    expect(await done()).toBe(false);
    await database.migrate(migration => migration.runPhase(1));
    expect(await done()).toBe(true);
    await expect(
      database.migrate(
        migration => migration.undoFrom(failing[0].steps[ofPhase1.length - 1]),
        { phases: failing },
      ),
    ).rejects.toThrow(broken);
    expect(await done()).toBe(false);
    await database.close();
  });

  it('refuses to go on, or back, where another version has done more', async () => {
    const database = await createCatalogDatabase(databases, id);
    await database.migrate(migration => migration.runPhase(1));
    await database.client.query(
      `insert into tenancy_migrations (name, batch, migration_time)
       values ('1_99_of_later', 1, now())`,
    );
    const refusal = new RefusedError(
      'This version does not know the recorded step 1_99_of_later. Run the command ' +
        'with the version that recorded that, or a later one.',
    );
    await expect(
      database.migrate(migration => migration.runPhase(2)),
    ).rejects.toThrow(refusal);
    await expect(
      database.migrate(migration => rollback(migration, 0)),
    ).rejects.toThrow(refusal);
    await database.migrate(async migration =>
      expect(await migration.completedPhase()).toBe(1),
    );
    await database.close();
  });
});
