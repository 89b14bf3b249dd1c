import { createBackendModule } from '@backstage/backend-plugin-api';
import type { Entity } from '@backstage/catalog-model';
// The stock plugin, of which tenants have instances.
// eslint-disable-next-line @backstage/no-mixed-plugin-imports
import techdocsPlugin from '@backstage/plugin-techdocs-backend';
import { techdocsPreparerExtensionPoint } from '@backstage/plugin-techdocs-node';
import { createTenancyDatabase } from '@internal/catalog-testing/tenancyDatabase';
import type { JsonObject } from '@backstage/types';
import { createTestDatabases } from '@internal/postgres/testUtils';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import request from 'supertest';
import { ObjectStore } from './__testUtils__/ObjectStore';
import { generator, hasMkDocs } from './__testUtils__/techdocs';
import {
  markOf,
  startThreeTenants,
  TENANTS,
  type ThreeTenants,
} from './__testUtils__/threeTenants';

const databases = createTestDatabases({ versions: 'newest' });

const entity = (name: string, annotations: Record<string, string>): Entity => ({
  apiVersion: 'backstage.io/v1alpha1',
  kind: 'Component',
  metadata: {
    name,
    namespace: 'default',
    annotations: {
      'backstage.io/managed-by-location': 'url:http://example.com/x.yaml',
      'backstage.io/managed-by-origin-location':
        'url:http://example.com/x.yaml',
      ...annotations,
    },
  },
  spec: { type: 'website' },
});

/** Has a document say what the url of its entity says, without a server. */
const sources = createBackendModule({
  pluginId: 'techdocs',
  moduleId: 'sources',
  register(env) {
    env.registerInit({
      deps: { preparers: techdocsPreparerExtensionPoint },
      async init({ preparers }) {
        preparers.registerPreparer('url', {
          shouldCleanPreparedDirectory: () => true,
          async prepare({ metadata }) {
            const preparedDir = await mkdtemp(join(tmpdir(), 'prepared-'));
            await mkdir(join(preparedDir, 'docs'));
            await writeFile(
              join(preparedDir, 'docs/index.md'),
              `Of ${metadata.annotations?.['backstage.io/techdocs-ref']}`,
            );
            await writeFile(join(preparedDir, 'mkdocs.yml'), 'site_name: Docs');
            return { preparedDir, etag: '1' };
          },
        });
      },
    });
  },
});

/** Publishers, and what builds. */
const WAYS: [string, string][] = [
  ['local', 'a stand-in'],
  ['awsS3', 'a stand-in'],
  ...(hasMkDocs ? [['local', 'MkDocs'] as [string, string]] : []),
];

/** Where documents are published, with the root `docs` of the default tenant. */
interface Place {
  publisher: JsonObject;
  /** As a builder outside publishes a file. */
  put: (key: string, text: string) => Promise<void>;
  remove: () => Promise<void>;
}

const PLACES: Record<string, () => Promise<Place>> = {
  async local() {
    const folder = await mkdtemp(join(tmpdir(), 'docs-'));
    const publishDirectory = join(folder, 'docs');
    return {
      publisher: { type: 'local', local: { publishDirectory } },
      async put(key, text) {
        const file = join(folder, key);
        await mkdir(dirname(file), { recursive: true });
        await writeFile(file, text);
      },
      remove: () => rm(folder, { recursive: true }),
    };
  },
  async awsS3() {
    const store = await new ObjectStore().listen();
    return {
      publisher: {
        type: 'awsS3',
        awsS3: {
          bucketName: 'bucket',
          bucketRootPath: 'docs',
          credentials: { accessKeyId: 'of', secretAccessKey: 'portal' },
          endpoint: store.url,
          region: 'eu-west-1',
          s3ForcePathStyle: true,
        },
      },
      async put(key, text) {
        store.objects.set(key, Buffer.from(text));
      },
      remove: () => store.stop(),
    };
  },
};

describe.each(
  databases
    .eachSupportedId()
    .flatMap(([id]) => WAYS.map(way => [...way, id] as const)),
)('TechDocs by the publisher %s, built by %s, on %s', (type, builder, id) => {
  const EXTERNAL = 'static/docs/default/component/written-outside/index.html';
  const BUILT = 'default/component/built-here';
  let place: Place;
  let portal: ThreeTenants;

  const publish = async (root: string, text: string) => {
    const site = `${root}/default/component/written-outside`;
    await place.put(`${site}/index.html`, `<html>${text}</html>`);
    await place.put(
      `${site}/techdocs_metadata.json`,
      JSON.stringify({ site_name: text }),
    );
  };

  beforeAll(async () => {
    place = await PLACES[type]();
    const features = [
      ...[techdocsPlugin, sources],
      ...(builder === 'MkDocs' ? [] : [generator]),
    ];
    portal = await startThreeTenants({
      connection: await createTenancyDatabase(databases, id),
      config: {
        techdocs: {
          builder: 'local',
          generator: {
            runIn: 'local',
            // Another package than MkDocs.
            mkdocs: { omitTechdocsCorePlugin: true },
          },
          publisher: place.publisher,
        },
        tenancy: {
          plugins: { config: { techdocs: { generator: { runIn: 'local' } } } },
        },
      },
      features,
      plugins: { techdocs: features },
      entitiesOf: tenant =>
        ['written-outside', 'built-here'].map(name =>
          entity(name, {
            'backstage.io/techdocs-ref': `url:http://example.com/${markOf(
              tenant,
            )}`,
          }),
        ),
    });
    await publish('docs', markOf('default'));
    await publish(`docs-of-tenants/${portal.ids.get('acme')}`, markOf('acme'));
  });

  afterAll(async () => {
    await portal?.backend.stop();
    await place.remove();
  });

  it('shows what was published for the tenant, and nothing where there is none', async () => {
    for (const tenant of ['default', 'acme']) {
      const { text } = await portal.get(tenant, `techdocs/${EXTERNAL}`);
      expect(text).toContain(markOf(tenant));
      portal.expectOwn(tenant, text);
      const metadata = await portal.get(
        tenant,
        'techdocs/metadata/techdocs/default/component/written-outside',
      );
      expect(metadata.body).toEqual({ site_name: markOf(tenant) });
    }
    const ofGlobex = await portal.get('globex', `techdocs/${EXTERNAL}`);
    expect(ofGlobex.status).toBe(404);
    portal.expectOwn('globex', ofGlobex.text);
  });

  it('builds the documents of each tenant in its own place', async () => {
    for (const tenant of TENANTS) {
      const before = await portal.get(
        tenant,
        `techdocs/static/docs/${BUILT}/index.html`,
      );
      expect(before.status).toBe(404);
      const { text: log } = await portal.get(tenant, `techdocs/sync/${BUILT}`);
      expect(log).toContain('data: {"updated":true}');
      portal.expectOwn(tenant, log);
      const { text } = await portal.get(
        tenant,
        `techdocs/static/docs/${BUILT}/index.html`,
      );
      expect(text).toContain(markOf(tenant));
      portal.expectOwn(tenant, text);
    }
  });

  it('shows an image in the page of a tenant that has no hostname, by the cookie of its user', async () => {
    const route = '.backstage/auth/v1/cookie';
    const ofTenant = await portal
      .get('acme', `techdocs/.tenant/acme/${route}`)
      .expect(307);
    const { pathname } = new URL(
      ofTenant.headers.location,
      `http://portal/api/techdocs/.tenant/acme/${route}`,
    );
    expect(pathname).toBe(`/api/techdocs/${route}`);
    const { headers } = await portal
      .get('acme', `techdocs/${route}`)
      .expect(200);
    const cookie = String(headers['set-cookie']).split(';')[0];
    const image = (path: string) =>
      request(portal.backend.server)
        .get(`/api/techdocs${path}/${EXTERNAL}`)
        .set('Cookie', cookie);
    const { text } = await image('/.tenant/acme').expect(200);
    expect(text).toContain(markOf('acme'));
    expect((await image('').expect(200)).text).toContain(markOf('default'));
    await image('/.tenant/globex').expect(404);
    await image('/.tenant/initech').expect(403);
    await image('/.tenant/acme').set('X-Tenant-Slug', 'globex').expect(403);
    await image('/.tenant/acme').set('X-Tenant-Slug', 'acme').expect(200);
    await request(portal.backend.server)
      .get(`/api/techdocs/.tenant/acme/${EXTERNAL}`)
      .expect(401);
  });

  it('leads nowhere out of the place of a tenant', async () => {
    const ofAcme = `docs-of-tenants/${portal.ids.get('acme')}`;
    for (const path of [`../${ofAcme}`, `%2e%2e/${ofAcme}`, '..%2facme']) {
      for (const tenant of ['default', 'globex']) {
        const { text } = await portal.get(
          tenant,
          `techdocs/static/docs/${path}/default/component/written-outside/index.html`,
        );
        expect(text).not.toContain(markOf('acme'));
      }
    }
  });
});
