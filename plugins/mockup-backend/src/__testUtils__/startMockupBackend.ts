import {
  type BackendFeature,
  coreServices,
  createServiceFactory,
  type PermissionsService,
} from '@backstage/backend-plugin-api';
import {
  mockCredentials,
  mockServices,
  startTestBackend,
} from '@backstage/backend-test-utils';
import { callersOf } from '@internal/catalog-testing/caller';
import { describedFetch } from '@internal/catalog-testing/describedFetch';
import { MockupClient } from 'backstage-plugin-mockup-common';
import type {
  TestDatabaseId,
  TestDatabases,
} from '@internal/postgres/testUtils';
import type { Knex } from 'knex';
import { z } from 'zod';
import mockupPlugin from '..';
import { createOpenApiDocument } from '../openapi/createOpenApiDocument';

export const ALICE = 'user:default/alice';
export const BOB = 'user:default/bob';
export const UNKNOWN_ID = '00000000-0000-4000-8000-000000000000';

interface Options {
  permissions?: Partial<PermissionsService>;
  features?: (BackendFeature | Promise<{ default: BackendFeature }>)[];
}

/**
 * Starts a backend with the mockup plugin on the given database, with the real
 * routing, authentication barrier and error middleware of Backstage.
 */
export async function startMockupBackend(
  options: Options & { knex: Knex; migrations?: { skip?: boolean } },
) {
  const { knex, migrations, permissions, features = [] } = options;
  const { server } = await startTestBackend({
    features: [
      mockupPlugin,
      createServiceFactory({
        service: coreServices.database,
        deps: {},
        factory: () => mockServices.database({ knex, migrations }),
      }),
      ...(permissions
        ? [mockServices.permissions.mock(permissions).factory]
        : []),
      ...features,
    ],
  });

  const as = callersOf(server, '/api/mockup');

  return {
    knex,
    server,
    alice: as(mockCredentials.user.header(ALICE)),
    bob: as(mockCredentials.user.header(BOB)),
    service: as(mockCredentials.service.header()),
    anonymous: as(mockCredentials.none.header()),
    as,
    client: new MockupClient({
      discoveryApi: {
        getBaseUrl: async pluginId =>
          `http://localhost:${server.port()}/api/${pluginId}`,
      },
      fetchApi: {
        fetch: describedFetch({
          base: '/api/mockup',
          document: createOpenApiDocument(),
          parserOf: schema => z.fromJSONSchema(schema),
        }),
      },
    }),
  };
}

export type MockupBackend = Awaited<ReturnType<typeof startMockupBackend>>;

/** A backend on an empty database, which is there from the first test of the block on. */
export function testBackend(
  databases: TestDatabases,
  id: TestDatabaseId,
  options: Options = {},
): MockupBackend {
  const backend = {} as MockupBackend;
  beforeAll(async () => {
    const knex = await databases.init(id);
    Object.assign(backend, await startMockupBackend({ ...options, knex }));
  });
  return backend;
}

/** A layout item, valid unless what is given makes it otherwise. */
export function item(overrides: Record<string, unknown> = {}) {
  return {
    i: 'buy',
    x: 0,
    y: 0,
    w: 2,
    h: 1,
    component: 'Button',
    props: { label: 'Buy' },
    ...overrides,
  };
}

/** Creates a mockup as Alice, and returns the whole response. */
export async function createMockup(
  backend: MockupBackend,
  body: object = { name: 'Checkout' },
) {
  const response = await backend.alice.post('/mockups', body);
  expect(response.status).toBe(201);
  return response;
}
