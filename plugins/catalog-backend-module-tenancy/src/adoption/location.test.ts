import { mockServices } from '@backstage/backend-test-utils';
import type { Entity } from '@backstage/catalog-model';
import type { JsonObject } from '@backstage/types';
import { sampleEntities } from '@internal/catalog-testing/sampleEntities';
import {
  type CatalogBackend,
  startCatalogBackend,
} from '@internal/catalog-testing/startCatalogBackend';
import { entityProvider, settled } from '@internal/catalog-testing/stockEngine';
import { createTenancyDatabase } from '@internal/catalog-testing/tenancyDatabase';
import { createTestDatabases, withClient } from '@internal/postgres/testUtils';
import {
  adopt,
  locateCatalog,
  migrateTo,
} from 'backstage-catalog-tenancy-migrations';
import { merge } from 'lodash';
import type { ClientConfig } from 'pg';

// Backstage decides where the tables are, and no SQL of it depends on the version. In `public`
// they are in the other tests of adoption; more places are located in catalogLocation.test.ts.
const databases = createTestDatabases({ versions: 'newest' });

const SAMPLES = sampleEntities();

interface Place {
  title: string;
  /** Of `backend.database`. */
  settings(database: string): JsonObject;
  schema: string;
  /** Created by the operator. */
  isCreated?: boolean;
  /** Of the database, as SQL. */
  path?: string;
}

const PLACES: Place[] = [
  {
    title: 'a schema with a prefix for each plugin',
    settings: database => ({
      pluginDivisionMode: 'schema',
      schemaPrefix: 'Portal_',
      connection: { database },
    }),
    schema: 'Portal_catalog',
  },
  {
    title: 'the search path of the plugin',
    settings: database => ({
      plugin: {
        catalog: {
          connection: { database },
          knexConfig: { searchPath: ['stock'] },
        },
      },
    }),
    schema: 'stock',
    isCreated: true,
  },
  {
    title: 'the search path of the database',
    settings: database => ({
      plugin: { catalog: { connection: { database } } },
    }),
    schema: 'stock',
    isCreated: true,
    path: 'stock',
  },
];

describe.each(databases.eachSupportedId())('on %s', id => {
  describe.each(PLACES)('a stock catalog in $title', place => {
    let server: ClientConfig;
    let database: JsonObject;

    beforeEach(async () => {
      // Beside the empty tables of another stock catalog, in `public`.
      server = await createTenancyDatabase(databases, id, {
        stockTables: true,
      });
      const { host, port, user, password } = server;
      await withClient(server, async client => {
        await client.query('drop schema tenancy cascade');
        // Its indexes would keep upstream's migrations, which look them up by name alone, from
        // making those of the catalog here.
        await client.query('drop table if exists public.search cascade');
        if (place.isCreated) {
          await client.query(`create schema ${place.schema}`);
        }
        if (place.path) {
          await client.query(
            `alter database ${server.database} set search_path = ${place.path}`,
          );
        }
      });
      database = merge(
        {
          client: 'pg',
          connection: { host, port, user, password: String(password) },
        },
        place.settings(String(server.database)),
      );
    });

    const start = (enabled: boolean, entities: Entity[] = SAMPLES) =>
      startCatalogBackend({
        connection: { ...server, database: undefined },
        enabled,
        config: {
          backend: { database },
          catalog: {
            processingInterval: { hours: 1 },
            orphanProviderStrategy: 'keep',
          },
        },
        features: entities.length > 0 ? [entityProvider(entities)] : [],
      });

    const ingested = (backend: CatalogBackend) =>
      settled(async () => {
        const { body, status } = await backend.as('default').get('/entities');
        return status === 200 ? body : [];
      }, SAMPLES.length);

    it('is noticed while it is not adopted, and served once it is', async () => {
      const off = await start(false);
      await ingested(off);
      await off.stop();
      await expect(start(true, [])).rejects.toThrow(
        `The catalog has ${SAMPLES.length} entities and is not adopted`,
      );

      const { connection, schema } = await locateCatalog(
        mockServices.rootConfig({ data: { backend: { database } } }),
      );
      expect(schema).toBe(place.schema);
      await adopt({ connection, catalogSchema: schema });
      await migrateTo(5, { connection });
      const on = await start(true, []);
      await expect(ingested(on)).resolves.toHaveLength(SAMPLES.length);
      await on.stop();
    });

    it('is served with the flag on from the first start', async () => {
      const backend = await start(true);
      await expect(ingested(backend)).resolves.toHaveLength(SAMPLES.length);
      await backend.stop();
    });
  });
});
