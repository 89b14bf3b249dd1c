import { createTestDatabases } from '@internal/postgres/testUtils';
import { runPhases } from '../__testUtils__/runPhases';
import { createStockCatalog } from './__testUtils__/stockCatalog';
import type { StockCatalog } from './__testUtils__/stockCatalog';
import { adopt, readAdoption } from './library';
import { migrateTo } from '../migrateTo';

const databases = createTestDatabases();

describe.each(databases.eachSupportedId())('adopting a catalog on %s', id => {
  let catalog: StockCatalog;
  beforeEach(async () => {
    catalog = await createStockCatalog(databases, id);
  });
  afterEach(() => catalog.close());

  it('carries what is there and what comes', async () => {
    const { engine, client, connection } = catalog;
    await engine.ingest({
      ref: 'component:default/a',
      relations: [['ownedBy', 'group:default/g']],
      locationKey: 'url:x',
    });
    const status = await adopt({ connection });
    expect(status).toMatchObject({
      adopted: true,
      faults: 0,
      engineEntities: 1,
    });
    await engine.ingest({
      ref: 'component:default/b',
      relations: [
        ['ownedBy', 'group:default/g'],
        ['ownedBy', 'group:default/h'],
      ],
    });
    const rows = await client.query(
      'select entity_ref, (select count(*)::int from relations r where r.originating_entity_id = e.entity_id) as relations, (select location_key from refresh_state s where s.entity_id = e.entity_id) as key from entities e order by 1',
    );
    expect(rows.rows).toEqual([
      { entity_ref: 'component:default/a', relations: 1, key: 'url:x' },
      { entity_ref: 'component:default/b', relations: 2, key: null },
    ]);
    await runPhases(catalog, 5);
    await engine.ingest({ ref: 'component:default/c' });
    await engine.remove('component:default/a');
    expect(
      (
        await client.query('select entity_ref from entities order by 1')
      ).rows.map(r => r.entity_ref),
    ).toEqual(['component:default/b', 'component:default/c']);
    expect(await readAdoption({ connection })).toMatchObject({
      adopted: true,
      faults: 0,
      engineEntities: 2,
    });
    expect(await adopt({ connection })).toMatchObject({
      adopted: true,
      faults: 0,
      engineEntities: 2,
    });
  });

  it('adopts at phase 5', async () => {
    const { engine, client, connection } = catalog;
    await engine.ingest({
      ref: 'component:default/a',
      relations: [['ownedBy', 'group:default/g']],
    });
    await migrateTo(5, { connection, createTables: true });
    expect(await adopt({ connection })).toMatchObject({
      adopted: true,
      faults: 0,
    });
    await engine.ingest({
      ref: 'component:default/b',
      relations: [['ownedBy', 'group:default/g']],
    });
    expect(
      (
        await client.query('select entity_ref from entities order by 1')
      ).rows.map(r => r.entity_ref),
    ).toEqual(['component:default/a', 'component:default/b']);
    expect(await adopt({ connection })).toMatchObject({
      adopted: true,
      faults: 0,
    });
  });
});
