import {
  coreServices,
  createBackendModule,
} from '@backstage/backend-plugin-api';
import { schedulerServiceFactory } from '@backstage/backend-defaults/scheduler';
// The stock plugins, of which tenants have instances.
// eslint-disable-next-line @backstage/no-mixed-plugin-imports
import searchPlugin from '@backstage/plugin-search-backend';
import searchOfCatalog from '@backstage/plugin-search-backend-module-catalog';
import searchInPostgres from '@backstage/plugin-search-backend-module-pg';
import { createTenancyDatabase } from '@internal/catalog-testing/tenancyDatabase';
import { TestServer } from '@internal/catalog-testing/TestServer';
import {
  createTestDatabases,
  eventually,
  waitUntil,
  withClient,
} from '@internal/postgres/testUtils';
import { engineSchemaOf } from 'backstage-catalog-tenancy-migrations';
import { carriedTenant } from 'backstage-plugin-catalog-tenancy-node';
import type { ClientConfig } from 'pg';
import {
  startThreeTenants,
  type ThreeTenants,
} from './__testUtils__/threeTenants';

const databases = createTestDatabases({ versions: 'newest' });

/** Each start and stop of an instance, by tenant. */
const seen: string[] = [];

const noting = createBackendModule({
  pluginId: 'search',
  moduleId: 'noting',
  register(env) {
    env.registerInit({
      deps: { auth: coreServices.auth, lifecycle: coreServices.lifecycle },
      async init({ auth, lifecycle }) {
        const own = await auth.getOwnServiceCredentials();
        const tenant = carriedTenant(own)?.tenantSlug;
        seen.push(`${tenant} starts`);
        lifecycle.addShutdownHook(() => {
          seen.push(`${tenant} stops`);
        });
      },
    });
  },
});

const count = (what: string) => seen.filter(each => each === what).length;

describe.each(databases.eachSupportedId())('search on %s', id => {
  let connection: ClientConfig;
  let source: TestServer;
  let portal: ThreeTenants;

  beforeAll(async () => {
    connection = await createTenancyDatabase(databases, id);
    source = await new TestServer((req, res) =>
      res.end(`
apiVersion: backstage.io/v1alpha1
kind: Component
metadata: { name: ${req.url!.slice(1)} }
spec: { type: service, owner: guests, lifecycle: production }
`),
    ).listen();
    const features = [searchPlugin, searchInPostgres, searchOfCatalog];
    portal = await startThreeTenants({
      connection,
      config: {
        backend: { reading: { allow: [{ host: source.host }] } },
        search: {
          collators: {
            catalog: {
              schedule: {
                // An engine sleeps between the runs of a task.
                frequency: { seconds: 3 },
                timeout: { minutes: 1 },
                initialDelay: { milliseconds: 100 },
              },
            },
          },
        },
      },
      features: [schedulerServiceFactory, ...features],
      plugins: { search: [...features, noting] },
      fedByEngines: true,
      entitiesOf: () => [],
      timing: { checkMs: 200, idleMs: 500, longestRunMs: 2_000 },
      engineTiming: {
        checkMs: 200,
        idleMs: 500,
        quietMs: 200,
        caughtUpMs: 100,
      },
    });
  });

  afterAll(async () => {
    await portal?.backend.stop();
    await source.stop();
  });

  const register = async (name: string) => {
    await eventually(() =>
      portal
        .send('acme', 'POST', 'catalog/locations')
        .send({ type: 'url', target: `${source.url}/${name}` })
        .expect(201),
    );
  };

  const isFound = async (name: string) => {
    const { body, status } = await portal.get('acme', 'search/query?term=');
    // 503 to a request that meets the instance while it stops.
    expect([200, 503]).toContain(status);
    return body.results?.some(
      ({ document }: { document: { title: string } }) =>
        document.title === name,
    );
  };

  /** In its tables: a request would start the instance. */
  const indexed = () =>
    withClient(
      { ...connection, database: `${connection.database}_search` },
      async client => {
        const schema = `${engineSchemaOf(portal.ids.get('acme')!)}_search`;
        const { rows } = await client.query<{ title: string }>(
          `select document ->> 'title' as title from "${schema}".documents`,
        );
        return rows.map(({ title }) => title);
      },
    );

  it('stops while the engine of its tenant sleeps, and starts to index what has changed', async () => {
    await register('first');
    await waitUntil('the first', () => isFound('first'));
    await waitUntil('the instance to stop', () => count('acme stops') > 0);
    await register('second');
    await waitUntil('the change to be indexed', async () =>
      (await indexed()).includes('second'),
    );
    await waitUntil(
      'it to stop again',
      () => count('acme stops') === count('acme starts'),
    );
    expect(count('globex starts')).toBe(0);
  });
});
