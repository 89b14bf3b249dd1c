import {
  coreServices,
  createBackendModule,
} from '@backstage/backend-plugin-api';
import type { Entity } from '@backstage/catalog-model';
// The stock plugins, of which tenants have instances.
/* eslint-disable @backstage/no-mixed-plugin-imports */
import notificationsPlugin from '@backstage/plugin-notifications-backend';
import scaffolderPlugin from '@backstage/plugin-scaffolder-backend';
import userSettingsPlugin from '@backstage/plugin-user-settings-backend';
/* eslint-enable @backstage/no-mixed-plugin-imports */
import { createTenancyDatabase } from '@internal/catalog-testing/tenancyDatabase';
import { createTestDatabases, waitUntil } from '@internal/postgres/testUtils';
import { Router } from 'express';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { componentYaml, SourceServer } from '../__testUtils__/SourceServer';
import { runTemplate, templates } from './__testUtils__/templates';
import {
  GUEST,
  markOf,
  startThreeTenants,
  TENANTS,
  type ThreeTenants,
} from './__testUtils__/threeTenants';

const databases = createTestDatabases({ versions: 'newest' });

const SECRET_OF_PORTAL = 'only-the-portal-has-this';

/** Sends a notification to the user of the test, as any plugin of the tenant does. */
const sender = createBackendModule({
  pluginId: 'notifications',
  moduleId: 'sender',
  register(env) {
    env.registerInit({
      deps: {
        auth: coreServices.auth,
        discovery: coreServices.discovery,
        httpRouter: coreServices.httpRouter,
      },
      async init({ auth, discovery, httpRouter }) {
        const router = Router();
        router.post('/send/:title', async (req, res) => {
          const { token } = await auth.getPluginRequestToken({
            onBehalfOf: await auth.getOwnServiceCredentials(),
            targetPluginId: 'notifications',
          });
          const answer = await fetch(
            `${await discovery.getBaseUrl('notifications')}/notifications`,
            {
              method: 'POST',
              headers: {
                authorization: `Bearer ${token}`,
                'content-type': 'application/json',
              },
              body: JSON.stringify({
                recipients: { type: 'entity', entityRef: GUEST },
                payload: { title: req.params.title },
              }),
            },
          );
          res.status(answer.status).send(await answer.text());
        });
        httpRouter.use(router);
      },
    });
  },
});

function entitiesOf(tenant: string, sourceUrl: string): Entity[] {
  const metadata = (name: string) => ({ name, namespace: 'default' });
  return [
    {
      apiVersion: 'backstage.io/v1alpha1',
      kind: 'User',
      metadata: metadata('guest'),
      spec: { memberOf: [] },
    },
    {
      apiVersion: 'scaffolder.backstage.io/v1beta3',
      kind: 'Template',
      metadata: metadata('template'),
      spec: {
        owner: 'guest',
        type: 'service',
        parameters: [{ title: markOf(tenant), properties: {} }],
        steps: [
          {
            id: 'log',
            name: 'Log',
            action: 'debug:log',
            input: {
              message: `${markOf(tenant)} \${{ environment.secrets.PORTAL }}`,
            },
          },
          {
            id: 'register',
            name: 'Register',
            action: 'catalog:register',
            input: { catalogInfoUrl: `${sourceUrl}/${tenant}.yaml` },
          },
        ],
      },
    },
  ];
}

describe.each(databases.eachSupportedId())(
  'plugins that were tried with tenants, on %s',
  id => {
    let folder: string;
    let portal: ThreeTenants;
    let sources: SourceServer;

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'work-'));
      sources = await new SourceServer().listen();
      for (const tenant of TENANTS) {
        sources.put(`/${tenant}.yaml`, componentYaml('made', markOf(tenant)));
        sources.put(
          `/${tenant}/all.yaml`,
          entitiesOf(tenant, `http://${sources.host}`)
            .map(entity => JSON.stringify(entity))
            .join('\n---\n'),
        );
      }
      portal = await startThreeTenants({
        connection: await createTenancyDatabase(databases, id),
        config: {
          backend: {
            reading: { allow: [{ host: sources.host }] },
            workingDirectory: folder,
          },
          integrations: {
            github: [{ host: 'github.com', token: SECRET_OF_PORTAL }],
          },
          tenancy: {
            tenants: Object.fromEntries(
              ['acme', 'globex'].map(tenant => [
                tenant,
                {
                  catalog: {
                    locations: [
                      {
                        type: 'url',
                        target: `http://${sources.host}/${tenant}/all.yaml`,
                      },
                    ],
                    rules: [{ allow: ['Component', 'Template', 'User'] }],
                  },
                },
              ]),
            ),
          },
          scaffolder: {
            defaultEnvironment: { secrets: { PORTAL: SECRET_OF_PORTAL } },
          },
        },
        features: [
          notificationsPlugin,
          scaffolderPlugin,
          sender,
          userSettingsPlugin,
        ],
        plugins: {
          notifications: [notificationsPlugin, sender],
          scaffolder: [scaffolderPlugin],
          'user-settings': [userSettingsPlugin],
        },
        modules: [templates],
        fedByEngines: true,
        entitiesOf: tenant => entitiesOf(tenant, `http://${sources.host}`),
      });
    });

    afterAll(async () => {
      await portal?.backend.stop();
      await sources.stop();
      await rm(folder, { recursive: true });
    });

    const hasTemplate = async (tenant: string) => {
      const { status } = await portal.get(
        tenant,
        'catalog/entities/by-name/template/default/template',
      );
      return status === 200;
    };

    const hasEntity = async (tenant: string) => {
      const { text } = await portal.get(
        tenant,
        'catalog/entities?filter=kind=component',
      );
      portal.expectOwn(tenant, text);
      return text.includes(markOf(tenant));
    };

    it('keeps what a user has starred in each tenant', async () => {
      const path = 'user-settings/buckets/starred/keys/entities';
      for (const tenant of TENANTS) {
        await portal
          .send(tenant, 'PUT', path)
          .send({ value: markOf(tenant) })
          .expect(200);
      }
      for (const tenant of TENANTS) {
        const { body, text } = await portal.get(tenant, path).expect(200);
        expect(body.value).toBe(markOf(tenant));
        portal.expectOwn(tenant, text);
      }
    });

    it('shows the notifications of each tenant', async () => {
      for (const tenant of TENANTS) {
        await portal
          .send(tenant, 'POST', `notifications/send/${markOf(tenant)}`)
          .expect(200);
      }
      for (const tenant of TENANTS) {
        const { body, text } = await portal
          .get(tenant, 'notifications/notifications')
          .expect(200);
        expect(
          body.notifications.map(
            (each: { payload: { title: string } }) => each.payload.title,
          ),
        ).toEqual([markOf(tenant)]);
        portal.expectOwn(tenant, text);
        const [{ id: ofTenant }] = body.notifications;
        for (const other of TENANTS.filter(each => each !== tenant)) {
          const { status } = await portal.get(
            other,
            `notifications/notifications/${ofTenant}`,
          );
          expect(status).toBe(404);
        }
      }
    });

    it('runs the template of each tenant, without the secrets of the portal', async () => {
      for (const tenant of TENANTS) {
        await waitUntil(`the template of ${tenant}`, () => hasTemplate(tenant));
        const { id: taskId, status, text } = await runTemplate(portal, tenant);
        expect({ status, text }).toMatchObject({ status: 'completed' });
        portal.expectOwn(tenant, text);
        // As the scaffolder shows what has a secret in it.
        expect(text.includes('***')).toBe(tenant === 'default');
        expect(text.includes(markOf(tenant))).toBe(tenant !== 'default');
        // The catalog of the default tenant is not adopted here.
        if (tenant !== 'default') {
          await waitUntil(`the entity of ${tenant}`, () => hasEntity(tenant));
        }
        for (const other of TENANTS.filter(each => each !== tenant)) {
          const answer = await portal.get(
            other,
            `scaffolder/v2/tasks/${taskId}`,
          );
          expect(answer.status).toBe(404);
          portal.expectOwn(
            other,
            (await portal.get(other, 'scaffolder/v2/tasks')).text,
          );
        }
      }
      expect((await readdir(join(folder, 'tenants'))).sort()).toEqual(
        ['acme', 'globex'].map(tenant => portal.ids.get(tenant)!).sort(),
      );
    });
  },
);
