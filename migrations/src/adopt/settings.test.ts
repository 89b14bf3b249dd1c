import {
  alterDatabase,
  createTestDatabases,
  HOSTILE_SETTINGS,
} from '@internal/postgres/testUtils';
import { forEachTest } from '../__testUtils__/forEachTest';
import { differences, faultsOf, refsOf } from './__testUtils__/inspect';
import { createStockCatalog } from './__testUtils__/stockCatalog';
import { adopt, retryFaults } from './library';

const databases = createTestDatabases({ versions: 'every' });

const REFS = Array.from(
  { length: 30 },
  (_, n) => `component:default/c${String(n).padStart(2, '0')}`,
);

// The sessions of the stock catalog are Backstage's: nothing of ours can set anything there.
describe.each(databases.eachSupportedId())(
  'a catalog whose database sets something else for its sessions on %s',
  id => {
    const catalog = forEachTest(() => createStockCatalog(databases, id));

    /** The first of them before the adoption, and the others at the same time afterwards. */
    async function ingestAll(): Promise<void> {
      const { connection, engine } = catalog;
      await alterDatabase(connection, HOSTILE_SETTINGS);
      await engine.ingest({ ref: REFS[0] });
      await adopt({ connection });
      await Promise.all(
        REFS.slice(1).map(ref =>
          engine.ingest({
            ...{ ref, parent: REFS[0] },
            // Of one, a number that PostgreSQL and JavaScript print in different ways.
            ...(ref === REFS[1] && {
              json: '{"kind":"Component","metadata":{"name":"c01"},"spec":{"n":1.5e-7}}',
            }),
            relations: [['ownedBy', 'group:default/g']],
          }),
        ),
      );
    }

    it('is carried as it is, also what writers had to wait for', async () => {
      await ingestAll();
      // A transaction whose snapshot is too old leaves a fault, which the backend retries.
      await retryFaults({ connection: catalog.connection });
      expect(await faultsOf(catalog)).toEqual([]);
      expect(await refsOf(catalog)).toEqual(REFS);
      expect(await differences(catalog)).toEqual([]);
    });
  },
);
