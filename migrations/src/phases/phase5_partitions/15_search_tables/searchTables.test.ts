import { createTestDatabases } from '@internal/postgres/testUtils';
import { forEachTest } from '../../../__testUtils__/forEachTest';
import { createCatalogDatabase } from '../../../__testUtils__/catalogDatabase';
import { stopBefore } from '../../../__testUtils__/stopBefore';
import { rollback } from '../../../rollback/rollback';
import { swap } from '../70_swap';
import { faultsOf } from './__testUtils__/faults';

const databases = createTestDatabases();
// Of 60, of which every 20th is deleted.
const LIVE = 57;

describe.each(databases.eachSupportedId())('search tables on %s', id => {
  const database = forEachTest(() =>
    createCatalogDatabase(databases, id, {
      entities: 60,
      phase: 4,
      prepare: prepared => stopBefore(prepared, 5, swap),
    }),
  );

  const runPhase5 = () => database.migrate(migration => migration.runPhase(5));

  async function entitiesWithTerms(): Promise<number> {
    const { rows } = await database.client.query<{ count: number }>(
      'select count(distinct entity_id)::int as count from entity_terms',
    );
    return rows[0].count;
  }

  const CHANGES = `
    update entities set final_entity = jsonb_set(final_entity, '{kind}', '"API"') where entity_name = 'service-1';
    delete from entities where entity_name = 'service-2';
    update entities set deleted_at = now() where entity_name = 'service-3';
    update entities set deleted_at = null where entity_name = 'service-20';
    update entities set final_entity = '{"spec": null}' where entity_name = 'service-4';
    insert into entities (tenant_id, entity_ref, entity_kind, entity_namespace, entity_name, final_entity, hash)
    select tenant_id, 'component:default/new', 'component', 'default', 'new', final_entity, ''
      from entities where entity_name = 'service-5';
    delete from refresh_state where entity_id in (select entity_id from entities where entity_name = 'service-6');
    delete from relations where originating_entity_id in (select entity_id from entities where entity_name = 'service-6');
    update entities set entity_id = gen_random_uuid() where entity_name = 'service-6'`;

  it('have the terms of the copies, and of what was changed meanwhile', async () => {
    await expect(entitiesWithTerms()).resolves.toBe(LIVE);
    await database.client.query(CHANGES);
    await runPhase5();
    await expect(entitiesWithTerms()).resolves.toBe(LIVE);
    await expect(faultsOf(database)).resolves.toEqual([]);
  });

  it('follow the tables of before while these are in use again', async () => {
    await runPhase5();
    await database.migrate(migration => rollback(migration));
    await database.client.query(CHANGES);
    await runPhase5();
    await expect(entitiesWithTerms()).resolves.toBe(LIVE);
    await expect(faultsOf(database)).resolves.toEqual([]);
  });
});
