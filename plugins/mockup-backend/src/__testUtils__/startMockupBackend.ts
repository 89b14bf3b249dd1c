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
import type { Knex } from 'knex';
import request, { type Test } from 'supertest';
import mockupPlugin from '..';

export const ALICE = 'user:default/alice';
export const BOB = 'user:default/bob';
export const UNKNOWN_ID = '00000000-0000-4000-8000-000000000000';

/** Calls the running plugin as one caller. */
export interface Caller {
  get(path: string): Test;
  post(path: string, body?: unknown): Test;
  patch(path: string, body?: unknown): Test;
  put(path: string, body?: unknown): Test;
  delete(path: string): Test;
}

/**
 * Starts a backend with the mockup plugin on the given database, with the real
 * routing, authentication barrier and error middleware of Backstage.
 */
export async function startMockupBackend(options: {
  knex: Knex;
  migrations?: { skip?: boolean };
  permissions?: Partial<PermissionsService>;
  features?: (BackendFeature | Promise<{ default: BackendFeature }>)[];
}) {
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

  const as = (authorization: string): Caller => {
    const prepare = (test: Test, body?: unknown) => {
      test.set('Authorization', authorization);
      return body === undefined ? test : test.send(body as object);
    };
    const agent = request(server);
    const url = (path: string) => `/api/mockup${path}`;
    return {
      get: path => prepare(agent.get(url(path))),
      post: (path, body) => prepare(agent.post(url(path)), body),
      patch: (path, body) => prepare(agent.patch(url(path)), body),
      put: (path, body) => prepare(agent.put(url(path)), body),
      delete: path => prepare(agent.delete(url(path))),
    };
  };

  return {
    server,
    alice: as(mockCredentials.user.header(ALICE)),
    bob: as(mockCredentials.user.header(BOB)),
    service: as(mockCredentials.service.header()),
    anonymous: as(mockCredentials.none.header()),
    as,
  };
}

export type MockupBackend = Awaited<ReturnType<typeof startMockupBackend>>;

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
