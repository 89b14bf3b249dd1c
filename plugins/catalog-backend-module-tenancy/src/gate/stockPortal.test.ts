import { schedulerServiceFactory } from '@backstage/backend-defaults/scheduler';
import type { Entity } from '@backstage/catalog-model';
import notifications from '@backstage/plugin-notifications-backend';
import scaffolder from '@backstage/plugin-scaffolder-backend';
import search from '@backstage/plugin-search-backend';
import searchOfCatalog from '@backstage/plugin-search-backend-module-catalog';
import searchOfTechdocs from '@backstage/plugin-search-backend-module-techdocs';
import signals from '@backstage/plugin-signals-backend';
import techdocs from '@backstage/plugin-techdocs-backend';
import userSettings from '@backstage/plugin-user-settings-backend';
import allowAll from '@backstage/plugin-permission-backend-module-allow-all-policy';
import { createTestDatabases, waitUntil } from '@internal/postgres/testUtils';
import { DEFAULT_TENANT_ID } from 'backstage-plugin-catalog-tenancy-node';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import request from 'supertest';
import { insertEntities } from '@internal/catalog-testing/insertEntities';
import {
  readRecorded,
  type RecordedRequest,
} from '@internal/catalog-testing/recordedRequests';
import { signedInGuest, signIn } from '@internal/catalog-testing/signedInGuest';
import {
  type CatalogBackend,
  startCatalogBackend,
} from '@internal/catalog-testing/startCatalogBackend';
import { createTenancyDatabase } from '@internal/catalog-testing/tenancyDatabase';

const databases = createTestDatabases({ versions: 'newest' });

/** Stands in every entity and every page of documentation of the default tenant. */
const MARK = 'only-the-default-tenant-has-this';

const MARK_OF_ACME = 'only-acme-has-this';

const GUEST = 'user:default/guest';

/** The plugins that hold data of the default tenant, and know no other. */
const CLOSED = [
  'notifications',
  'scaffolder',
  'search',
  'techdocs',
  'user-settings',
];

/** Backstage's own route of each plugin, which gives a user a cookie. */
const COOKIE = '/.backstage/auth/v1/cookie';

/**
 * Requests to plugins of the stock backend, recorded in Chromium from a frontend that
 * `create-app` of Backstage 1.55 had made, with its example data: the catalog of each
 * kind, each tab of the entities, APIs, documentation, search, templates, tasks,
 * settings and notifications.
 */
const [{ requests: recorded }] = readRecorded(
  require.resolve('./__fixtures__/stockFrontend.txt'),
);

/** The entities that the recorded requests name. */
function entitiesWith(mark: string): Entity[] {
  const entity = (
    kind: string,
    name: string,
    rest: Omit<Partial<Entity>, 'metadata' | 'kind'>,
  ): Entity => ({
    apiVersion: 'backstage.io/v1alpha1',
    kind,
    metadata: {
      namespace: 'default',
      name,
      description: mark,
      tags: [mark],
      annotations: {
        'backstage.io/techdocs-ref': 'dir:.',
        'backstage.io/managed-by-location': `url:http://example.com/${mark}`,
        'backstage.io/managed-by-origin-location': `url:http://example.com/${mark}`,
      },
    },
    ...rest,
  });
  return [
    entity('Component', 'example-website', {
      spec: { type: 'website', lifecycle: 'experimental', owner: 'guests' },
      relations: [{ type: 'ownedBy', targetRef: 'group:default/guests' }],
    }),
    entity('System', 'examples', { spec: { owner: 'guests' } }),
    entity('API', 'example-grpc-api', {
      spec: { type: 'grpc', owner: 'guests', definition: mark },
    }),
    entity('User', 'guest', { spec: { memberOf: ['guests'] } }),
    entity('Group', 'guests', { spec: { type: 'team', children: [] } }),
    entity('Template', 'example-nodejs-template', {
      apiVersion: 'scaffolder.backstage.io/v1beta3',
      spec: {
        type: 'service',
        parameters: [{ title: mark, properties: {} }],
        steps: [{ id: 'log', name: 'Log', action: 'debug:log', input: {} }],
      },
    }),
  ];
}

describe.each(databases.eachSupportedId())('the stock portal on %s', id => {
  let docs: string;
  let backend: CatalogBackend;
  let authorization: string;

  const send = (
    tenant: string,
    { method, path, body }: Omit<RecordedRequest, 'step'>,
  ) => {
    const test = request(backend.server).get(path);
    test.method = method;
    return test
      .set('Authorization', authorization)
      .set('X-Tenant-Slug', tenant)
      .send(body);
  };

  beforeAll(async () => {
    const connection = await createTenancyDatabase(databases, id);
    await insertEntities(connection, DEFAULT_TENANT_ID, entitiesWith(MARK));
    docs = await publishDocs();
    const guest = signedInGuest(GUEST);
    backend = await startCatalogBackend({
      connection,
      enabled: true,
      webSockets: true,
      config: {
        ...guest.config,
        ...stockConfig(docs),
        tenancy: { admins: [GUEST] },
      },
      features: [
        ...guest.features,
        allowAll,
        notifications,
        schedulerServiceFactory,
        scaffolder,
        search,
        searchOfCatalog,
        searchOfTechdocs,
        signals,
        techdocs,
        userSettings,
      ],
    });
    await backend.createTenant('acme', entitiesWith(MARK_OF_ACME));
    authorization = `Bearer ${await signIn(backend)}`;
    for (const type of ['software-catalog', 'techdocs']) {
      await waitUntil(`search to have indexed ${type}`, async () => {
        const path = `/api/search/query?term=example&types[0]=${type}`;
        const { text } = await send('default', { method: 'GET', path });
        return text.includes(MARK);
      });
    }
  });
  afterAll(async () => {
    await backend?.stop();
    await rm(docs, { recursive: true, force: true });
  });

  it.each(recorded)(
    'shows each tenant nothing of the other: $method $path',
    async recordedRequest => {
      const ofDefault = await send('default', recordedRequest);
      expect(ofDefault.status).toBe(200);
      expect(ofDefault.text).not.toContain(MARK_OF_ACME);
      const ofAcme = await send('acme', recordedRequest);
      const [, , pluginId] = recordedRequest.path.split('/');
      const isClosed =
        CLOSED.includes(pluginId) && !recordedRequest.path.endsWith(COOKIE);
      expect(ofAcme.status).toBe(isClosed ? 403 : 200);
      expect(ofAcme.text).not.toContain(MARK);
      // It has the same entities, so that what is not shown could have been.
      expect(ofAcme.text.includes(MARK_OF_ACME)).toBe(
        pluginId === 'catalog' && ofDefault.text.includes(MARK),
      );
    },
  );
});

async function publishDocs(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'docs-'));
  const site = join(folder, 'default/component/example-website');
  await mkdir(site, { recursive: true });
  await writeFile(join(site, 'index.html'), `<html><p>${MARK}</p></html>`);
  await writeFile(
    join(site, 'techdocs_metadata.json'),
    JSON.stringify({ site_name: MARK, site_description: MARK, etag: '1' }),
  );
  await mkdir(join(site, 'search'));
  await writeFile(
    join(site, 'search/search_index.json'),
    JSON.stringify({ docs: [{ title: 'example', text: MARK, location: '' }] }),
  );
  return folder;
}

function stockConfig(publishDirectory: string) {
  const schedule = {
    frequency: { minutes: 10 },
    timeout: { minutes: 5 },
    initialDelay: { seconds: 1 },
  };
  return {
    backend: {
      // Databases that no other test file has.
      database: { prefix: `stock_portal_${process.pid}_` },
    },
    techdocs: {
      builder: 'external',
      generator: { runIn: 'local' },
      publisher: { type: 'local', local: { publishDirectory } },
    },
    search: { collators: { catalog: { schedule }, techdocs: { schedule } } },
  };
}
