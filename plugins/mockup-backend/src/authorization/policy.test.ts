import { authServiceFactory } from '@backstage/backend-defaults/auth';
import { httpAuthServiceFactory } from '@backstage/backend-defaults/httpAuth';
import { userInfoServiceFactory } from '@backstage/backend-defaults/userInfo';
import {
  coreServices,
  createBackendModule,
  createBackendPlugin,
  createServiceFactory,
} from '@backstage/backend-plugin-api';
import { mockServices, startTestBackend } from '@backstage/backend-test-utils';
import authBackend from '@backstage/plugin-auth-backend';
import guestProvider from '@backstage/plugin-auth-backend-module-guest-provider';
import permissionBackend from '@backstage/plugin-permission-backend';
import {
  AuthorizeResult,
  isResourcePermission,
} from '@backstage/plugin-permission-common';
import { policyExtensionPoint } from '@backstage/plugin-permission-node/alpha';
import { createTestDatabases } from '@internal/postgres/testUtils';
import {
  createMockupConditionalDecision,
  mockupConditions,
  type MockupStore,
  mockupStoreServiceRef,
} from 'backstage-plugin-mockup-node';
import request from 'supertest';
import { ALICE, BOB } from '../__testUtils__/startMockupBackend';
import mockupPlugin from '..';

const databases = createTestDatabases({ versions: 'newest' });

const ownersOnly = createBackendModule({
  pluginId: 'permission',
  moduleId: 'owners-only',
  register(env) {
    env.registerInit({
      deps: { policy: policyExtensionPoint },
      async init({ policy }) {
        policy.setPolicy({
          async handle({ permission }, user) {
            return isResourcePermission(permission, 'mockup')
              ? createMockupConditionalDecision(
                  permission,
                  mockupConditions.isOwner({
                    claims: user?.info.ownershipEntityRefs ?? [],
                  }),
                )
              : { result: AuthorizeResult.ALLOW };
          },
        });
      },
    });
  },
});

describe.each(databases.eachSupportedId())('a policy on %s', id => {
  it('restricts each user to their own, through the real auth and permission backends', async () => {
    let store: MockupStore;

    const { server } = await startTestBackend({
      features: [
        mockupPlugin,
        authServiceFactory,
        httpAuthServiceFactory,
        userInfoServiceFactory,
        createServiceFactory({
          service: coreServices.database,
          // One for each plugin, as in production.
          deps: { plugin: coreServices.pluginMetadata },
          factory: async () =>
            mockServices.database({ knex: await databases.init(id) }),
        }),
        authBackend,
        guestProvider,
        permissionBackend,
        ownersOnly,
        createBackendPlugin({
          pluginId: 'other',
          register(env) {
            env.registerInit({
              deps: { mockups: mockupStoreServiceRef },
              async init({ mockups }) {
                store = mockups.forDefaultTenant();
              },
            });
          },
        }),
        mockServices.rootConfig.factory({
          data: {
            app: { baseUrl: 'http://localhost' },
            backend: { baseUrl: 'http://localhost:0' },
            auth: {
              providers: {
                guest: {
                  userEntityRef: ALICE,
                  dangerouslyAllowOutsideDevelopment: true,
                },
              },
            },
            permission: { enabled: true },
          },
        }),
      ],
    });
    const { body: session } = await request(server).get(
      '/api/auth/guest/refresh',
    );
    const agent = request.agent(server);
    agent.set('Authorization', `Bearer ${session.backstageIdentity.token}`);

    const created = await agent
      .post('/api/mockup/mockups')
      .send({ name: 'hers' });
    expect(created.body).toMatchObject({ name: 'hers', owner: ALICE });
    const hers = `/api/mockup/mockups/${created.body.id}`;
    const { mockup } = await store!.create({ name: 'his' }, { owner: BOB });
    const his = `/api/mockup/mockups/${mockup.id}`;

    const list = await agent.get('/api/mockup/mockups');
    expect(list.body).toEqual([created.body]);
    expect(list.get('X-Total-Count')).toBe('1');

    expect((await agent.get(hers)).status).toBe(200);
    expect((await agent.get(his)).status).toBe(404);
    expect((await agent.delete(his)).status).toBe(404);
    const saved = await agent.post(`${hers}/versions`).send({ layoutData: [] });
    expect(saved.body).toMatchObject({ createdBy: ALICE });
    expect((await agent.delete(hers)).status).toBe(204);
    await expect(store!.list()).resolves.toMatchObject({ totalItems: 1 });
  });
});
