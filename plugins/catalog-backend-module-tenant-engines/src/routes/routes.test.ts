import {
  type CatalogBackend,
  startCatalogBackend,
} from '@internal/catalog-testing/startCatalogBackend';
import { createTenancyDatabase } from '@internal/catalog-testing/tenancyDatabase';
import {
  createTestDatabases,
  eventually,
  waitUntil,
} from '@internal/postgres/testUtils';
import {
  tenantEngineStoreServiceRef,
  type TenantEngineStore,
} from 'backstage-plugin-catalog-tenancy-node';
import { createBackendPlugin } from '@backstage/backend-plugin-api';
import { tenantEngines } from '..';
import { componentYaml, SourceServer } from '../__testUtils__/SourceServer';

const databases = createTestDatabases({ versions: 'every' });

describe.each(databases.eachSupportedId())('the engines on %s', id => {
  let source: SourceServer;
  let backend: CatalogBackend;
  let engines: TenantEngineStore;

  beforeAll(async () => {
    source = await SourceServer.start();
    backend = await startCatalogBackend({
      connection: await createTenancyDatabase(databases, id),
      enabled: true,
      config: { backend: { reading: { allow: [{ host: source.host }] } } },
      features: [
        tenantEngines(),
        createBackendPlugin({
          pluginId: 'engines-of-the-test',
          register(env) {
            env.registerInit({
              deps: { store: tenantEngineStoreServiceRef },
              async init({ store }) {
                engines = store;
              },
            });
          },
        }),
      ],
    });
    for (const slug of ['acme', 'globex', 'by-code']) {
      await backend.tenants.create({ tenant_slug: slug, tenant_name: slug });
    }
    await engines.enable('acme', { by: 'test' });
    await engines.enable('globex', { by: 'test' });
  });

  afterAll(async () => {
    await backend?.stop();
    await source?.stop();
  });

  const statusOf = (slug: string | undefined, ref: string) =>
    backend
      .as(slug)
      .get(`/entities/by-name/${ref}`)
      .then(({ status }) => status);

  it('serve a location that is registered under a tenant to that tenant alone', async () => {
    const target = source.put('/website.yaml', componentYaml('website'));
    const created = await eventually(async () => {
      const answer = await backend
        .as('acme')
        .post('/locations', { type: 'url', target });
      expect(answer.status).toBe(201);
      return answer;
    });
    expect(created.body.location).toMatchObject({ type: 'url', target });
    await waitUntil(
      'the entity',
      async () => (await statusOf('acme', 'component/default/website')) === 200,
    );
    for (const slug of ['globex', 'by-code', 'default', undefined]) {
      expect(await statusOf(slug, 'component/default/website')).toBe(404);
    }
    const locations = await backend.as('globex').get('/locations');
    expect(locations.body).toEqual([]);
  });

  it('are refused to a tenant that has none', async () => {
    const { status, body } = await backend.as('by-code').get('/locations');
    expect(status).toBe(403);
    expect(body.error.message).toBe(
      "GET /locations is not available to the tenant 'by-code': it has no catalog engine",
    );
  });
});
