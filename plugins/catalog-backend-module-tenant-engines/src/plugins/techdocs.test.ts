import { createBackendModule } from '@backstage/backend-plugin-api';
import type { Entity } from '@backstage/catalog-model';
// The stock plugin, of which tenants have instances.
// eslint-disable-next-line @backstage/no-mixed-plugin-imports
import techdocsPlugin from '@backstage/plugin-techdocs-backend';
import {
  techdocsGeneratorExtensionPoint,
  techdocsPreparerExtensionPoint,
} from '@backstage/plugin-techdocs-node';
import { createTenancyDatabase } from '@internal/catalog-testing/tenancyDatabase';
import { createTestDatabases } from '@internal/postgres/testUtils';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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

/** Builds documents of what the url of an entity says, without a server or MkDocs. */
const stubs = createBackendModule({
  pluginId: 'techdocs',
  moduleId: 'stubs',
  register(env) {
    env.registerInit({
      deps: {
        generators: techdocsGeneratorExtensionPoint,
        preparers: techdocsPreparerExtensionPoint,
      },
      async init({ generators, preparers }) {
        preparers.registerPreparer('url', {
          shouldCleanPreparedDirectory: () => true,
          async prepare({ metadata }) {
            const preparedDir = await mkdtemp(join(tmpdir(), 'prepared-'));
            await writeFile(
              join(preparedDir, 'index.html'),
              `<html>${metadata.annotations?.['backstage.io/techdocs-ref']}</html>`,
            );
            return { preparedDir, etag: '1' };
          },
        });
        generators.setTechdocsGenerator({
          async run({ inputDir, outputDir }) {
            await cp(inputDir, outputDir, { recursive: true });
            await writeFile(
              join(outputDir, 'techdocs_metadata.json'),
              JSON.stringify({ site_name: 'x', site_description: 'x' }),
            );
          },
        });
      },
    });
  },
});

describe.each(databases.eachSupportedId())('TechDocs on %s', id => {
  const EXTERNAL = 'static/docs/default/component/written-outside/index.html';
  const BUILT = 'default/component/built-here';
  let folder: string;
  let portal: ThreeTenants;

  const publish = async (root: string, text: string) => {
    const site = join(root, 'default/component/written-outside');
    await mkdir(site, { recursive: true });
    await writeFile(join(site, 'index.html'), `<html>${text}</html>`);
    await writeFile(
      join(site, 'techdocs_metadata.json'),
      JSON.stringify({ site_name: text }),
    );
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'docs-'));
    const publishDirectory = join(folder, 'docs');
    portal = await startThreeTenants({
      connection: await createTenancyDatabase(databases, id),
      config: {
        techdocs: {
          builder: 'local',
          publisher: { type: 'local', local: { publishDirectory } },
        },
      },
      features: [techdocsPlugin, stubs],
      plugins: { techdocs: [techdocsPlugin, stubs] },
      entitiesOf: tenant =>
        ['written-outside', 'built-here'].map(name =>
          entity(name, {
            'backstage.io/techdocs-ref': `url:http://example.com/${markOf(
              tenant,
            )}`,
          }),
        ),
    });
    await publish(publishDirectory, markOf('default'));
    await publish(
      `${publishDirectory}-of-tenants/${portal.ids.get('acme')}`,
      markOf('acme'),
    );
  });

  afterAll(async () => {
    await portal?.backend.stop();
    await rm(folder, { recursive: true });
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
