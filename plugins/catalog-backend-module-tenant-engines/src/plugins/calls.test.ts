import type { Entity } from '@backstage/catalog-model';
// The stock plugins, of which tenants have instances.
/* eslint-disable @backstage/no-mixed-plugin-imports */
import unprocessedModule from '@backstage/plugin-catalog-backend-module-unprocessed';
import kubernetesPlugin from '@backstage/plugin-kubernetes-backend';
import mcpPlugin from '@backstage/plugin-mcp-actions-backend';
import proxyPlugin from '@backstage/plugin-proxy-backend';
/* eslint-enable @backstage/no-mixed-plugin-imports */
import { ClusterServer } from '@internal/catalog-testing/ClusterServer';
import { createTenancyDatabase } from '@internal/catalog-testing/tenancyDatabase';
import { createTestDatabases, waitUntil } from '@internal/postgres/testUtils';
import { SourceServer } from '../__testUtils__/SourceServer';
import {
  markOf,
  startThreeTenants,
  TENANTS,
  type ThreeTenants,
} from './__testUtils__/threeTenants';

const databases = createTestDatabases({ versions: 'newest' });

const TOKEN_OF_PORTAL = 'only-the-portal-has-this';
const TOKEN_OF_TENANTS = 'the-operator-gives-this-to-tenants';

/** The same refs in each tenant. */
function entitiesOf(tenant: string, host: string): Entity[] {
  const resource = (name: string, url: string, provider: string): Entity => ({
    apiVersion: 'backstage.io/v1alpha1',
    kind: 'Resource',
    metadata: {
      name,
      namespace: 'default',
      title: markOf(tenant),
      annotations: {
        'kubernetes.io/api-server': url,
        'kubernetes.io/api-server-certificate-authority': '',
        'kubernetes.io/auth-provider': provider,
      },
    },
    spec: { type: 'kubernetes-cluster', owner: 'guests' },
  });
  return [
    {
      apiVersion: 'backstage.io/v1alpha1',
      kind: 'Component',
      metadata: {
        name: 'app',
        namespace: 'default',
        description: markOf(tenant),
        annotations: { 'backstage.io/kubernetes-id': 'app' },
      },
      spec: { type: 'service', lifecycle: 'production', owner: 'guests' },
    },
    resource('cluster', `http://${host}/${tenant}`, 'localKubectlProxy'),
    // Neither a host nor an identity of the portal.
    resource('inside', 'http://127.0.0.1:1/', 'localKubectlProxy'),
    resource('cloud', `http://${host}/cloud`, 'aws'),
    resource('server', `http://${host}/server`, 'serviceAccount'),
  ];
}

describe.each(databases.eachSupportedId())(
  'plugins that call others for a tenant, on %s',
  id => {
    let clusters: ClusterServer;
    let portal: ThreeTenants;
    let sources: SourceServer;

    const hasEntity = async (tenant: string, ref: string) => {
      const path = `catalog/entities/by-name/${ref}`;
      return (await portal.get(tenant, path)).status === 200;
    };

    const findInvalid = async (tenant: string) => {
      const { text } = await portal
        .get(tenant, 'catalog/entities/unprocessed/pending')
        .expect(200);
      return text.includes('component:default/invalid') && text;
    };

    beforeAll(async () => {
      sources = await new SourceServer().listen();
      clusters = await new ClusterServer(
        path => `pod-${path.slice(1)}`,
      ).listen();
      const { host } = clusters;
      for (const tenant of TENANTS) {
        const invalid = {
          ...entitiesOf(tenant, host)[0],
          metadata: { name: 'invalid', description: markOf(tenant) },
          spec: {},
        };
        sources.put(
          `/${tenant}.yaml`,
          [...entitiesOf(tenant, host), invalid]
            .map(entity => JSON.stringify(entity))
            .join('\n---\n'),
        );
      }
      const clusterOf = (path: string, token: string) => ({
        type: 'config',
        clusters: [
          {
            name: 'configured',
            url: `http://${host}/${path}`,
            authProvider: 'serviceAccount',
            serviceAccountToken: token,
          },
        ],
      });
      const endpoint = (path: string, token: string) => ({
        target: `http://${host}/${path}`,
        headers: { authorization: `Bearer ${token}` },
      });
      portal = await startThreeTenants({
        connection: await createTenancyDatabase(databases, id),
        config: {
          backend: {
            actions: { pluginSources: ['catalog'] },
            reading: { allow: [{ host: sources.host }] },
          },
          kubernetes: {
            serviceLocatorMethod: { type: 'multiTenant' },
            clusterLocatorMethods: [clusterOf('default', TOKEN_OF_PORTAL)],
          },
          proxy: { endpoints: { '/crm': endpoint('portal', TOKEN_OF_PORTAL) } },
          tenancy: {
            engines: { allow: [{ host }] },
            plugins: {
              config: {
                kubernetes: {
                  clusterLocatorMethods: [
                    { type: 'catalog' },
                    clusterOf('configured-${tenant.slug}', TOKEN_OF_TENANTS),
                  ],
                },
                proxy: {
                  endpoints: {
                    '/tenants': endpoint('${tenant.slug}', TOKEN_OF_TENANTS),
                  },
                },
              },
            },
            tenants: Object.fromEntries(
              ['acme', 'globex'].map(tenant => [
                tenant,
                {
                  catalog: {
                    locations: [
                      {
                        type: 'url',
                        target: `http://${sources.host}/${tenant}.yaml`,
                      },
                    ],
                    rules: [{ allow: ['Component', 'Resource'] }],
                  },
                },
              ]),
            ),
          },
        },
        features: [kubernetesPlugin, mcpPlugin, proxyPlugin, unprocessedModule],
        plugins: {
          kubernetes: [kubernetesPlugin],
          'mcp-actions': [mcpPlugin],
          proxy: [proxyPlugin],
        },
        modules: [unprocessedModule],
        fedByEngines: true,
        entitiesOf: tenant => entitiesOf(tenant, host),
      });
      for (const tenant of TENANTS) {
        for (const ref of ['component/default/app', 'resource/default/cloud']) {
          await waitUntil(`${ref} of ${tenant}`, () => hasEntity(tenant, ref));
        }
      }
    });

    afterAll(async () => {
      await portal?.backend.stop();
      await clusters.stop();
      await sources.stop();
    });

    beforeEach(() => {
      clusters.calls.length = 0;
    });

    describe('Kubernetes', () => {
      it.each(['acme', 'globex'])(
        'has the clusters that %s may reach without the portal',
        async tenant => {
          const { body, text } = await portal
            .get(tenant, 'kubernetes/clusters')
            .expect(200);
          expect(
            body.items.map((each: { name: string }) => each.name).sort(),
          ).toEqual(['cluster', 'configured']);
          portal.expectOwn(tenant, text);
        },
      );

      it('shows the pods of the clusters of each tenant', async () => {
        for (const tenant of ['acme', 'globex']) {
          const { text } = await portal
            .send(tenant, 'POST', 'kubernetes/resources/workloads/query')
            .send({ entityRef: 'component:default/app', auth: {} })
            .expect(200);
          expect(new Set(text.match(/"pod-[^"]*"/g))).toEqual(
            new Set([`"pod-${tenant}"`, `"pod-configured-${tenant}"`]),
          );
          portal.expectOwn(tenant, text);
        }
        expect(
          [
            ...new Set(
              clusters.calls.map(
                ({ authorization, path }) =>
                  `${path.split('/')[1]} ${authorization}`,
              ),
            ),
          ].sort(),
        ).toEqual([
          'acme undefined',
          `configured-acme Bearer ${TOKEN_OF_TENANTS}`,
          `configured-globex Bearer ${TOKEN_OF_TENANTS}`,
          'globex undefined',
        ]);
      });

      it('leads to no cluster of another tenant or of the portal', async () => {
        for (const name of ['inside', 'cloud', 'server']) {
          const { status } = await portal
            .get('acme', 'kubernetes/proxy/api/v1/pods')
            .set('backstage-kubernetes-cluster', name);
          expect(status).toBe(404);
        }
        const { text } = await portal
          .get('acme', 'kubernetes/proxy/api/v1/pods')
          .set('backstage-kubernetes-cluster', 'configured')
          .expect(200);
        expect(text).toContain('pod-configured-acme');
        expect(JSON.stringify(clusters.calls)).not.toContain(TOKEN_OF_PORTAL);
      });
    });

    describe('the proxy', () => {
      it('has what the operator configures for tenants, and nothing of the portal', async () => {
        for (const tenant of ['acme', 'globex']) {
          const { text } = await portal
            .get(tenant, 'proxy/tenants/api/pods')
            .expect(200);
          expect(text).toContain(`"pod-${tenant}"`);
          await portal.get(tenant, 'proxy/crm/api/pods').expect(404);
        }
        await portal.get('default', 'proxy/crm/api/pods').expect(200);
        await portal.get('default', 'proxy/tenants/api/pods').expect(404);
        expect(clusters.calls).toEqual([
          {
            path: '/acme/api/pods',
            authorization: `Bearer ${TOKEN_OF_TENANTS}`,
          },
          {
            path: '/globex/api/pods',
            authorization: `Bearer ${TOKEN_OF_TENANTS}`,
          },
          {
            path: '/portal/api/pods',
            authorization: `Bearer ${TOKEN_OF_PORTAL}`,
          },
        ]);
      });
    });

    describe('actions of a language model', () => {
      const call = async (tenant: string, method: string, params: object) => {
        const { text } = await portal
          .send(tenant, 'POST', 'mcp-actions/v1')
          .set('accept', 'application/json, text/event-stream')
          .send({ jsonrpc: '2.0', id: 1, method, params })
          .expect(200);
        return text;
      };

      it('read the catalog of the tenant of the request', async () => {
        for (const tenant of TENANTS) {
          const tools = await call(tenant, 'tools/list', {});
          const [, name] = /"name":"([^"]*get-catalog-entity)"/.exec(tools)!;
          const text = await call(tenant, 'tools/call', {
            name,
            arguments: { kind: 'component', name: 'app' },
          });
          expect(text).toContain(markOf(tenant));
          portal.expectOwn(tenant, text);
        }
      });
    });

    it('shows the entities of each tenant that could not be processed', async () => {
      for (const tenant of ['acme', 'globex']) {
        const text = await waitUntil(`the invalid one of ${tenant}`, () =>
          findInvalid(tenant),
        );
        expect(text).toContain(markOf(tenant));
        portal.expectOwn(tenant, text);
      }
      const { text } = await portal
        .get('default', 'catalog/entities/unprocessed/pending')
        .expect(200);
      portal.expectOwn('default', text);
    });
  },
);
