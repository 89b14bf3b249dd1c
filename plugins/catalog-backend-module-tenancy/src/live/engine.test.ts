import { createTestDatabases } from '@internal/postgres/testUtils';
import { LiveCatalog } from './__testUtils__/LiveCatalog';
import { LiveDatabase } from './__testUtils__/LiveDatabase';
import { sizesFromEnvironment } from './__testUtils__/sizes';
import { World } from './__testUtils__/World';

const databases = createTestDatabases();
jest.setTimeout(600_000);

it('settles', async () => {
  const sizes = sizesFromEnvironment();
  const database = await LiveDatabase.create(databases, 'POSTGRES_18');
  const catalog = await LiveCatalog.start(database);
  const world = new World(catalog, sizes);
  for (let i = 0; i < 3; i++) {
    let t = Date.now();
    world.start();
    await world.acted(10);
    await world.pause();
    console.info('acted', Date.now() - t);
    t = Date.now();
    await Promise.race([
      world.settled(),
      new Promise(r => setTimeout(r, 30000).unref()),
    ]);
    console.info(
      'settled',
      Date.now() - t,
      Object.keys(world.expected()).length,
      Object.keys(world.expected({ convertible: false })),
    );
    const rows = await database.query(
      `select entity_ref, substring(final_entity from '"version":(\\d+)') v from public.final_entities where entity_ref not like 'location:%'`,
    );
    const shown: any = Object.fromEntries(
      rows.map((r: any) => [r.entity_ref, Number(r.v)]),
    );
    const exp: any = world.expected();
    console.info(
      [...new Set([...Object.keys(shown), ...Object.keys(exp)])]
        .filter(k => shown[k] !== exp[k])
        .map(k => [k, shown[k], exp[k]]),
      catalog.log.problems,
    );
    console.info(
      await database.query('select count(*) from public.stitch_queue'),
    );
  }
  await catalog.stop();
});
