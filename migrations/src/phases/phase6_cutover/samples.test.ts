import { createTestDatabases } from '@internal/postgres/testUtils';
import { createCatalogDatabase } from '../../__testUtils__/catalogDatabase';
import type { CatalogDatabase } from '../../__testUtils__/catalogDatabase';
import { runPhases } from '../../__testUtils__/runPhases';
import { listen, runCutover } from './__testUtils__/cutover';
import { TestApplication } from './__testUtils__/TestApplication';
import type { Received } from './__testUtils__/TestApplication';

const databases = createTestDatabases({ versions: 'newest' });

// More than are compared one by one.
const ENTITIES = 6000;
const LIVE = ENTITIES - ENTITIES / 20;

const ofDefaultTenant = ({ tenant }: Received) => tenant === 'default';

// On one version: what is tested is which entities are asked for.
describe.each(databases.eachSupportedId().slice(-1))(
  'a large catalog on %s',
  id => {
    let database: CatalogDatabase;
    let application: TestApplication;
    let baseUrl: string;

    beforeAll(async () => {
      database = await createCatalogDatabase(databases, id, {
        entities: ENTITIES,
      });
      await runPhases(database, 5);
      application = new TestApplication(database.client);
      baseUrl = await application.start();
    });
    afterAll(async () => {
      await application.stop();
      await database.close();
    });

    it('is compared by a sample', async () => {
      const { info, reporter } = listen();
      await runCutover(database, { baseUrl }, { reporter });
      const [, compared] = / (\d+) of 5700 live/.exec(info[1]) ?? [];
      expect(LIVE).toBe(5700);
      expect(Number(compared)).toBeGreaterThanOrEqual(2000);
      expect(Number(compared)).toBeLessThanOrEqual(2200);
      expect(application.received.filter(ofDefaultTenant)).toHaveLength(14);
    });

    it('shows entities that are not in the database', async () => {
      application.misbehave = async ({ tenant, query }, answer) => {
        if (tenant !== 'default' || !query.has('offset')) {
          return undefined;
        }
        const { status, body } = await answer();
        const ghost = { kind: 'API', metadata: { name: 'ghost' } };
        return { status, body: [...(body as unknown[]), ghost] };
      };
      await expect(runCutover(database, { baseUrl })).rejects.toThrow(
        'Not in the database: api:default/ghost.',
      );
    });

    it('shows that the application does not have what the database has', async () => {
      application.misbehave = async ({ query }) =>
        query.has('filter') ? { status: 200, body: [] } : undefined;
      await expect(runCutover(database, { baseUrl })).rejects.toThrow(
        /Missing in the application: component:.* and 195 more/,
      );
    });
  },
);

describe.each(databases.eachSupportedId().slice(-1))(
  'a catalog of pages on %s',
  id => {
    it('is compared as a whole', async () => {
      const database = await createCatalogDatabase(databases, id, {
        entities: 1200,
      });
      await runPhases(database, 5);
      const application = new TestApplication(database.client);
      const baseUrl = await application.start();
      const { info, reporter } = listen();
      await runCutover(database, { baseUrl }, { reporter });
      expect(info[1]).toContain('1140 of 1140 live');
      expect(application.received.filter(ofDefaultTenant)).toHaveLength(3);
      await application.stop();
      await database.close();
    });
  },
);
