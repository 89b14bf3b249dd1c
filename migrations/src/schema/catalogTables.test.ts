import { createTestDatabases } from '@internal/postgres/testUtils';
import { createCatalogDatabase } from '../__testUtils__/catalogDatabase';
import type { CatalogDatabase } from '../__testUtils__/catalogDatabase';
import { RefusedError } from '../errors';
import { createCatalogTables, isFreshDatabase } from './catalogTables';

const databases = createTestDatabases();

const ENTITY = `insert into entities (entity_ref, entity_kind, entity_name, final_entity, hash)`;

describe.each(databases.eachSupportedId())('a fresh database on %s', id => {
  let database: CatalogDatabase;
  beforeEach(async () => {
    database = await createCatalogDatabase(databases, id, { seed: false });
  });
  afterEach(() => database.close());

  it('is one that has none of the three tables', async () => {
    await database.migrate(async ({ context }) => {
      await expect(isFreshDatabase(context)).resolves.toBe(true);
      await createCatalogTables(context);
      await expect(isFreshDatabase(context)).resolves.toBe(false);
    });
    await database.client.query('drop table refresh_state');
    await database.migrate(async ({ context }) => {
      const outcome = isFreshDatabase(context);
      await expect(outcome).rejects.toThrow(RefusedError);
      await expect(outcome).rejects.toThrow('has no refresh_state.');
    });
  });

  it('gets tables with the rules of the specification, and goes through the phases', async () => {
    await database.client.query('create extension pg_trgm schema public');
    await database.migrate(async migration => {
      await createCatalogTables(migration.context);
      for (const number of [1, 2, 3, 4, 5] as const) {
        await migration.runPhase(number);
      }
      await expect(migration.completedPhase()).resolves.toBe(5);
    });
  });

  it('refuses entities whose reference is not made of its parts', async () => {
    await database.migrate(({ context }) => createCatalogTables(context));
    await database.client.query(
      `${ENTITY} values ('api:default/a', 'api', 'a', '{}', '')`,
    );
    await expect(
      database.client.query(
        `${ENTITY} values ('api:default/b', 'api', 'c', '{}', '')`,
      ),
    ).rejects.toThrow('entities_entity_ref_check');
    await expect(
      database.client.query(
        `${ENTITY} values ('api:default/a', 'api', 'a', '{}', '')`,
      ),
    ).rejects.toThrow('entities_entity_ref_key');
  });

  it('loses relations and refresh states with their entity', async () => {
    await database.migrate(({ context }) => createCatalogTables(context));
    await database.client.query(
      `${ENTITY} values ('api:default/a', 'api', 'a', '{}', '')`,
    );
    await database.client.query(
      `insert into relations select entity_id, entity_ref, 'ownedBy', 'group:default/g' from entities`,
    );
    await database.client.query(
      'insert into refresh_state (entity_id) select entity_id from entities',
    );
    await database.client.query('delete from entities');
    const { rows } = await database.client.query(
      `select (select count(*)::int from relations) as relations,
              (select count(*)::int from refresh_state) as refresh_state`,
    );
    expect(rows).toEqual([{ relations: 0, refresh_state: 0 }]);
  });
});
