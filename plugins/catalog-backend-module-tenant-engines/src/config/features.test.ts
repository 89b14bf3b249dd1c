import { mockServices } from '@backstage/backend-test-utils';
import { type Entity, stringifyEntityRef } from '@backstage/catalog-model';
import { locationSpecToLocationEntity } from '@backstage/plugin-catalog-node';
import type { JsonObject } from '@backstage/types';
import {
  type CatalogBackend,
  startCatalogBackend,
} from '@internal/catalog-testing/startCatalogBackend';
import { TestServer } from '@internal/catalog-testing/TestServer';
import { createTestDatabases, waitUntil } from '@internal/postgres/testUtils';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'fs';
import { tmpdir } from 'os';
import { join } from 'path';
import { Client } from 'pg';
import { EngineConfigs } from './EngineConfigs';

jest.setTimeout(600_000);

const databases = createTestDatabases();
const [[postgres]] = databases.eachSupportedId();

const tenant = {
  tenantId: '5c1f0b6e-65a7-4f4f-8d55-1f3b1f7c4b11',
  tenantSlug: 'acme',
};

const AWS_URL = 'https://bucket.s3.amazonaws.com/x.yaml';
const AZURE_URL = 'https://dev.azure.com/o/p/_git/r?path=/x.yaml';
const SECRET = 'hunter2-secret-value';

function component(name: string, more = ''): string {
  return `
apiVersion: backstage.io/v1alpha1
kind: Component
metadata:
  name: ${name}
${more}
spec: { type: service, owner: acme, lifecycle: production }
`;
}

function location(name: string, spec: JsonObject): string {
  return `
apiVersion: backstage.io/v1alpha1
kind: Location
metadata: { name: ${name} }
spec: ${JSON.stringify(spec)}
`;
}

/** The sources of a tenant: files of the server, and files behind HTTP. */
class Sources extends TestServer {
  readonly folder = mkdtempSync(join(tmpdir(), 'tenant-files-'));
  readonly #pages: { [path: string]: string };

  constructor() {
    super((req, res) => {
      const page = this.#pages[req.url ?? ''];
      res.writeHead(page ? 200 : 404).end(page);
    });
    mkdirSync(join(this.folder, 'allowed'));
    this.write('allowed/first.yaml', component('first'));
    this.write('allowed/second.yaml', component('second'));
    this.write('secret.yaml', component('stolen', `  title: ${SECRET}`));
    this.write('secret.txt', SECRET);
    const stolen = this.path('secret.yaml');
    this.#pages = {
      '/targets.yaml': [
        component('reached'),
        location('to-file', { type: 'file', target: stolen }),
        location('to-files', {
          type: 'file',
          targets: [stolen, '/etc/passwd'],
        }),
        location('to-glob', { type: 'file', target: `${this.folder}/*.yaml` }),
        location('to-file-url', { type: 'url', target: `file://${stolen}` }),
        component(
          'from-file',
          `  annotations: { backstage.io/source-location: "file:${stolen}" }`,
        ),
        component(
          'from-text',
          '  annotations: { backstage.io/source-location: { $text: ./source.txt } }',
        ),
      ].join('---\n'),
      '/source.txt': `file:${stolen}`,
      '/text.yaml': component(
        'with-text',
        `  title: { $text: "file://${this.path('secret.txt')}" }`,
      ),
      '/path.yaml': component(
        'with-path',
        `  title: { $text: "${this.path('secret.txt')}" }`,
      ),
    };
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  write(name: string, content: string): void {
    writeFileSync(this.path(name), content);
  }

  override async stop(): Promise<void> {
    await super.stop();
    rmSync(this.folder, { recursive: true });
  }
}

describe('the engine of a tenant', () => {
  let sources: Sources;
  let backend: CatalogBackend;
  let client: Client;

  beforeAll(async () => {
    sources = await new Sources().listen();
    const url = (path: string) => ({
      type: 'url',
      target: `${sources.url}${path}`,
    });
    const locations = [
      { type: 'file', target: join(sources.folder, 'allowed', '*.yaml') },
      url('/targets.yaml'),
      url('/text.yaml'),
      url('/path.yaml'),
      { type: 'url', target: AWS_URL },
      { type: 'url', target: AZURE_URL },
    ];
    const configs = EngineConfigs.create({
      config: mockServices.rootConfig({
        data: {
          backend: { reading: { allow: [{ host: sources.host }] } },
          tenancy: { tenants: { acme: { catalog: { locations } } } },
        },
      }),
    });
    const config = await configs.configOf(tenant, undefined);
    const connection = await databases.create(postgres);
    client = new Client(connection);
    await client.connect();
    backend = await startCatalogBackend({
      connection,
      features: configs.features(tenant),
      config: {
        backend: config.get<JsonObject>('backend'),
        catalog: {
          ...config.get<JsonObject>('catalog'),
          processingInterval: { seconds: 1 },
        },
      },
    });
  });

  afterAll(async () => {
    await backend?.stop();
    await client?.end();
    await sources?.stop();
  });

  const entities = async (): Promise<Entity[]> =>
    (await backend.as(undefined).get('/entities')).body;

  /** Why the engine could not process an entity, which it does not serve then. */
  const errorOf = (entityRef: string): Promise<string> =>
    waitUntil(`the error of ${entityRef}`, async () => {
      const { rows } = await client.query<{ errors: string }>(
        'select errors from refresh_state where entity_ref = $1',
        [entityRef],
      );
      return rows
        .map(({ errors }) => errors)
        .find(errors => errors?.length > 2);
    });
  const namedBy = (type: string, target: string): string =>
    stringifyEntityRef(
      locationSpecToLocationEntity({ location: { type, target } }),
    );

  it('reads the files that app-config names', async () => {
    const names = await waitUntil('the entities of files', async () => {
      const found = (await entities()).map(({ metadata }) => metadata.name);
      return found.includes('first') && found.includes('second') && found;
    });

    expect(names).not.toContain('stolen');
  });

  it.each(['to-file', 'to-files', 'to-glob'])(
    'refuses a file that an entity from a URL names: %s',
    async name => {
      const error = await errorOf(`location:default/${name}`);

      expect(error).toMatch(
        /Registered locations must be of an allowed type|not among those that the operator/,
      );
      expect(error).not.toContain(SECRET);
    },
  );

  it('refuses a URL of a file', async () => {
    const error = await errorOf('location:default/to-file-url');

    expect(error).toContain('is not allowed');
    expect(error).not.toContain(SECRET);
  });

  it.each(['from-file', 'from-text'])(
    'refuses an entity that claims a file as its source: %s',
    async name => {
      const error = await errorOf(`component:default/${name}`);

      expect(error).toContain('says that the entity comes from file:');
      expect(JSON.stringify(await entities())).not.toContain(name);
    },
  );

  it.each(['with-text', 'with-path'])(
    'refuses a file as the text of an entity: %s',
    async name => {
      const error = await errorOf(`component:default/${name}`);

      expect(error).toContain('Placeholder $text could not read location');
      expect(error).not.toContain(SECRET);
      expect(JSON.stringify(await entities())).not.toContain(SECRET);
    },
  );

  it.each([
    ['of AWS', AWS_URL, 'bucket.s3.amazonaws.com'],
    ['of Azure', AZURE_URL, 'dev.azure.com'],
  ])("reads nothing with the backend's identity %s", async (_, url, host) => {
    expect(await errorOf(namedBy('url', url))).toContain(
      `Reading from ${host} needs credentials in this tenant's integrations`,
    );
  });

  describe('when it validates an entity that says that it is from a file', () => {
    const validate = (spec: JsonObject, base: string) =>
      backend.as(undefined).post('/validate-entity', {
        location: 'url:https://github.com/acme/x',
        entity: {
          apiVersion: 'backstage.io/v1alpha1',
          kind: 'Location',
          metadata: {
            name: 'x',
            annotations: {
              'backstage.io/managed-by-location': `file:${base}`,
              'backstage.io/managed-by-origin-location': `file:${base}`,
            },
          },
          spec,
        },
      });

    it.each<[string, (s: Sources, name: string) => JsonObject]>([
      ['a file', (s, name) => ({ type: 'file', target: s.path(name) })],
      ['a relative path', (_, name) => ({ type: 'file', target: `./${name}` })],
      [
        'a path that only normalizes to an allowed one',
        (s, name) => ({
          type: 'file',
          target: `${s.folder}/allowed/../${name}`,
        }),
      ],
    ])('tells nothing of %s, not even whether it is there', async (_, spec) => {
      const [secret, missing] = await Promise.all(
        ['secret.txt', 'missing.txt'].map(async name => {
          const { status, body } = await validate(
            spec(sources, name),
            sources.path('base.yaml'),
          );
          return { status, body: JSON.stringify(body) };
        }),
      );

      expect(secret.body).not.toContain(SECRET);
      expect(secret).toEqual({
        ...missing,
        body: missing.body
          .replaceAll('missing', 'secret')
          .replaceAll('mi*', 'se*'),
      });
    });
  });
});
